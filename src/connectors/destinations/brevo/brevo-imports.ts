/**
 * Imports of an account: whether one is open, what became of one.
 *
 * Brevo gives an import no name of ours. So one whose answer was lost cannot be found, and nothing is sent again while
 * any import of the account is open, whosever it is: ours may be among them, and would overwrite what came after it.
 * When none is, it has landed or was never begun, and the same contacts are imported again, which changes nothing (I12).
 */
import type { Outcome } from '../../../domain/delivery.ts'
import { isJsonObject, type JsonObject } from '../../../domain/json.ts'
import type { FoundImport, ImportJobs, ImportState, Unanswered } from '../../destination.ts'
import { unknown } from '../http-results.ts'
import type { BrevoApi, BrevoReply } from './brevo-api.ts'
import {
  downloadRows,
  findResultFiles,
  reconcile,
  type SentAddresses,
} from './brevo-import-results.ts'
import type { BrevoObjectOptions } from './brevo-settings.ts'

/** Where imports are asked about. */
const PROCESSES_PATH = '/processes'
/** The newest ones, as many as one answer holds: an open one is not older. */
export const PROCESS_LIST_PATH = `${PROCESSES_PATH}?limit=50&sort=desc`
const OPEN_STATUSES: ReadonlySet<unknown> = new Set(['queued', 'in_process', 'processing'])
/** Whatever else is said of an import, it may still land. */
const OVER_STATUSES: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled'])

export interface ImportsOptions {
  readonly api: BrevoApi
  readonly options: BrevoObjectOptions
  /** What this writer sent in an import; null: it did not. */
  sentIn(jobId: string): SentAddresses
}

export function createBrevoImports(given: ImportsOptions): ImportJobs {
  const { api, options } = given
  const { importPollMs, importPatienceMs, requestDeadlineMs } = options
  const ask = (path: string, signal: AbortSignal) =>
    api.ask({ path, signal, deadlineMs: requestDeadlineMs, atMostMs: importPollMs })
  const find = async (signal: AbortSignal): Promise<FoundImport> => {
    const open = readOpenImports(await ask(PROCESS_LIST_PATH, signal))
    if ('kind' in open) {
      return open
    }
    return open.length > 0 ? unknown(describeOpen(open)) : { kind: 'absent' }
  }
  return {
    pollMs: importPollMs,
    patienceMs: importPatienceMs,
    object: PROCESSES_PATH,
    find: ({ signal }) => find(signal),
    check: async ({ jobId, deliveryKeys, signal }) => {
      const reply = await ask(`${PROCESSES_PATH}/${encodeURIComponent(jobId)}`, signal)
      switch (reply.kind) {
        case 'told':
          return await readState(given, { process: reply.body, jobId, deliveryKeys, signal })
        case 'unknown':
          return withoutWait(reply)
        default: {
          const found = await find(signal)
          const reason = `Brevo does not know the import ${jobId} any more.`
          return found.kind === 'unknown' ? found : { kind: 'lost', reason }
        }
      }
    },
  }
}

/** The ids of the imports that are open in the account, or why they are not known. */
export function readOpenImports(reply: BrevoReply): readonly string[] | Unanswered {
  if (reply.kind !== 'told') {
    return reply.kind === 'absent' ? unknown(reply.reason, 'node_failed') : withoutWait(reply)
  }
  const { processes } = reply.body
  // An account that has never had a process lists none.
  if (processes !== undefined && processes !== null && !Array.isArray(processes)) {
    return unknown('GET /processes did not list the processes of the account.', 'node_failed')
  }
  const listed: readonly unknown[] = Array.isArray(processes) ? processes : []
  return listed
    .filter(isJsonObject)
    .filter(isOpenImport)
    .map(({ id }) => String(id))
}

function isOpenImport({ name, status }: JsonObject): boolean {
  return String(name).startsWith('IMPORTUSER') && !OVER_STATUSES.has(status)
}

export function describeOpen(ids: readonly string[]): string {
  return `The import ${ids.join(', ')} of the account is open in Brevo, and nothing is imported beside it: what is stuck would land late, over what is newer. If it does not end by itself, let Brevo’s support cancel it.`
}

function withoutWait({ failure, reason }: Extract<BrevoReply, { kind: 'unknown' }>): Unanswered {
  return { kind: 'unknown', failure, reason }
}

interface Look {
  readonly process: JsonObject
  readonly jobId: string
  readonly deliveryKeys: readonly string[]
  readonly signal: AbortSignal
}

async function readState(given: ImportsOptions, look: Look): Promise<ImportState> {
  const { process, jobId, deliveryKeys } = look
  const { status } = process
  if (OPEN_STATUSES.has(status)) {
    return { kind: 'running' }
  }
  if (deliveryKeys.length === 0 && OVER_STATUSES.has(status)) {
    return { kind: 'finished', outcomes: [] } // who asks only wants to know whether it is over
  }
  switch (status) {
    case 'completed':
      return await readCompleted(given, look)
    case 'failed':
    case 'cancelled':
      // Its first rows may have landed.
      return allAre(
        deliveryKeys,
        unknown(`Brevo ended the import ${jobId} as ${status}, and does not say why.`),
      )
    default:
      return unknown(`Brevo says of the import ${jobId} no status that it may have.`, 'node_failed')
  }
}

async function readCompleted(given: ImportsOptions, look: Look): Promise<ImportState> {
  const { api, options } = given
  const { process, jobId, deliveryKeys, signal } = look
  const sent = given.sentIn(jobId)
  const files = findResultFiles(process, api.baseUrl)
  if (files === null) {
    // That a contact is there does not say that it was written: it may have been there before.
    const reason = `Brevo finished the import ${jobId} and says nothing of its rows. If that goes on, let the sync write with the path RECORD, which is answered for each contact.`
    return allAre(deliveryKeys, unknown(reason))
  }
  if (files === 'unsafe') {
    const reason = `Brevo links to results of the import ${jobId} that lie where they are not read from.`
    return allAre(deliveryKeys, unknown(reason))
  }
  if (files.length > 0 && sent === null) {
    const reason = `Brevo names rows of the import ${jobId} as wrong, and they cannot be told apart any more.`
    return allAre(deliveryKeys, unknown(reason))
  }
  const read: { kind: string; rows: readonly (readonly string[])[] }[] = []
  for (const file of files) {
    const call = { deadlineMs: options.requestDeadlineMs, signal }
    const rows = await downloadRows(api.client, file, call)
    if (typeof rows === 'string') {
      return unknown(rows)
    }
    read.push({ kind: file.kind, rows })
  }
  // Nothing was wrong with any of them: then it is not needed which were whose.
  return read.length === 0 || sent === null
    ? allAre(deliveryKeys, { kind: 'written', remoteId: null })
    : { kind: 'finished', outcomes: reconcile(deliveryKeys, sent, read) }
}

function allAre(deliveryKeys: readonly string[], outcome: Outcome): ImportState {
  return { kind: 'finished', outcomes: deliveryKeys.map(() => outcome) }
}
