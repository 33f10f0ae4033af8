/**
 * How a connector states the shape of its settings.
 *
 * Invariant: every message that a person gets names the field and what it must be. A field nobody
 * knows is an error, not something that is silently left out.
 */
import { z } from 'zod'
import type { JsonObject } from '../domain/json.ts'

/** An object with exactly these fields; a field left out is absent from the result, never undefined. */
export function settingsObject<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = Object.keys(shape)
  const takes = known.length === 0 ? 'It takes none.' : `It takes ${known.join(', ')}.`
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `Unknown field ${issue.keys.join(', ')}. ${takes}`
        : `The settings must be an object. ${takes}`,
  })
}

/** No settings at all. */
export const noSettings = settingsObject({})

/** A text of 1 to `maxLength` characters. */
export function textSetting(field: string, maxLength: number) {
  const error = `${field} must be a text of 1 to ${maxLength} characters.`
  return z.string({ error }).min(1, { error }).max(maxLength, { error })
}

/** One of a closed set of texts. */
export function choiceSetting<const Choices extends readonly [string, ...string[]]>(
  field: string,
  choices: Choices,
) {
  const listed = choices.map((choice) => JSON.stringify(choice)).join(', ')
  return z.enum(choices, { error: `${field} must be one of ${listed}.` })
}

/** A whole number between two bounds, both included. */
export function countSetting(field: string, min: number, max: number) {
  const error = `${field} must be a whole number from ${min} to ${max}.`
  return z.int({ error }).min(min, { error }).max(max, { error })
}

/** A number between two bounds, both included. */
export function numberSetting(field: string, min: number, max: number) {
  const error = `${field} must be a number from ${min} to ${max}.`
  return z.number({ error }).min(min, { error }).max(max, { error })
}

/** Settings as they are stored: without the members that are undefined. */
export function withoutUndefined(settings: object): JsonObject {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}
