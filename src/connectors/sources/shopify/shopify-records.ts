/**
 * Makes records of what Shopify shows: flat, with names of our own that are the same for every version of its API.
 *
 * Invariant: null says that there is nothing. What this app may not see is never given as null: where Shopify hides it
 * for certain the read fails, and where nobody can tell, the field is left out of the record.
 */
import { z } from 'zod'
import type { JsonObject } from '../../../domain/json.ts'
import type { SourceRecord } from '../../../domain/page.ts'
import { ConnectorError } from '../../connector.ts'
import { APPROVAL } from './shopify-answer.ts'
import { type Position, readMoment } from './shopify-cursor.ts'
import type { ShopifyStream } from './shopify-queries.ts'

export interface ShopifyRow {
  readonly position: Position
  readonly record: SourceRecord
}

export interface RowsAnswer {
  /** In the order in which they came. */
  readonly rows: readonly ShopifyRow[]
  readonly hasNext: boolean
  readonly endCursor: string | null
}

const text = z.string()
const textOrNull = z.string().nullable()
const id = z.string().regex(/^(?:0|[1-9]\d{0,19})$/)
const money = z.object({ amount: text, currencyCode: text })
const moneyBag = z.object({ shopMoney: money })

const emailShape = z.object({
  emailAddress: text,
  marketingState: text,
  marketingOptInLevel: textOrNull,
  marketingUpdatedAt: textOrNull,
  validFormat: z.boolean(),
})

const consentShape = z.object({
  state: text,
  optInLevel: textOrNull,
  updatedAt: textOrNull,
  collectedFrom: textOrNull,
})

const phoneShape = z.object({
  phoneNumber: text,
  whatsAppMarketingConsent: consentShape,
  /** From 2026-10 on. */
  smsMarketingConsent: consentShape.optional(),
  /** Of 2026-07. */
  marketingState: text.optional(),
  marketingOptInLevel: textOrNull.optional(),
  marketingUpdatedAt: textOrNull.optional(),
  marketingCollectedFrom: textOrNull.optional(),
})

const addressShape = z.object({
  address1: textOrNull,
  address2: textOrNull,
  city: textOrNull,
  company: textOrNull,
  countryCodeV2: textOrNull,
  provinceCode: textOrNull,
  zip: textOrNull,
})

const customerShape = z.object({
  legacyResourceId: id,
  createdAt: text,
  updatedAt: text,
  firstName: textOrNull,
  lastName: textOrNull,
  defaultEmailAddress: emailShape.nullable(),
  defaultPhoneNumber: phoneShape.nullable(),
  defaultAddress: addressShape.nullable(),
  amountSpent: money,
  numberOfOrders: text,
  locale: text,
  note: textOrNull,
  state: text,
  tags: z.array(text),
  taxExempt: z.boolean(),
  verifiedEmail: z.boolean(),
})

const orderShape = z.object({
  legacyResourceId: id,
  name: text,
  createdAt: text,
  updatedAt: text,
  processedAt: text,
  cancelledAt: textOrNull,
  closedAt: textOrNull,
  customer: z.object({ legacyResourceId: id }).nullable(),
  email: textOrNull,
  phone: textOrNull,
  shippingAddress: addressShape.nullable(),
  currentTotalPriceSet: moneyBag,
  totalPriceSet: moneyBag,
  totalRefundedSet: moneyBag,
  displayFinancialStatus: textOrNull,
  displayFulfillmentStatus: text,
  subtotalLineItemsQuantity: z.int(),
  customerLocale: textOrNull,
  tags: z.array(text),
  test: z.boolean(),
})

const witnessesOf = <Shape extends z.ZodType>(shape: Shape) => z.object({ nodes: z.array(shape) })

const witnessShape = {
  withEmail: witnessesOf(z.object({ defaultEmailAddress: z.unknown() })),
  withPhone: witnessesOf(z.object({ defaultPhoneNumber: z.unknown() })),
  oldest: witnessesOf(
    z.object({
      ...{ firstName: textOrNull, lastName: textOrNull },
      defaultAddress: z.object({ city: textOrNull }).nullable(),
    }),
  ),
}

const rowsOf = <Shape extends z.ZodType>(shape: Shape) =>
  z.object({
    rows: z.object({
      nodes: z.array(shape),
      pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: textOrNull }),
    }),
    ...witnessShape,
  })

const answerShapes = { customers: rowsOf(customerShape), orders: rowsOf(orderShape) }

/** Of what null means that there is nothing, in this answer. */
interface Shown {
  readonly email: boolean
  readonly phone: boolean
  readonly name: boolean
  readonly address: boolean
  readonly customers: boolean
}

type Customer = z.infer<typeof customerShape>
type Order = z.infer<typeof orderShape>

/** Throws ConnectorError for data that is hidden, or that has another form than it should. */
export function readRows(stream: ShopifyStream, data: JsonObject): RowsAnswer {
  if (stream === 'customers') {
    const answer = parseAnswer(answerShapes.customers, data)
    const shown = readWitnesses(answer)
    return toRows(answer.rows, (node) => customerRecord(node, shown))
  }
  const answer = parseAnswer(answerShapes.orders, data)
  const shown = readWitnesses(answer)
  return toRows(answer.rows, (node) => orderRecord(node, shown))
}

/** The fields of the stream's records. */
export function fieldNames(stream: ShopifyStream): readonly string[] {
  return stream === 'customers' ? CUSTOMER_FIELDS : ORDER_FIELDS
}

function parseAnswer<Shape extends z.ZodType>(shape: Shape, data: JsonObject): z.infer<Shape> {
  const parsed = shape.safeParse(data)
  if (!parsed.success) {
    const where = parsed.error.issues[0]?.path.map(String).join('.') ?? 'its data'
    throw misshapen(where)
  }
  return parsed.data
}

function toRows<Node extends { readonly legacyResourceId: string; readonly updatedAt: string }>(
  {
    nodes,
    pageInfo,
  }: {
    readonly nodes: readonly Node[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  },
  fieldsOf: (node: Node) => JsonObject,
): RowsAnswer {
  const rows = nodes.map((node, index): ShopifyRow => {
    const changedAt = readMoment(node.updatedAt)
    if (changedAt === null) {
      throw misshapen(`rows.nodes.${index}.updatedAt`)
    }
    const identity = node.legacyResourceId
    return { position: { changedAt, id: identity }, record: { identity, fields: fieldsOf(node) } }
  })
  return { rows, hasNext: pageInfo.hasNextPage, endCursor: pageInfo.endCursor }
}

function misshapen(where: string): ConnectorError {
  return new ConnectorError(
    'node_failed',
    `Shopify's answer has another form than its API describes, at ${where}.`,
  )
}

type Witnesses = z.infer<z.ZodObject<typeof witnessShape>>

function readWitnesses({ withEmail, withPhone, oldest }: Witnesses): Shown {
  const emails = withEmail.nodes.map((node) => node.defaultEmailAddress)
  const phones = withPhone.nodes.map((node) => node.defaultPhoneNumber)
  return {
    email: isShown(emails, 'e-mail addresses'),
    phone: isShown(phones, 'telephone numbers'),
    name: oldest.nodes.some(({ firstName, lastName }) => firstName !== null || lastName !== null),
    // Its lines may be hidden one by one.
    address: oldest.nodes.some(({ defaultAddress }) => defaultAddress?.city != null),
    customers: oldest.nodes.length > 0,
  }
}

/** Of customers who are known to have it. Without any, nothing is known. */
function isShown(values: readonly unknown[], what: string): boolean {
  const isSeen = values.some((value) => value !== null)
  if (values.length > 0 && !isSeen) {
    throw new ConnectorError(
      'connection_unauthorized',
      `Shopify hides the ${what} of the customers from this app. ${APPROVAL}`,
    )
  }
  return isSeen
}

/** The fields where there is something, or where that nothing is there can be told. */
function fieldsIf(isKnown: boolean, fields: JsonObject): JsonObject {
  return isKnown ? fields : {}
}

function customerRecord(node: Customer, shown: Shown): JsonObject {
  const { firstName, lastName, defaultEmailAddress, defaultPhoneNumber, defaultAddress } = node
  return {
    id: node.legacyResourceId,
    createdAt: node.createdAt,
    updatedAt: node.updatedAt,
    ...fieldsIf(shown.name || firstName !== null, { firstName }),
    ...fieldsIf(shown.name || lastName !== null, { lastName }),
    ...fieldsIf(shown.email || defaultEmailAddress !== null, emailFields(defaultEmailAddress)),
    ...fieldsIf(shown.phone || defaultPhoneNumber !== null, phoneFields(defaultPhoneNumber)),
    ...fieldsIf(shown.address || hasLines(defaultAddress), {
      address: addressFields(defaultAddress),
    }),
    amountSpent: node.amountSpent.amount,
    amountSpentCurrency: node.amountSpent.currencyCode,
    numberOfOrders: node.numberOfOrders,
    locale: node.locale,
    note: node.note,
    state: node.state,
    tags: node.tags,
    taxExempt: node.taxExempt,
    verifiedEmail: node.verifiedEmail,
  }
}

function emailFields(email: Customer['defaultEmailAddress']): JsonObject {
  return {
    email: email?.emailAddress ?? null,
    emailHasValidFormat: email?.validFormat ?? null,
    emailMarketingState: email?.marketingState ?? null,
    emailMarketingOptInLevel: email?.marketingOptInLevel ?? null,
    emailMarketingUpdatedAt: email?.marketingUpdatedAt ?? null,
  }
}

function phoneFields(phone: Customer['defaultPhoneNumber']): JsonObject {
  const sms = phone?.smsMarketingConsent ?? {
    state: phone?.marketingState,
    optInLevel: phone?.marketingOptInLevel,
    updatedAt: phone?.marketingUpdatedAt,
    collectedFrom: phone?.marketingCollectedFrom,
  }
  return {
    phone: phone?.phoneNumber ?? null,
    ...consentFields('sms', sms),
    ...consentFields('whatsApp', phone?.whatsAppMarketingConsent),
  }
}

function consentFields(
  channel: 'sms' | 'whatsApp',
  consent: Partial<Record<keyof z.infer<typeof consentShape>, string | null | undefined>> = {},
): JsonObject {
  return {
    [`${channel}MarketingState`]: consent.state ?? null,
    [`${channel}MarketingOptInLevel`]: consent.optInLevel ?? null,
    [`${channel}MarketingUpdatedAt`]: consent.updatedAt ?? null,
    [`${channel}MarketingCollectedFrom`]: consent.collectedFrom ?? null,
  }
}

function hasLines(address: Customer['defaultAddress']): boolean {
  return address !== null && Object.values(address).some((line) => line !== null)
}

function addressFields(address: Customer['defaultAddress']): JsonObject | null {
  if (address === null) {
    return null
  }
  const { countryCodeV2, ...lines } = address
  return { ...lines, countryCode: countryCodeV2 }
}

function orderRecord(node: Order, shown: Shown): JsonObject {
  const { customer, email, phone, shippingAddress } = node
  return {
    id: node.legacyResourceId,
    name: node.name,
    createdAt: node.createdAt,
    updatedAt: node.updatedAt,
    processedAt: node.processedAt,
    cancelledAt: node.cancelledAt,
    closedAt: node.closedAt,
    ...fieldsIf(shown.customers || customer !== null, {
      customerId: customer?.legacyResourceId ?? null,
    }),
    ...fieldsIf(shown.email || email !== null, { email }),
    ...fieldsIf(shown.phone || phone !== null, { phone }),
    ...fieldsIf(shown.address || hasLines(shippingAddress), {
      shippingAddress: addressFields(shippingAddress),
    }),
    ...priceFields(node),
    financialStatus: node.displayFinancialStatus,
    fulfillmentStatus: node.displayFulfillmentStatus,
    itemsQuantity: node.subtotalLineItemsQuantity,
    customerLocale: node.customerLocale,
    tags: node.tags,
    isTest: node.test,
  }
}

function priceFields({ currentTotalPriceSet, totalPriceSet, totalRefundedSet }: Order): JsonObject {
  return {
    currency: currentTotalPriceSet.shopMoney.currencyCode,
    currentTotalPrice: currentTotalPriceSet.shopMoney.amount,
    totalPrice: totalPriceSet.shopMoney.amount,
    totalRefunded: totalRefundedSet.shopMoney.amount,
  }
}

const CUSTOMER_FIELDS = [
  'id',
  'createdAt',
  'updatedAt',
  'firstName',
  'lastName',
  ...Object.keys(emailFields(null)),
  ...Object.keys(phoneFields(null)),
  'address',
  'amountSpent',
  'amountSpentCurrency',
  'numberOfOrders',
  'locale',
  'note',
  'state',
  'tags',
  'taxExempt',
  'verifiedEmail',
]

const ORDER_FIELDS = [
  'id',
  'name',
  'createdAt',
  'updatedAt',
  'processedAt',
  'cancelledAt',
  'closedAt',
  'customerId',
  'email',
  'phone',
  'shippingAddress',
  'currency',
  'currentTotalPrice',
  'totalPrice',
  'totalRefunded',
  'financialStatus',
  'fulfillmentStatus',
  'itemsQuantity',
  'customerLocale',
  'tags',
  'isTest',
]
