/**
 * A Brevo account as the API shows it: contacts with their unique identifiers, attribute definitions, lists. The
 * oracle of every test that writes to Brevo: `writes` holds each effect, in the order in which it happened.
 *
 * It behaves as Brevo is documented and was seen to: an attribute that the account does not have, under exactly this
 * name, or a value that does not fit its type is left out without a word; identifiers of two contacts in one write are
 * refused on the record's way, and merged (one contact is deleted) by an import.
 */
import { BrevoRefusal, duplicateOf, isBrevoPhone, missingContact } from './refusals.ts'

export type BrevoValue = string | number | boolean | readonly string[] | null

export interface BrevoAttribute {
  readonly name: string
  readonly category: 'normal' | 'transactional' | 'category' | 'calculated' | 'global'
  readonly type?: 'text' | 'date' | 'float' | 'id' | 'boolean' | 'multiple-choice' | 'user'
  readonly enumeration?: readonly {
    readonly value: number
    readonly label: string
    readonly valueStr: string
  }[]
}

export interface BrevoContact {
  readonly id: number
  email: string | null
  extId: string | null
  attributes: Map<string, BrevoValue>
  listIds: Set<number>
  emailBlacklisted: boolean
  smsBlacklisted: boolean
  /** Counts the writes of the account: what was written later has more. */
  modifiedN: number
}

/** What a request wants of one contact. */
export interface BrevoChange {
  readonly id?: number
  readonly email?: string
  readonly extId?: string
  readonly attributes: ReadonlyMap<string, BrevoValue>
  readonly listIds: readonly number[]
  readonly unlinkListIds?: readonly number[]
  readonly emailBlacklisted?: boolean
  readonly smsBlacklisted?: boolean
}

export type BrevoPath = 'record' | 'update' | 'batch' | 'import'

/** One effect on one contact. */
export interface BrevoWrite {
  readonly path: BrevoPath
  readonly contactId: number
  /** E-mail, external id or phone: what the contact is known by after it. */
  readonly name: string
  /** As they were taken, without what was left out. */
  readonly attributes: Readonly<Record<string, BrevoValue>>
}

/** Attributes that name a contact. */
const PHONES = ['SMS', 'WHATSAPP'] as const

export class BrevoAccount {
  readonly contacts = new Map<number, BrevoContact>()
  readonly attributes: BrevoAttribute[] = [
    { name: 'FIRSTNAME', category: 'normal', type: 'text' },
    { name: 'LASTNAME', category: 'normal', type: 'text' },
    { name: 'SMS', category: 'normal', type: 'text' },
    { name: 'WHATSAPP', category: 'normal', type: 'text' },
  ]
  readonly lists = new Set([2])
  readonly writes: BrevoWrite[] = []
  /** Contacts that a merge took away. */
  readonly deleted: number[] = []
  /** Since May 2026 the code of a conflict may be `invalid_parameter`. */
  conflictCode: 'duplicate_parameter' | 'invalid_parameter' = 'duplicate_parameter'
  #lastId = 0

  find(by: {
    readonly email?: string | null
    readonly extId?: string | null
  }): BrevoContact | null {
    const email = by.email?.toLowerCase()
    return this.#first(
      (contact) =>
        (email !== undefined && contact.email === email) ||
        (by.extId != null && contact.extId === by.extId),
    )
  }

  findByPhone(name: string, phone: string): BrevoContact | null {
    const digits = digitsOf(phone)
    return this.#first((contact) => digitsOf(String(contact.attributes.get(name) ?? '')) === digits)
  }

  /** The values with which a contact was written, in order. */
  valuesOf(email: string, attribute: string): readonly (BrevoValue | undefined)[] {
    const name = email.toLowerCase()
    return this.writes.filter((one) => one.name === name).map((one) => one.attributes[attribute])
  }

  /** POST /contacts. */
  create(
    change: BrevoChange,
    given: { readonly isUpdate: boolean; readonly isForced?: boolean },
  ): { readonly id: number; readonly isNew: boolean } {
    this.#check(change)
    const { email, extId, attributes } = change
    if (email === undefined && extId === undefined && !attributes.has('SMS')) {
      throw new BrevoRefusal(400, { code: 'missing_parameter', message: 'email is missing' })
    }
    const owners = this.#ownersOf(change)
    const [first] = owners
    if (first === undefined) {
      return { id: this.#apply('record', this.#add(), change), isNew: true }
    }
    if (!given.isUpdate) {
      throw duplicateOf(this.conflictCode, [first.identifier])
    }
    const byEmail = owners.find(({ identifier }) => identifier === 'email')
    // An address that nobody has is a new contact's: what else it brings belongs to somebody.
    const kept = change.email === undefined ? first.contact : (byEmail?.contact ?? null)
    const others = owners.filter(({ contact }) => contact !== kept)
    if (given.isForced && owners.length > 1) {
      const [newest = first.contact, ...gone] = [
        ...new Set(owners.map(({ contact }) => contact)),
      ].sort((a, b) => b.modifiedN - a.modifiedN)
      this.#removeAll(gone)
      return { id: this.#apply('record', newest, change), isNew: false }
    }
    if (others.length > 0) {
      throw duplicateOf(
        this.conflictCode,
        others.map(({ identifier }) => identifier),
      )
    }
    return { id: this.#apply('record', first.contact, change), isNew: false }
  }

  /** PUT /contacts/{identifier}. */
  update(contact: BrevoContact, change: BrevoChange): void {
    this.#check(change)
    const others = this.#ownersOf(change).filter((owner) => owner.contact !== contact)
    if (others.length > 0) {
      throw duplicateOf(
        this.conflictCode,
        others.map(({ identifier }) => identifier),
      )
    }
    const isRenamed = change.email !== undefined && change.email.toLowerCase() !== contact.email
    this.#apply('update', contact, change)
    if (isRenamed && change.emailBlacklisted === undefined) {
      contact.emailBlacklisted = false
    }
  }

  /** POST /contacts/batch: all of them or none. */
  updateAll(changes: readonly BrevoChange[]): void {
    const found = changes.map((change) => {
      const sms = change.attributes.get('SMS')
      return change.id === undefined
        ? (this.find(change) ?? (typeof sms === 'string' ? this.findByPhone('SMS', sms) : null))
        : (this.contacts.get(change.id) ?? null)
    })
    const missing = found.flatMap((contact, index) => (contact ? [] : [index]))
    if (missing.length > 0) {
      throw missingContact(`No contact found for indexes ${missing.join(',')}`)
    }
    found.forEach((contact, index) => {
      const change = changes[index]
      if (contact && change) {
        this.#apply('batch', contact, change)
      }
    })
  }

  /** One row of an import: of two contacts that it names, the one with the lesser identifier is deleted. */
  importRow(change: BrevoChange): void {
    const ranked = [...new Set(this.#ownersOf(change).map(({ contact }) => contact))]
    const [kept, ...gone] = ranked
    this.#removeAll(gone)
    this.#apply('import', kept ?? this.#add(), change)
  }

  addToList(listId: number, contacts: readonly BrevoContact[]): void {
    const fresh = contacts.filter((contact) => !contact.listIds.has(listId))
    if (fresh.length === 0) {
      throw new BrevoRefusal(400, {
        code: 'invalid_parameter',
        message: "Contact already in list and/or doesn't exist",
      })
    }
    for (const contact of fresh) {
      contact.listIds.add(listId)
    }
  }

  #check({ email, attributes, listIds }: BrevoChange): void {
    if (attributes.has('EMAIL') && email !== undefined) {
      throw invalid('Attribute EMAIL is not allowed')
    }
    if (email !== undefined && !isEmail(email)) {
      throw invalid('email is not valid in contact')
    }
    const phones = PHONES.flatMap((name) => attributes.get(name) ?? [])
    if (phones.some((phone) => !isBrevoPhone(String(phone)))) {
      throw invalid('Invalid phone number')
    }
    if (listIds.some((id) => !this.lists.has(id))) {
      throw invalid('List ID does not exist')
    }
  }

  /** Whom the identifiers of a change belong to, the weightiest first. */
  #ownersOf({ id, email, extId, attributes }: BrevoChange) {
    const owners: { readonly identifier: string; readonly contact: BrevoContact }[] = []
    const note = (identifier: string, contact: BrevoContact | null | undefined) => {
      if (contact) {
        owners.push({ identifier, contact })
      }
    }
    note('id', id === undefined ? null : this.contacts.get(id))
    note('ext_id', extId === undefined ? null : this.find({ extId }))
    note('email', email === undefined ? null : this.find({ email }))
    for (const name of PHONES) {
      const phone = attributes.get(name)
      note(name, typeof phone === 'string' && phone !== '' ? this.findByPhone(name, phone) : null)
    }
    return owners
  }

  #add(): BrevoContact {
    this.#lastId += 1
    const contact: BrevoContact = {
      id: this.#lastId,
      email: null,
      extId: null,
      attributes: new Map(),
      listIds: new Set(),
      emailBlacklisted: false,
      smsBlacklisted: false,
      modifiedN: 0,
    }
    this.contacts.set(contact.id, contact)
    return contact
  }

  #removeAll(gone: readonly BrevoContact[]): void {
    for (const { id } of gone) {
      this.contacts.delete(id)
      this.deleted.push(id)
    }
  }

  #apply(path: BrevoPath, contact: BrevoContact, change: BrevoChange): number {
    const taken: Record<string, BrevoValue> = {}
    for (const [name, value] of change.attributes) {
      if (this.#fits(name, value)) {
        contact.attributes.set(name, value)
        taken[name] = value
      }
    }
    const sms = contact.attributes.get('SMS')
    const synthetic = sms === undefined ? null : `${digitsOf(String(sms))}@mailin-sms.com`
    contact.email = change.email?.toLowerCase() ?? contact.email ?? synthetic
    contact.extId = change.extId ?? contact.extId
    const leaving = new Set(change.unlinkListIds)
    const all = [...contact.listIds, ...change.listIds]
    contact.listIds = new Set(all.filter((id) => !leaving.has(id)))
    contact.emailBlacklisted = change.emailBlacklisted ?? contact.emailBlacklisted
    contact.smsBlacklisted = change.smsBlacklisted ?? contact.smsBlacklisted
    const name = contact.email ?? contact.extId ?? ''
    this.writes.push({ path, contactId: contact.id, name, attributes: taken })
    contact.modifiedN = this.writes.length
    return contact.id
  }

  #fits(name: string, value: BrevoValue): boolean {
    const definition = this.attributes.find((attribute) => attribute.name === name)
    if (!definition) {
      return false
    }
    if (definition.category === 'category') {
      const known = definition.enumeration ?? []
      return known.some((one) => one.value === value || one.valueStr === value)
    }
    return definition.category === 'normal' && fitsType(definition.type ?? 'text', value)
  }

  #first(isWanted: (contact: BrevoContact) => boolean): BrevoContact | null {
    return [...this.contacts.values()].find(isWanted) ?? null
  }
}

function fitsType(type: NonNullable<BrevoAttribute['type']>, value: BrevoValue): boolean {
  switch (type) {
    case 'float':
      return typeof value === 'number'
    case 'boolean':
      return typeof value === 'boolean'
    case 'date':
      return typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value)
    case 'multiple-choice':
      return Array.isArray(value)
    default:
      return typeof value === 'string'
  }
}

export function isEmail(text: string): boolean {
  return /^[^\s@]{1,64}@[^\s@]+\.[^\s@]+$/.test(text) && text.length <= 254
}

function invalid(message: string): BrevoRefusal {
  return new BrevoRefusal(400, { code: 'invalid_parameter', message })
}

function digitsOf(phone: string): string {
  return phone.replace(/\D/g, '').replace(/^00/, '')
}
