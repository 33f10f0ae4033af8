/**
 * From a mapped record to what is sent of a contact, or why it is not.
 *
 * Invariants: nothing is left out that the mapping names, but what its options say may be left out; no write
 * takes a blocklisting back; a contact's address is never changed, which would take one back, so it is sent only
 * where it is what the contact is known by, trimmed and in lower case.
 */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from '../../../domain/json.ts'
import { normalisePhone, PHONE_ATTRIBUTES } from './brevo-phone.ts'
import { type BrevoSchema, describeMisfit } from './brevo-schema.ts'
import type { BrevoObjectOptions } from './brevo-settings.ts'

export type AttributeValue = string | number | boolean | readonly string[]

export interface BrevoContact {
  readonly email: string | null
  readonly extId: string | null
  /** Phones in E.164. */
  readonly attributes: ReadonlyMap<string, AttributeValue>
  readonly listIds: readonly number[]
  readonly isEmailBlacklisted: boolean
  readonly isSmsBlacklisted: boolean
  /** Phones that were left out, since they are none. */
  readonly omitted: readonly string[]
}

/** Why a record is not sent, as one full sentence. */
class Unsendable extends Error {}

/** Longest address, as RFC 5321 has it, in characters. */
const MAX_EMAIL_LENGTH = 254
const EMAIL = /^[^\s@;,<>"]{1,64}@[^\s@;,<>"]+\.[^\s@;,<>"]+$/
const MAX_EXT_ID_LENGTH = 250

const FIELDS = ['email', 'extId', 'attributes', 'listIds', 'emailBlacklisted', 'smsBlacklisted']
/** What an import cannot say of one contact, or must not. */
const NOT_IMPORTED = ['extId', 'listIds', 'emailBlacklisted', 'smsBlacklisted']

/** What the destination knows the record by; null: the record does not say. */
export function identityOf({ identifiedBy, phoneCountry }: BrevoObjectOptions, fields: JsonObject) {
  switch (identifiedBy) {
    case 'EMAIL': {
      const { email } = fields
      return typeof email === 'string' && email.trim() !== '' ? normaliseEmail(email) : null
    }
    case 'EXT_ID':
      return readExtId(fields['extId'])
    default: {
      const phone = attributesOf(fields)['SMS']
      const isRead = typeof phone === 'string' || typeof phone === 'number'
      return isRead ? normalisePhone(String(phone), phoneCountry) : null
    }
  }
}

/** What the mapping names that can never be written: one sentence for whoever mends it, or null. */
export function describeMappingProblem(
  schema: BrevoSchema,
  { path, identifiedBy }: BrevoObjectOptions,
  fields: JsonObject,
): string | null {
  const isImport = path === 'IMPORT'
  for (const name of Object.keys(fields)) {
    if (!FIELDS.includes(name)) {
      return `There is no field ${name}: it takes ${FIELDS.join(', ')}, with the account's attributes as attributes.NAME.`
    }
    if (isImport && NOT_IMPORTED.includes(name)) {
      return `${name} must be left out with the path IMPORT: an import says it of all contacts, or of none.`
    }
  }
  if (identifiedBy !== 'EMAIL' && fields['email'] !== undefined) {
    return `email must be left out where contacts are identified by ${identifiedBy}: to change the address of a contact lifts its blocklisting.`
  }
  for (const name of Object.keys(attributesOf(fields))) {
    const problem = describeAttributeProblem(schema, name, isImport)
    if (problem !== null) {
      return problem
    }
  }
  return null
}

function describeAttributeProblem(
  schema: BrevoSchema,
  name: string,
  isImport: boolean,
): string | null {
  if (name === 'EMAIL' || name === 'EXT_ID') {
    return `attributes.${name} must be left out: it is the field ${name === 'EMAIL' ? 'email' : 'extId'}.`
  }
  const attribute = schema.get(name)
  if (!attribute) {
    const alike = [...schema.keys()].find((known) => known.toUpperCase() === name.toUpperCase())
    const hint = alike === undefined ? '' : ` Its name is ${alike}.`
    return `The account has no attribute ${name} that a contact can be given, and Brevo would leave it out without a word.${hint}`
  }
  if (isImport && PHONE_ATTRIBUTES.includes(name)) {
    return `attributes.${name} must be left out with the path IMPORT: of two contacts that one row names, Brevo deletes one.`
  }
  return isImport && attribute.type === 'multiple-choice'
    ? `attributes.${name} must be left out with the path IMPORT, which has no form for several choices.`
    : null
}

/** The contact, or why this record is not sent. Attributes that the account does not have are none of its business. */
export function readContact(
  schema: BrevoSchema,
  options: BrevoObjectOptions,
  fields: JsonObject,
): { readonly contact: BrevoContact } | { readonly problem: string } {
  try {
    return { contact: buildContact(schema, options, fields) }
  } catch (error) {
    if (error instanceof Unsendable) {
      return { problem: error.message }
    }
    throw error
  }
}

function buildContact(
  schema: BrevoSchema,
  options: BrevoObjectOptions,
  fields: JsonObject,
): BrevoContact {
  const { identifiedBy } = options
  const email = readEmail(options, fields['email'])
  const extId = readExtId(fields['extId'])
  if (fields['extId'] != null && extId === null) {
    throw new Unsendable(`extId must be a text of 1 to ${MAX_EXT_ID_LENGTH} characters.`)
  }
  const omitted: string[] = []
  const attributes = new Map<string, AttributeValue>()
  for (const [name, value] of Object.entries(attributesOf(fields))) {
    const read = readAttribute(schema, options, { name, value })
    if (read === 'omitted') {
      omitted.push(name)
    } else if (read !== null) {
      attributes.set(name, read.value)
    }
  }
  if (identifiedBy === 'EXT_ID' && extId === null) {
    throw new Unsendable(missing('extId'))
  }
  if (identifiedBy === 'SMS' && !attributes.has('SMS')) {
    throw new Unsendable(missing('attributes.SMS'))
  }
  return {
    ...{ email, extId, attributes, omitted },
    listIds: [...new Set([...(options.listIds ?? []), ...readListIds(fields['listIds'])])],
    isEmailBlacklisted: readConsent('emailBlacklisted', fields['emailBlacklisted']),
    isSmsBlacklisted: readConsent('smsBlacklisted', fields['smsBlacklisted']),
  }
}

function missing(field: string): string {
  return `The record has no value for ${field}, by which Brevo knows it.`
}

function normaliseEmail(text: string): string {
  return text.trim().toLowerCase()
}

function readEmail({ identifiedBy }: BrevoObjectOptions, value: JsonValue | undefined) {
  if (identifiedBy !== 'EMAIL') {
    return null
  }
  if (value == null || (typeof value === 'string' && value.trim() === '')) {
    throw new Unsendable(missing('email'))
  }
  const email = typeof value === 'string' ? normaliseEmail(value) : ''
  if (email.length > MAX_EMAIL_LENGTH) {
    throw new Unsendable(`email is longer than ${MAX_EMAIL_LENGTH} characters.`)
  }
  if (!EMAIL.test(email)) {
    throw new Unsendable('email is not an e-mail address.')
  }
  return email
}

function readExtId(value: JsonValue | undefined): string | null {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' && text.length <= MAX_EXT_ID_LENGTH ? text : null
}

function attributesOf({ attributes }: JsonObject): JsonObject {
  return isJsonObject(attributes) ? attributes : {}
}

/** Null: it is left as it is. */
function readAttribute(
  schema: BrevoSchema,
  options: BrevoObjectOptions,
  { name, value }: { readonly name: string; readonly value: JsonValue },
): { readonly value: AttributeValue } | 'omitted' | null {
  const field = `attributes.${name}`
  const attribute = schema.get(name)
  if (!attribute) {
    return null
  }
  if (value === null) {
    return leaveOut(options, `${field} is null, which Brevo has no form for`)
  }
  if (PHONE_ATTRIBUTES.includes(name)) {
    return readPhone(options, name, value)
  }
  const wanted = describeMisfit(attribute, value)
  if (wanted !== null) {
    throw new Unsendable(
      `${field} must be ${wanted}: Brevo would leave out anything else without a word.`,
    )
  }
  if (options.path === 'IMPORT' && typeof value === 'string') {
    describeUnimportable(field, value)
  }
  return { value: value as AttributeValue }
}

function describeUnimportable(field: string, value: string): void {
  if (value === '') {
    throw new Unsendable(
      `${field} is empty, and an import leaves an attribute as it is where nothing is said of it.`,
    )
  }
  if (/[\r\n]/.test(value)) {
    throw new Unsendable(`${field} has a line break, which a row of an import cannot carry.`)
  }
}

function leaveOut({ onNull }: BrevoObjectOptions, told: string): null {
  if (onNull === 'OMIT') {
    return null
  }
  throw new Unsendable(`${told}: leave the field out, or set onNull to "OMIT".`)
}

function readPhone(options: BrevoObjectOptions, name: string, value: JsonValue) {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : null
  if (text?.trim() === '') {
    return leaveOut(options, `attributes.${name} is empty`)
  }
  const phone = text === null ? null : normalisePhone(text, options.phoneCountry)
  if (phone !== null) {
    return { value: phone }
  }
  if (options.onPhoneProblem === 'OMIT' && !(options.identifiedBy === 'SMS' && name === 'SMS')) {
    return 'omitted'
  }
  const hint =
    options.phoneCountry === undefined
      ? ' Without phoneCountry it needs its country code, such as +49.'
      : ''
  throw new Unsendable(`attributes.${name} cannot be read as one phone number.${hint}`)
}

function readListIds(value: JsonValue | undefined): readonly number[] {
  if (value == null) {
    return []
  }
  const isList = typeof value === 'object' && isJsonArray(value)
  const ids = isList
    ? value.filter((id) => typeof id === 'number' && Number.isSafeInteger(id) && id > 0)
    : []
  if (!isList || ids.length < value.length) {
    throw new Unsendable('listIds must be a list of whole numbers.')
  }
  return ids as readonly number[]
}

function readConsent(field: string, value: JsonValue | undefined): boolean {
  if (value == null || value === true) {
    return value === true
  }
  throw new Unsendable(
    `${field} must be true or left out: what a person has unsubscribed from is not subscribed to again by a sync.`,
  )
}
