/**
 * What a stand-in shop holds, and what its search index knows of it.
 *
 * A row is found and sorted by what the index knows; what is shown of it is what it is now. So a row that was just
 * changed stands where it stood before, with its new content, until the index has caught up.
 */
export const STREAMS = ['customers', 'orders'] as const
export type ShopStream = (typeof STREAMS)[number]

export interface ShopRow {
  /** A whole number as text. */
  readonly id: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** As GraphQL shows them. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** Where the index has a row. */
interface IndexEntry {
  readonly id: string
  readonly updatedAtMs: number
}

interface LateEntry {
  readonly stream: ShopStream
  readonly entry: IndexEntry
  readonly dueMs: number
}

export interface PutOptions {
  /** Default: now. Rounded down to a second, as the API shows no less. */
  readonly updatedAtMs?: number
  /** How long the index does not know of it. Default 0. */
  readonly indexLagMs?: number
}

export class ShopRows {
  readonly #nowMs: () => number
  readonly #rows = { customers: new Map<string, ShopRow>(), orders: new Map<string, ShopRow>() }
  readonly #index = {
    customers: new Map<string, IndexEntry>(),
    orders: new Map<string, IndexEntry>(),
  }
  #late: readonly LateEntry[] = []

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Makes a row, or changes the one that there is. */
  put(stream: ShopStream, id: string, fields: ShopRow['fields'], options: PutOptions = {}): void {
    const updatedAtMs = floorToSecond(options.updatedAtMs ?? this.#nowMs())
    const before = this.#rows[stream].get(id)
    this.#rows[stream].set(id, {
      id,
      createdAtMs: before?.createdAtMs ?? updatedAtMs,
      updatedAtMs,
      fields: { ...before?.fields, ...fields },
    })
    const dueMs = this.#nowMs() + (options.indexLagMs ?? 0)
    this.#late = [...this.#late, { stream, entry: { id, updatedAtMs }, dueMs }]
  }

  remove(stream: ShopStream, id: string): void {
    this.#rows[stream].delete(id)
    this.#index[stream].delete(id)
    this.#late = this.#late.filter((late) => late.stream !== stream || late.entry.id !== id)
  }

  get(stream: ShopStream, id: string): ShopRow | undefined {
    return this.#rows[stream].get(id)
  }

  all(stream: ShopStream): readonly ShopRow[] {
    return [...this.#rows[stream].values()]
  }

  /** Rows with the time by which they are found. */
  indexed(stream: ShopStream): readonly { readonly row: ShopRow; readonly keyMs: number }[] {
    this.#catchUp()
    return [...this.#index[stream].values()].flatMap(({ id, updatedAtMs }) => {
      const row = this.#rows[stream].get(id)
      return row ? [{ row, keyMs: updatedAtMs }] : []
    })
  }

  #catchUp(): void {
    const nowMs = this.#nowMs()
    for (const { stream, entry } of this.#late.filter(({ dueMs }) => dueMs <= nowMs)) {
      // What it learns late of an older change does not take it back.
      if (entry.updatedAtMs >= (this.#index[stream].get(entry.id)?.updatedAtMs ?? 0)) {
        this.#index[stream].set(entry.id, entry)
      }
    }
    this.#late = this.#late.filter(({ dueMs }) => dueMs > nowMs)
  }
}

function floorToSecond(ms: number): number {
  return Math.floor(ms / 1000) * 1000
}

export interface CustomerLook {
  readonly email?: string | null
  readonly emailState?: string
  readonly phone?: string | null
  readonly firstName?: string | null
  readonly lastName?: string | null
  readonly city?: string | null
  readonly note?: string | null
  readonly tags?: readonly string[]
}

const CONSENT_AT = '2026-01-05T08:00:00Z'

export function customerFields(look: CustomerLook = {}): ShopRow['fields'] {
  const { email = null, phone = null, city = null } = look
  const consent = {
    state: 'NEVER_SUBSCRIBED',
    optInLevel: null,
    updatedAt: null,
    collectedFrom: null,
  }
  return {
    firstName: look.firstName ?? null,
    lastName: look.lastName ?? null,
    displayName: look.firstName ?? email ?? phone ?? '',
    email,
    phone,
    defaultEmailAddress:
      email === null
        ? null
        : {
            emailAddress: email,
            marketingState: look.emailState ?? 'SUBSCRIBED',
            marketingOptInLevel: 'SINGLE_OPT_IN',
            marketingUpdatedAt: CONSENT_AT,
            validFormat: true,
          },
    defaultPhoneNumber:
      phone === null
        ? null
        : {
            phoneNumber: phone,
            marketingState: 'SUBSCRIBED',
            marketingOptInLevel: 'CONFIRMED_OPT_IN',
            marketingUpdatedAt: CONSENT_AT,
            marketingCollectedFrom: 'SHOPIFY',
            smsMarketingConsent: {
              state: 'SUBSCRIBED',
              optInLevel: 'CONFIRMED_OPT_IN',
              updatedAt: CONSENT_AT,
              collectedFrom: 'SHOPIFY',
            },
            whatsAppMarketingConsent: consent,
          },
    defaultAddress: city === null ? null : addressOf(city),
    amountSpent: { amount: '1204.50', currencyCode: 'EUR' },
    numberOfOrders: '9007199254740993',
    locale: 'de',
    note: look.note ?? null,
    state: 'ENABLED',
    tags: look.tags ?? [],
    taxExempt: false,
    verifiedEmail: true,
  }
}

export interface OrderLook {
  readonly customerId?: string | null
  readonly email?: string | null
  readonly city?: string | null
  readonly total?: string
}

export function orderFields(look: OrderLook = {}): ShopRow['fields'] {
  const money = (amount: string) => ({
    shopMoney: { amount, currencyCode: 'EUR' },
    presentmentMoney: { amount, currencyCode: 'EUR' },
  })
  return {
    name: '#1001',
    processedAt: CONSENT_AT,
    cancelledAt: null,
    closedAt: null,
    currencyCode: 'EUR',
    currentTotalPriceSet: money(look.total ?? '19.90'),
    totalPriceSet: money(look.total ?? '19.90'),
    totalRefundedSet: money('0.0'),
    displayFinancialStatus: 'PAID',
    displayFulfillmentStatus: 'UNFULFILLED',
    customerId: look.customerId ?? null,
    email: look.email ?? null,
    phone: null,
    shippingAddress: look.city == null ? null : addressOf(look.city),
    tags: [],
    test: false,
    subtotalLineItemsQuantity: 2,
    customerLocale: 'de',
  }
}

function addressOf(city: string): Readonly<Record<string, unknown>> {
  return {
    id: 'gid://shopify/MailingAddress/1',
    address1: 'Hauptstraße 1',
    address2: null,
    city,
    company: null,
    countryCodeV2: 'DE',
    firstName: null,
    lastName: null,
    phone: null,
    provinceCode: null,
    zip: '10115',
  }
}
