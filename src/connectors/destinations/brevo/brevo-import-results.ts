/**
 * What an import did, read from the files that its process links to.
 *
 * Invariants: a record is written when the import tells what was wrong with its rows and does not name it; one that
 * cannot be told apart is unknown. The API's key never goes to where the files lie.
 */
import { parse } from 'csv-parse/sync'
import type { Outcome } from '../../../domain/delivery.ts'
import { isJsonObject, type JsonObject } from '../../../domain/json.ts'
import type { HttpClient } from '../../http-client.ts'
import { unknown } from '../http-results.ts'

/** The addresses that were sent, by delivery key; null: another worker sent them. */
export type SentAddresses = ReadonlyMap<string, string> | null

/** Longest file of results that is read, in bytes. */
const MAX_RESULT_BYTES = 16 * 1024 * 1024
/** Kinds of files that are read. */
const MAX_FILES = 20

export interface ResultFile {
  /** As Brevo names it, such as `invalid_emails`. */
  readonly kind: string
  readonly url: URL
}

/** Null: not a word about the rows. Empty: there was nothing wrong with any. `unsafe`: something was, and it is not read. */
export function findResultFiles(
  process: JsonObject,
  baseUrl: string,
): readonly ResultFile[] | 'unsafe' | null {
  const { info } = process
  const told = isJsonObject(info) ? info['import'] : undefined
  if (!isJsonObject(told)) {
    return null
  }
  const files: ResultFile[] = []
  for (const [kind, link] of Object.entries(told).slice(0, MAX_FILES)) {
    if (link !== null) {
      const url = typeof link === 'string' && URL.canParse(link) ? new URL(link) : null
      if (url === null || !isSafe(url, baseUrl)) {
        return 'unsafe'
      }
      files.push({ kind, url })
    }
  }
  return files
}

/** In the open only where the API itself is, which is on the same machine. */
function isSafe({ protocol, hostname }: URL, baseUrl: string): boolean {
  const base = new URL(baseUrl)
  return protocol === 'https:' || (protocol === base.protocol && hostname === base.hostname)
}

/** The rows of a file; a text: why they cannot be had. */
export async function downloadRows(
  client: HttpClient,
  { kind, url }: ResultFile,
  call: { readonly deadlineMs: number; readonly signal: AbortSignal },
): Promise<readonly (readonly string[])[] | string> {
  const result = await client.send({
    ...{ method: 'GET', url, headers: { accept: 'text/csv' }, body: '', ...call },
    maxResponseBytes: MAX_RESULT_BYTES,
    beforeSend: () => undefined,
  })
  if (result.kind !== 'response') {
    return `The file ${kind} of the import could not be read: ${result.reason}`
  }
  if (result.status !== 200 || result.bodyText.trimStart().startsWith('<')) {
    return `The file ${kind} of the import was answered with ${result.status}.`
  }
  try {
    return parse(result.bodyText, {
      ...{ delimiter: [';', ','], bom: true, skip_empty_lines: true },
      ...{ relax_column_count: true, relax_quotes: true },
    })
  } catch {
    return `The file ${kind} of the import is no CSV.`
  }
}

/** One outcome a key, in their order. */
export function reconcile(
  deliveryKeys: readonly string[],
  sent: ReadonlyMap<string, string>,
  files: readonly { readonly kind: string; readonly rows: readonly (readonly string[])[] }[],
): readonly Outcome[] {
  const known = new Set(sent.values())
  const listed = new Map<string, string>()
  let hasStrangers = false
  for (const { kind, rows } of files) {
    // Empty, or an error in the place of a file: it says of no row that it is well.
    hasStrangers ||= rows.length === 0
    for (const [index, row] of rows.entries()) {
      const address = row.map((cell) => cell.trim().toLowerCase()).find((cell) => known.has(cell))
      if (address !== undefined) {
        listed.set(address, kind)
      } else if (index > 0 || !isHeading(row)) {
        hasStrangers = true
      }
    }
  }
  return deliveryKeys.map((key): Outcome => {
    const kind = listed.get(sent.get(key) ?? '')
    if (kind !== undefined) {
      return { kind: 'rejected', reason: describeListed(kind) }
    }
    return hasStrangers || !sent.has(key)
      ? unknown('Brevo names rows of the import as wrong, and they cannot be told apart.')
      : { kind: 'written', remoteId: null }
  })
}

/** Names a column for addresses, and holds none. */
function isHeading(row: readonly string[]): boolean {
  return row.some((cell) => HEADING.test(cell)) && !row.some((cell) => cell.includes('@'))
}

const HEADING = /^\s*e-?mail(?:[ _-]?address)?\s*$/i

function describeListed(kind: string): string {
  return kind === 'invalid_emails'
    ? 'Brevo did not import the record: it lists its address as invalid (invalid_emails).'
    : `Brevo did not import the record: it lists it under ${kind.replace(/[^\w-]/g, '')}.`
}
