/** The contacts' part of Brevo's API: what a request wants, done to an account. */
import type { BrevoAccount, BrevoChange, BrevoContact, BrevoValue } from './account.ts'
import { readNumbers } from './processes.ts'
import { BrevoRefusal, missingContact } from './refusals.ts'

export interface BrevoCall {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: string
}

export interface BrevoAnswer {
  readonly status: number
  /** Null: no body at all. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

interface ContactBody {
  readonly id?: number
  readonly email?: string
  readonly sms?: string
  readonly ext_id?: string
  readonly attributes?: Readonly<Record<string, BrevoValue>>
  readonly listIds?: readonly number[]
  readonly unlinkListIds?: readonly number[]
  readonly emailBlacklisted?: boolean
  readonly smsBlacklisted?: boolean
  readonly updateEnabled?: boolean
  readonly forceMerge?: boolean
}

export function answerContacts(account: BrevoAccount, call: BrevoCall): BrevoAnswer {
  const { method, path } = call
  const [, , second = '', third = '', ...rest] = path.split('/')
  switch (`${method} ${second}`) {
    case 'POST ':
      return create(account, JSON.parse(call.body))
    case 'GET attributes':
      return { status: 200, body: { attributes: account.attributes } }
    case 'POST attributes':
      return addAttribute(account, { category: third, name: rest[0] ?? '', body: call.body })
    case 'POST batch': {
      const { contacts } = JSON.parse(call.body) as { readonly contacts: readonly ContactBody[] }
      account.updateAll(contacts.map(readChange))
      return { status: 204, body: null }
    }
    case 'POST lists':
      return addToList(account, Number(third), JSON.parse(call.body))
    default:
      return path.startsWith('/contacts/') ? answerOne(account, call, second) : nowhere()
  }
}

function create(account: BrevoAccount, body: ContactBody): BrevoAnswer {
  const { id, isNew } = account.create(readChange(body), {
    isUpdate: body.updateEnabled === true,
    isForced: body.forceMerge === true,
  })
  return isNew ? { status: 201, body: { id } } : { status: 204, body: null }
}

function addAttribute(
  account: BrevoAccount,
  given: { readonly category: string; readonly name: string; readonly body: string },
): BrevoAnswer {
  const { name } = given
  const { type } = JSON.parse(given.body)
  account.attributes.push({ name, category: given.category as 'normal', type })
  return { status: 201, body: null }
}

function addToList(
  account: BrevoAccount,
  listId: number,
  { emails }: { readonly emails: readonly string[] },
): BrevoAnswer {
  const found = emails.flatMap((email) => account.find({ email }) ?? [])
  account.addToList(listId, found)
  return { status: 201, body: { contacts: { success: emails, failure: [] } } }
}

function answerOne(account: BrevoAccount, call: BrevoCall, identifier: string): BrevoAnswer {
  const contact = findOne(account, decodeURIComponent(identifier), call.query.get('identifierType'))
  if (!contact) {
    throw missingContact()
  }
  switch (call.method) {
    case 'GET':
      return { status: 200, body: showContact(contact) }
    case 'PUT': {
      const body = JSON.parse(call.body) as ContactBody
      const { EMAIL, ...attributes } = body.attributes ?? {}
      const email = typeof EMAIL === 'string' ? { email: EMAIL } : {}
      account.update(contact, readChange({ ...body, attributes, ...email }))
      return { status: 204, body: null }
    }
    case 'DELETE':
      account.contacts.delete(contact.id)
      return { status: 204, body: null }
    default:
      return nowhere()
  }
}

/** Without a type only e-mail, number and, to be read, a phone are understood. */
function findOne(
  account: BrevoAccount,
  identifier: string,
  type: string | null,
): BrevoContact | null {
  switch (type) {
    case 'ext_id':
      return account.find({ extId: identifier })
    case 'phone_id':
      return account.findByPhone('SMS', identifier)
    case 'whatsapp_id':
      return account.findByPhone('WHATSAPP', identifier)
    case 'contact_id':
      return account.contacts.get(Number(identifier)) ?? null
    default:
      return /^\d+$/.test(identifier)
        ? (account.contacts.get(Number(identifier)) ?? null)
        : account.find({ email: identifier })
  }
}

export function showContact(contact: BrevoContact): Readonly<Record<string, unknown>> {
  const { id, email, extId, emailBlacklisted, smsBlacklisted, listIds, attributes } = contact
  return {
    ...{ id, email, emailBlacklisted, smsBlacklisted, whatsappBlacklisted: false },
    ...(extId === null ? {} : { ext_id: extId }),
    listIds: [...listIds],
    createdAt: '2026-01-01T00:00:00.000Z',
    modifiedAt: '2026-01-01T00:00:00.000Z',
    attributes: Object.fromEntries(attributes),
    statistics: {},
  }
}

function readChange(body: ContactBody): BrevoChange {
  const { id, email, ext_id: extId, emailBlacklisted, smsBlacklisted, unlinkListIds } = body
  const attributes = new Map(Object.entries(body.attributes ?? {}))
  if (body.sms !== undefined) {
    attributes.set('SMS', body.sms)
  }
  return {
    ...{ attributes, listIds: readNumbers(body.listIds) },
    ...(id === undefined ? {} : { id }),
    ...(email === undefined ? {} : { email }),
    ...(extId === undefined ? {} : { extId }),
    ...(unlinkListIds === undefined ? {} : { unlinkListIds }),
    ...(emailBlacklisted === undefined ? {} : { emailBlacklisted }),
    ...(smsBlacklisted === undefined ? {} : { smsBlacklisted }),
  }
}

function nowhere(): never {
  throw new BrevoRefusal(404, { code: 'document_not_found', message: 'Not found' })
}
