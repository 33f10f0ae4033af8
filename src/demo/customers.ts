/**
 * The shipped customers as the proof expects them: read by another parser than the app's, and mapped by
 * hand where that is simple. It shares nothing with the app but the file.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parse } from 'csv-parse/sync'

/** The directory below which the demo's app reads files. */
export const FILE_ROOT = fileURLToPath(new URL('./data', import.meta.url))
export const CUSTOMERS_FILE = 'customers.csv'

/** What the CRM should hold of one customer. */
export interface ExpectedContact {
  readonly id: string
  /** Null: the contact has none. */
  readonly email: string | null
  readonly phone: string | null
}

export async function readExpectedContacts(): Promise<readonly ExpectedContact[]> {
  const text = await readFile(new URL(`./data/${CUSTOMERS_FILE}`, import.meta.url))
  const rows: Record<string, string>[] = parse(text, { columns: true, bom: true })
  return rows.map((row) => ({
    id: row['customer_id'] ?? '',
    email: blankToNull(row['email']?.trim().toLowerCase()),
    phone: blankToNull(row['phone']),
  }))
}

/** As the API takes it. */
export async function readMapping(): Promise<unknown> {
  return JSON.parse(await readFile(new URL('./data/mapping.json', import.meta.url), 'utf8'))
}

function blankToNull(text: string | undefined): string | null {
  return text === undefined || text.trim() === '' ? null : text
}
