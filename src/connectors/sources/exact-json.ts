/**
 * JSON that others wrote, taken as they wrote it.
 *
 * Invariants: a number that JavaScript would round arrives as the text it was written as. Of a member named twice
 * the last one counts. What cannot be stored is told of its record, and costs no other one.
 */
import { isSafeNumber, parse as parseLossless } from 'lossless-json'
import {
  describeUnstorableText,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  MAX_JSON_DEPTH,
} from '../../domain/json.ts'

/** Numbers that could be rounded: 16 digits and more, or an exponent. Only these texts pay for the exact parser. */
const MAY_BE_ROUNDED = /\d[\d.]{15}|\d[eE]/

/** `value`: what JSON.parse made of `text`, and not deeper than the stack. */
export function keepDigits(value: JsonValue, text: string): JsonValue {
  if (!MAY_BE_ROUNDED.test(text)) {
    return value
  }
  return parseLossless(text, null, {
    parseNumber: (digits) => (isSafeNumber(digits) ? Number(digits) : digits),
    onDuplicateKey: ({ newValue }) => newValue,
  }) as JsonValue
}

/** Why a value is no record that can be stored, or null. `text`: the JSON that it stands in, as it was written. */
export function describeUnfitRecord(value: JsonValue | undefined, text: string): string | null {
  if (!isJsonObject(value)) {
    return 'is not a JSON object'
  }
  if (isDeeperThan(value, MAX_JSON_DEPTH)) {
    return `is nested more than ${MAX_JSON_DEPTH} levels deep`
  }
  const hasEscapes = text.includes('\\u')
  if ((hasEscapes || text.includes('"__proto__"')) && hasProtoMember(value)) {
    return 'has a member named __proto__, which may not be the name of a field'
  }
  // Halves of surrogate pairs and NULs can only be written as escapes.
  return hasEscapes ? describeUnfitMember(value) : null
}

export function isDeeperThan(value: JsonValue, levels: number): boolean {
  if (value === null || typeof value !== 'object') {
    return false
  }
  if (levels === 0) {
    return true
  }
  const members = isJsonArray(value) ? value : Object.values(value)
  return members.some((member) => isDeeperThan(member, levels - 1))
}

function hasProtoMember(value: JsonValue): boolean {
  if (value === null || typeof value !== 'object') {
    return false
  }
  return isJsonArray(value)
    ? value.some(hasProtoMember)
    : Object.hasOwn(value, '__proto__') || Object.values(value).some(hasProtoMember)
}

function describeUnfitMember(record: JsonObject): string | null {
  for (const [name, value] of Object.entries(record)) {
    const unfit = describeUnstorableText(name)
    if (unfit) {
      return `has a member whose name ${unfit}`
    }
    const problem = describeUnfitValue(value)
    if (problem) {
      return `${name} ${problem}`
    }
  }
  return null
}

function describeUnfitValue(value: JsonValue): string | null {
  if (typeof value === 'string') {
    return describeUnstorableText(value)
  }
  if (value === null || typeof value !== 'object') {
    return null
  }
  if (isJsonArray(value)) {
    return firstProblem(value, describeUnfitValue)
  }
  return describeUnfitMember(value) === null ? null : 'has a member that cannot be stored'
}

function firstProblem(
  values: readonly JsonValue[],
  describe: (value: JsonValue) => string | null,
): string | null {
  for (const value of values) {
    const problem = describe(value)
    if (problem) {
      return problem
    }
  }
  return null
}
