/**
 * The imports of a Brevo account: taken in at once, carried out later, one after the other or, where two are open at
 * once, not before a test says so. What was wrong with rows is only told by links to CSV files.
 */
import { parse } from 'csv-parse/sync'
import { type BrevoAccount, type BrevoAttribute, type BrevoValue, isEmail } from './account.ts'
import { BrevoRefusal } from './refusals.ts'

export type BrevoStatus =
  | 'queued'
  | 'in_process'
  | 'processing'
  | 'completed'
  | 'failed'
  | 'cancelled'

export interface BrevoProcess {
  readonly id: number
  readonly name: string
  status: BrevoStatus
  readonly rows: readonly ImportRow[]
  readonly listIds: readonly number[]
  readonly erasesEmpty: boolean
  /** Looks that it has been given since it was taken in. */
  looks: number
  /** It is carried out when a test says so, and not before. */
  isStuck: boolean
  /** What was wrong with its rows: CSV texts, by the name of their link. */
  readonly files: Map<string, string>
}

type ImportRow = ReadonlyMap<string, BrevoValue>

/** Longest body of an import, in bytes. */
export const MAX_IMPORT_BYTES = 10_000_000
const RESULT_KINDS = [
  'invalid_emails',
  'duplicate_contact_id',
  'duplicate_ext_id',
  'duplicate_email_id',
  'duplicate_phone_id',
  'duplicate_whatsapp_id',
  'duplicate_landline_number_id',
] as const
const IDENTIFIERS = new Set(['EMAIL', 'EXT_ID', 'CONTACT ID', 'ID'])

export class BrevoProcesses {
  readonly all: BrevoProcess[] = []
  /** Looks, at it or at the list, after which an import is over; null: it stays in the queue until a test finishes it. */
  looksUntilDone: number | null = 0
  /** Most imports that were open at once. */
  mostOpen = 0
  /** What a finished import says: links, the same without any, or no word of them. */
  telling: 'links' | 'nothing' | 'emptyInfo' = 'links'
  /** Not known any more. */
  readonly forgotten = new Set<number>()
  /** Addresses that an import refuses although they look well. */
  readonly disliked = new Set<string>()
  readonly #account: BrevoAccount
  #lastId = 100

  constructor(account: BrevoAccount) {
    this.#account = account
  }

  get open(): readonly BrevoProcess[] {
    return this.all.filter(({ status }) => isOpen(status))
  }

  /** POST /contacts/import. */
  take(body: Readonly<Record<string, unknown>>): number {
    const listIds = readNumbers(body['listIds'])
    if (listIds.length === 0 && body['newList'] === undefined) {
      throw new BrevoRefusal(400, { code: 'missing_parameter', message: 'listIds is missing' })
    }
    const rows = readRows(body)
    if (!rows.some((row) => row.has('EMAIL') || row.has('SMS'))) {
      const message = 'could not find any valid email or SMS or Contact ID'
      throw new BrevoRefusal(400, { code: 'invalid_parameter', message })
    }
    this.#lastId += 1
    const isAlone = this.open.length === 0
    if (!isAlone) {
      // Imports that run at once are known to hang.
      this.open.forEach((other) => {
        other.isStuck = true
      })
    }
    this.all.push({
      ...{ id: this.#lastId, name: 'IMPORTUSER', status: 'queued', rows, listIds, looks: 0 },
      erasesEmpty: body['emptyContactsAttributes'] === true,
      isStuck: !isAlone,
      files: new Map(),
    })
    this.mostOpen = Math.max(this.mostOpen, this.open.length)
    return this.#lastId
  }

  /** An import of somebody else, such as of a person in the vendor's own pages. */
  begin(name = 'IMPORTUSER'): BrevoProcess {
    this.#lastId += 1
    const other: BrevoProcess = {
      ...{ id: this.#lastId, name, status: 'in_process', rows: [], listIds: [], looks: 0 },
      ...{ erasesEmpty: false, isStuck: true, files: new Map() },
    }
    this.all.push(other)
    return other
  }

  /** GET /processes and GET /processes/{id}: what is open gets on by being looked at. */
  look(): void {
    for (const process of this.open) {
      process.looks += 1
      const isDue = this.looksUntilDone !== null && process.looks > this.looksUntilDone
      if (!process.isStuck && isDue) {
        this.finish(process.id)
      } else if (!process.isStuck && this.looksUntilDone !== null) {
        process.status = process.looks > 1 ? 'processing' : 'in_process'
      }
    }
  }

  /** Carries it out: now, however late that is. */
  finish(id: number): void {
    const process = this.find(id)
    if (!process || !isOpen(process.status)) {
      return
    }
    process.status = 'completed'
    const invalid: string[] = []
    for (const row of process.rows) {
      const email = String(row.get('EMAIL') ?? '')
      if (!isEmail(email) || this.disliked.has(email.toLowerCase())) {
        invalid.push(email)
      } else {
        this.#importRow(process, row, email)
      }
    }
    if (invalid.length > 0) {
      const rows = invalid.map((email) => `${email};invalid`)
      process.files.set('invalid_emails', ['EMAIL;REASON', ...rows].join('\n'))
    }
  }

  /** Ends without a word about why; the first rows may have been carried out. */
  end(id: number, status: 'failed' | 'cancelled'): void {
    const process = this.find(id)
    if (process) {
      process.status = status
    }
  }

  find(id: number): BrevoProcess | null {
    return this.all.find((process) => process.id === id && !this.forgotten.has(id)) ?? null
  }

  /** As the API shows it; `resultsUrl`: where the files lie. */
  show(process: BrevoProcess, resultsUrl: string): Readonly<Record<string, unknown>> {
    const { id, name, status, files } = process
    const shown = { id, name, status }
    if (status !== 'completed' || this.telling === 'nothing') {
      return shown
    }
    const links = Object.fromEntries(
      RESULT_KINDS.map((kind) => [
        kind,
        files.has(kind) ? `${resultsUrl}/${id}/${kind}.csv` : null,
      ]),
    )
    return { ...shown, info: this.telling === 'links' ? { import: links } : {} }
  }

  #importRow(process: BrevoProcess, row: ImportRow, email: string): void {
    const attributes = new Map<string, BrevoValue>()
    for (const [name, text] of row) {
      const definition = this.#account.attributes.find((one) => one.name === name)
      const isEmpty = text === '' || text === null
      if (!IDENTIFIERS.has(name) && definition && (!isEmpty || process.erasesEmpty)) {
        attributes.set(name, isEmpty ? '' : readCell(definition, text))
      }
    }
    const extId = row.get('EXT_ID')
    this.#account.importRow({
      ...(typeof extId === 'string' && extId !== '' ? { extId } : {}),
      ...{ email, attributes, listIds: process.listIds },
    })
  }
}

function isOpen(status: BrevoStatus): boolean {
  return status === 'queued' || status === 'in_process' || status === 'processing'
}

function readRows(body: Readonly<Record<string, unknown>>): readonly ImportRow[] {
  const { fileBody, jsonBody } = body
  if (typeof fileBody === 'string') {
    const rows = parse(fileBody, { delimiter: ';', columns: true, bom: true }) as Record<
      string,
      string
    >[]
    return rows.map((row) => new Map(Object.entries(row)))
  }
  if (!Array.isArray(jsonBody)) {
    throw new BrevoRefusal(400, { code: 'missing_parameter', message: 'fileBody is missing' })
  }
  return jsonBody.map((item: { email?: string; attributes?: Record<string, BrevoValue> }) => {
    // A boolean false is as good as not there (APIv3-python-library, issue 95).
    const members = Object.entries(item.attributes ?? {}).filter(([, value]) => value !== false)
    return new Map([
      ...(item.email === undefined ? [] : [['EMAIL', item.email] as const]),
      ...members,
    ])
  })
}

/** A cell is text whatever its attribute's type is. */
function readCell({ type }: BrevoAttribute, value: BrevoValue): BrevoValue {
  if (typeof value !== 'string') {
    return value
  }
  if (type === 'float' && value.trim() !== '' && !Number.isNaN(Number(value))) {
    return Number(value)
  }
  return type === 'boolean' && /^(?:true|false|yes|no)$/i.test(value)
    ? /^(?:true|yes)$/i.test(value)
    : value
}

export function readNumbers(value: unknown): readonly number[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'number') : []
}
