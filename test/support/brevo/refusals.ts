/** What Brevo says no with: a status and a body of `code`, `message` and sometimes `metadata`. */
export interface BrevoErrorBody {
  readonly code: string
  readonly message: string
  readonly metadata?: { readonly duplicate_identifiers: readonly string[] }
}

export class BrevoRefusal extends Error {
  readonly status: number
  readonly body: BrevoErrorBody

  constructor(status: number, body: BrevoErrorBody) {
    super(body.message)
    this.status = status
    this.body = body
  }
}

/** An identifier that another contact has. */
export function duplicateOf(code: string, identifiers: readonly string[]): BrevoRefusal {
  const named = identifiers.map((name) => (name === 'ext_id' ? 'EXT_ID' : name)).join(' or ')
  const verb = identifiers.length > 1 ? 'are' : 'is'
  return new BrevoRefusal(400, {
    code,
    message: `Unable to create contact, ${named} ${verb} already associated with another Contact`,
    metadata: { duplicate_identifiers: identifiers },
  })
}

export function missingContact(message = 'Contact does not exist'): BrevoRefusal {
  return new BrevoRefusal(404, { code: 'document_not_found', message })
}

/** `91…`, `+91…` or `0091…`: the country's code is never left out. */
export function isBrevoPhone(text: string): boolean {
  return /^(?:\+|00)?[1-9]\d{7,14}$/.test(text)
}
