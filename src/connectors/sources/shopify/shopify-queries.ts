/**
 * The queries that are asked, each for its version of the Admin API: what 2026-10 has for text messages, 2026-07 does
 * not know.
 *
 * Invariant: each answer carries its own witnesses: a few customers of whom it is known that they have an e-mail address
 * or a telephone number, and a few others. What is shown of them tells whether null means that there is nothing or that
 * this app may not see it, for this very answer.
 */
export const API_VERSIONS = ['2026-10', '2026-07'] as const
export type ApiVersion = (typeof API_VERSIONS)[number]

export const STREAMS = ['customers', 'orders'] as const
export type ShopifyStream = (typeof STREAMS)[number]

/** Asked for by a test of a connection. */
export const SHOP_QUERY = 'query TestConnection { shop { name } }'

/** Few, since they cost as rows do; more than one, since the index may be behind with one. */
const WITNESSES = 5

/** What one query costs beside its rows, by Shopify's rule: an object 1. */
export const WITNESS_COST = 3 + WITNESSES * (2 + 2 + 2) + 1
/** What one row costs. The answer tells it better. */
export const ROW_COST: Readonly<Record<ShopifyStream, number>> = { customers: 7, orders: 9 }

const EMAIL = `defaultEmailAddress {
        emailAddress marketingState marketingOptInLevel marketingUpdatedAt validFormat
      }`

const TEXT_MESSAGES: Readonly<Record<ApiVersion, string>> = {
  '2026-07': 'marketingState marketingOptInLevel marketingUpdatedAt marketingCollectedFrom',
  '2026-10': 'smsMarketingConsent { state optInLevel updatedAt collectedFrom }',
}

const ADDRESS = 'address1 address2 city company countryCodeV2 provinceCode zip'

const money = (field: string) => `${field} { shopMoney { amount currencyCode } }`

const rowFields: Readonly<Record<ShopifyStream, (version: ApiVersion) => string>> = {
  customers: (version) => `
      legacyResourceId createdAt updatedAt firstName lastName
      ${EMAIL}
      defaultPhoneNumber {
        phoneNumber ${TEXT_MESSAGES[version]}
        whatsAppMarketingConsent { state optInLevel updatedAt collectedFrom }
      }
      defaultAddress { ${ADDRESS} }
      amountSpent { amount currencyCode }
      numberOfOrders locale note state tags taxExempt verifiedEmail`,
  orders: () => `
      legacyResourceId name createdAt updatedAt processedAt cancelledAt closedAt
      customer { legacyResourceId }
      email phone shippingAddress { ${ADDRESS} }
      ${money('currentTotalPriceSet')} ${money('totalPriceSet')} ${money('totalRefundedSet')}
      displayFinancialStatus displayFulfillmentStatus subtotalLineItemsQuantity customerLocale tags test`,
}

/** Variables: `first`, `after`, `filter`. Oldest change first, always: what changes meanwhile comes again at the end. */
export function rowsQuery(stream: ShopifyStream, version: ApiVersion): string {
  return `query Read($first: Int!, $after: String, $filter: String) {
  rows: ${stream}(first: $first, after: $after, query: $filter, sortKey: UPDATED_AT) {
    nodes {${rowFields[stream](version)}
    }
    pageInfo { hasNextPage endCursor }
  }
  withEmail: customers(first: ${WITNESSES}, query: "email:*") {
    nodes { defaultEmailAddress { emailAddress } }
  }
  withPhone: customers(first: ${WITNESSES}, query: "phone:*") {
    nodes { defaultPhoneNumber { phoneNumber } }
  }
  oldest: customers(first: ${WITNESSES}) {
    nodes { firstName lastName defaultAddress { city } }
  }
}`
}
