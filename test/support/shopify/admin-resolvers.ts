/** Answers Admin GraphQL documents from a shop's rows, on Shopify's own schema: a wrong field fails as it does there. */
import { readFileSync } from 'node:fs'
import { buildSchema, GraphQLError, type GraphQLSchema } from 'graphql'
import { type SearchQuirks, search } from './search-filter.ts'
import type { ShopRow, ShopRows, ShopStream } from './shop-rows.ts'

export const API_VERSIONS = ['2026-07', '2026-10'] as const
export type ApiVersion = (typeof API_VERSIONS)[number]

/** Data that Shopify shows only to apps that it has approved for it. */
/** Of an address, all of it or its lines one by one. */
export const PROTECTED = ['email', 'phone', 'name', 'address', 'addressLines'] as const
export type Protected = (typeof PROTECTED)[number]

export interface ShopBehaviour {
  readonly quirks: SearchQuirks
  /** The row that a cursor names comes again behind it. */
  cursorsAreInclusive: boolean
  /** Milliseconds for which a cursor is known; null: for ever. */
  cursorLifeMs: number | null
  /** Rows of one moment come in the order of their ids, or in the other one. */
  tiesDescend: boolean
  /** Shown as null, without a word. */
  readonly redacted: Set<Protected>
  /** Shown as null, with an error. */
  readonly denied: Set<Protected>
  /** Whether the app may see customers at all. */
  deniesCustomers: boolean
}

const schemas = new Map<ApiVersion, GraphQLSchema>()

export function schemaOf(version: ApiVersion): GraphQLSchema {
  const known = schemas.get(version)
  if (known) {
    return known
  }
  const text = readFileSync(new URL(`./admin-${version}.graphql`, import.meta.url), 'utf8')
  const schema = buildSchema(text)
  schemas.set(version, schema)
  return schema
}

const DATA_OF_FIELD: Readonly<Record<string, Protected>> = {
  email: 'email',
  defaultEmailAddress: 'email',
  phone: 'phone',
  defaultPhoneNumber: 'phone',
  firstName: 'name',
  lastName: 'name',
  defaultAddress: 'address',
  shippingAddress: 'address',
}

interface ConnectionArguments {
  readonly first?: number | null
  readonly after?: string | null
  readonly query?: string | null
  readonly reverse?: boolean
  readonly sortKey?: string
}

export class AdminResolvers {
  readonly #rows: ShopRows
  readonly #behaviour: ShopBehaviour
  readonly #nowMs: () => number
  readonly #shopDomain: string

  constructor(of: {
    readonly rows: ShopRows
    readonly behaviour: ShopBehaviour
    readonly shopDomain: string
    nowMs(): number
  }) {
    this.#rows = of.rows
    this.#behaviour = of.behaviour
    this.#shopDomain = of.shopDomain
    this.#nowMs = of.nowMs
  }

  root(): Readonly<Record<string, unknown>> {
    const count = (stream: ShopStream) => () => ({
      count: this.#rows.all(stream).length,
      precision: 'EXACT',
    })
    return {
      shop: { id: 'gid://shopify/Shop/1', name: 'Stand-in', myshopifyDomain: this.#shopDomain },
      customers: (given: ConnectionArguments) => this.#list('customers', given),
      orders: (given: ConnectionArguments) => this.#list('orders', given),
      customersCount: count('customers'),
      ordersCount: count('orders'),
    }
  }

  #list(stream: ShopStream, given: ConnectionArguments): Readonly<Record<string, unknown>> {
    if (this.#behaviour.deniesCustomers && stream === 'customers') {
      throw denied('This app is not approved to access the Customer object.')
    }
    const found = this.#find(stream, given)
    const start = this.#startOf(found, given)
    const first = given.first ?? 0
    const shown = found.slice(start, start + first)
    const cursorOf = ({ id, keyMs }: { readonly id: string; readonly keyMs: number }) =>
      Buffer.from(JSON.stringify({ id, keyMs, atMs: this.#nowMs() })).toString('base64')
    const last = shown.at(-1)
    const nodes = shown.map(({ id }) => this.#show(stream, this.#rows.get(stream, id)))
    return {
      nodes,
      edges: shown.map((row, index) => ({ cursor: cursorOf(row), node: nodes[index] })),
      pageInfo: {
        hasNextPage: start + first < found.length,
        hasPreviousPage: start > 0,
        startCursor: shown[0] ? cursorOf(shown[0]) : null,
        endCursor: last ? cursorOf(last) : null,
      },
    }
  }

  #find(stream: ShopStream, { query, reverse, sortKey }: ConnectionArguments) {
    const isByTime = sortKey === 'UPDATED_AT'
    const ties = this.#behaviour.tiesDescend && isByTime ? -1 : 1
    const rows = this.#rows
      .indexed(stream)
      .map(({ row, keyMs }) => ({ id: row.id, keyMs, ...contactOf(row) }))
      .sort((a, b) => (isByTime ? a.keyMs - b.keyMs : 0) || ties * (Number(a.id) - Number(b.id)))
    const found = search(rows, query ?? null, this.#behaviour.quirks)
    return reverse ? found.toReversed() : found
  }

  /** Behind the place of the cursor: where its row is by now does not matter. */
  #startOf(
    found: readonly { readonly id: string; readonly keyMs: number }[],
    { after, reverse, sortKey }: ConnectionArguments,
  ): number {
    if (after == null) {
      return 0
    }
    const { id, keyMs, atMs } = JSON.parse(Buffer.from(after, 'base64').toString('utf8'))
    const { cursorLifeMs, cursorsAreInclusive, tiesDescend } = this.#behaviour
    if (cursorLifeMs !== null && this.#nowMs() - atMs > cursorLifeMs) {
      throw new GraphQLError('Invalid cursor for current pagination sort.')
    }
    const isByTime = sortKey === 'UPDATED_AT'
    const direction = reverse ? -1 : 1
    const ties = tiesDescend && isByTime ? -1 : 1
    const index = found.findIndex((row) => {
      const order = (isByTime ? row.keyMs - keyMs : 0) || ties * (Number(row.id) - Number(id))
      return cursorsAreInclusive ? order * direction >= 0 : order * direction > 0
    })
    return index === -1 ? found.length : index
  }

  #show(stream: ShopStream, row: ShopRow | undefined): Readonly<Record<string, unknown>> {
    const shown: Record<string, unknown> = {
      ...row?.fields,
      id: `gid://shopify/${stream === 'customers' ? 'Customer' : 'Order'}/${row?.id}`,
      legacyResourceId: row?.id,
      createdAt: momentOf(row?.createdAtMs ?? 0),
      updatedAt: momentOf(row?.updatedAtMs ?? 0),
    }
    if (stream === 'orders') {
      const customer = this.#rows.get('customers', String(row?.fields['customerId']))
      shown['customer'] = customer ? this.#show('customers', customer) : null
    }
    for (const [field, data] of Object.entries(DATA_OF_FIELD)) {
      if (field in shown) {
        shown[field] = this.#protect(field, data, shown[field])
      }
    }
    return shown
  }

  #protect(field: string, data: Protected, value: unknown): unknown {
    const { denied: refused, redacted } = this.#behaviour
    if (refused.has(data)) {
      return () => {
        throw denied(`This app is not approved to use the ${field} field.`)
      }
    }
    if (redacted.has(data)) {
      return null
    }
    const hasHiddenLines = data === 'address' && redacted.has('addressLines') && value != null
    return hasHiddenLines
      ? Object.fromEntries(Object.keys(value).map((line) => [line, null]))
      : value
  }
}

function contactOf({ fields }: ShopRow) {
  return { email: fields['email'] ?? null, phone: fields['phone'] ?? null }
}

function momentOf(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}

function denied(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'ACCESS_DENIED' } })
}
