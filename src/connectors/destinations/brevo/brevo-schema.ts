/**
 * The attributes that an account has, and what each takes.
 *
 * Brevo leaves out, without a word, an attribute that it does not have under exactly this name and a value that does
 * not fit. So neither is ever sent.
 */
import { z } from 'zod'
import { isJsonArray, type JsonObject, type JsonValue } from '../../../domain/json.ts'
import { ConnectorError } from '../../connector.ts'
import type { DestinationField, FieldType } from '../../destination.ts'
import { PHONE_ATTRIBUTES } from './brevo-phone.ts'
import type { BrevoObjectOptions } from './brevo-settings.ts'

const choiceShape = z.object({ value: z.number(), valueStr: z.string().optional() })
const attributeShape = z.object({
  name: z.string(),
  category: z.string(),
  type: z.string().optional(),
  enumeration: z.array(choiceShape).optional(),
})
const attributesShape = z.object({ attributes: z.array(attributeShape).max(10_000) })

type Choice = z.infer<typeof choiceShape>
type BrevoAttribute = z.infer<typeof attributeShape>

/** Attributes that a contact can be given, by their names. */
export type BrevoSchema = ReadonlyMap<string, BrevoAttribute>

/** The others are calculated, or belong to orders. */
const SETTABLE_CATEGORIES: ReadonlySet<string> = new Set(['normal', 'category'])
/** They name a contact: fields of their own. */
const NAMES: ReadonlySet<string> = new Set(['EMAIL', 'EXT_ID'])
const MAX_CHOICE_LENGTH = 200

/** Throws {@link ConnectorError}. */
export function readSchema(body: JsonObject): BrevoSchema {
  const parsed = attributesShape.safeParse(body)
  if (!parsed.success) {
    const message = 'GET /contacts/attributes did not list the attributes of the account.'
    throw new ConnectorError('node_failed', message)
  }
  const settable = parsed.data.attributes.filter(
    ({ name, category }) => SETTABLE_CATEGORIES.has(category) && !NAMES.has(name),
  )
  return new Map(settable.map((attribute) => [attribute.name, attribute]))
}

const TYPES: Readonly<Record<string, readonly FieldType[]>> = {
  text: ['text'],
  date: ['date'],
  float: ['number'],
  boolean: ['boolean'],
  id: ['text', 'number'],
  user: ['text'],
  'multiple-choice': ['list'],
}

function typesOf({ category, type }: BrevoAttribute): readonly FieldType[] | null {
  return category === 'category' ? ['text', 'number'] : (TYPES[type ?? 'text'] ?? null)
}

/** As a mapping names them, for these options. */
export function listSchemaFields(
  schema: BrevoSchema,
  { path, identifiedBy }: BrevoObjectOptions,
): readonly DestinationField[] {
  const isImport = path === 'IMPORT'
  const isPhone = (name: string) => PHONE_ATTRIBUTES.includes(name)
  const attributes = [...schema.values()]
    // An import that names a contact in two ways deletes one of two.
    .filter(({ name, type }) => !isImport || !(isPhone(name) || type === 'multiple-choice'))
    .map((attribute) => ({
      name: `attributes.${attribute.name}`,
      types: typesOf(attribute),
      isRequired: identifiedBy === 'SMS' && attribute.name === 'SMS',
    }))
  const email: readonly DestinationField[] =
    identifiedBy === 'EMAIL' ? [{ name: 'email', types: ['text'], isRequired: true }] : []
  const own: readonly DestinationField[] = isImport
    ? []
    : [
        { name: 'extId', types: ['text', 'number'], isRequired: identifiedBy === 'EXT_ID' },
        { name: 'listIds', types: ['list'], isRequired: false },
        { name: 'emailBlacklisted', types: ['boolean'], isRequired: false },
        { name: 'smsBlacklisted', types: ['boolean'], isRequired: false },
      ]
  return [...email, ...own, ...attributes]
}

/** By an attribute's type: what a value must be, and whether it is. */
const VALUES: Readonly<Record<string, readonly [string, (value: JsonValue) => boolean]>> = {
  text: ['a text', isText],
  user: ['a text', isText],
  id: ['a text or a number', (value) => isText(value) || typeof value === 'number'],
  float: ['a number', (value) => typeof value === 'number'],
  boolean: ['true or false', (value) => typeof value === 'boolean'],
  date: ['a day as YYYY-MM-DD', (value) => z.iso.date().safeParse(value).success],
  'multiple-choice': [`a list of texts of up to ${MAX_CHOICE_LENGTH} characters`, isListOfChoices],
}

/** What the value would have to be, or null: it fits. */
export function describeMisfit(attribute: BrevoAttribute, value: JsonValue): string | null {
  const { category, type = 'text', enumeration } = attribute
  if (category === 'category') {
    const isKnown = enumeration?.some((one) => isChoice(one, value)) ?? false
    return isKnown ? null : 'one of the values that the attribute has'
  }
  const [wanted, isFit] = VALUES[type] ?? ['a text', isText]
  return isFit(value) ? null : wanted
}

/** The number stands for the text where the text is that number: for others it is 0. */
function isChoice(choice: Choice, value: JsonValue): boolean {
  const { value: number, valueStr = String(number) } = choice
  return value === valueStr || (value === number && valueStr === String(number))
}

function isText(value: JsonValue): boolean {
  return typeof value === 'string'
}

function isListOfChoices(value: JsonValue): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    isJsonArray(value) &&
    value.every((one) => typeof one === 'string' && one.length <= MAX_CHOICE_LENGTH)
  )
}
