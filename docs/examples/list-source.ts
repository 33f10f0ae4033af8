/**
 * The `list` source: one address whose answer is the whole list, as a JSON array.
 *
 * Invariant: a cursor is known as long as the list is the one that it was made for. A changed list is read from its
 * beginning, as another generation: one that goes back to what it was is written again, too.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { FREE_GATE, type OpenGate } from '../../src/connectors/call-gate.ts'
import { ConnectorError, type OpenConnection } from '../../src/connectors/connector.ts'
import { classifyResult, classifyStatus } from '../../src/connectors/http-answer.ts'
import type { HttpClient } from '../../src/connectors/http-client.ts'
import { noSettings, settingsObject, textSetting } from '../../src/connectors/settings.ts'
import type { ReadRequest, ReadResult, SourceConnector } from '../../src/connectors/source.ts'
import { describeUnfitRecord, keepDigits } from '../../src/connectors/sources/exact-json.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/domain/json.ts'
import type { SourceRecord } from '../../src/domain/page.ts'

const connectionConfig = settingsObject({
  url: textSetting('url', 2_000).refine((url) => URL.canParse(url), {
    error: 'url is no address.',
  }),
})
const streamOptions = settingsObject({ identityField: textSetting('identityField', 200) })

const cursorShape = z.strictObject({ generation: z.int(), digest: z.string(), index: z.int() })
type Cursor = z.infer<typeof cursorShape>

interface List {
  readonly rows: readonly JsonValue[]
  readonly digest: string
  readonly text: string
}

export interface ListSourceParts {
  readonly client: HttpClient
  readonly openGate?: OpenGate
}

export function createListSource({
  client,
  openGate = () => FREE_GATE,
}: ListSourceParts): SourceConnector {
  /** One request, with a deadline, a signal and a longest answer; whatever is no list is an error, never the end. */
  const fetchList = async (request: OpenConnection, signal: AbortSignal): Promise<List> => {
    const url = new URL(connectionConfig.parse(request.config).url)
    const gate = openGate({ connectionId: request.connectionId, host: url.host })
    signal.throwIfAborted()
    await gate.enter([], { signal, atMostMs: 60_000 })
    const result = await client.send({
      ...{ method: 'GET', url, headers: {}, body: '', deadlineMs: 30_000, signal, gate },
      beforeSend: () => undefined,
    })
    signal.throwIfAborted()
    if (result.kind !== 'response') {
      const { failure, reason } = classifyResult(result)
      throw new ConnectorError(failure, reason)
    }
    const endpoint = `GET ${url.pathname}`
    const verdict = classifyStatus(result, { endpoint, isIdempotent: true, speaker: 'The list' })
    if (verdict.kind !== 'ok' || !Array.isArray(result.json)) {
      const failure = 'failure' in verdict ? verdict.failure : 'node_failed'
      const reason = 'reason' in verdict ? verdict.reason : `To ${endpoint}: the answer is no list.`
      throw new ConnectorError(failure, reason, { retryAfterMs: result.retryAfterMs })
    }
    const text = result.bodyText
    const digest = createHash('sha256').update(text).digest('hex')
    // Numbers that JavaScript would round stay texts.
    return { rows: keepDigits(result.json, text) as JsonValue[], digest, text }
  }
  return {
    type: 'list',
    connectionConfig,
    credentials: noSettings,
    streamOptions,
    testConnection: async (request) => void (await fetchList(request, request.signal)),
    describeStreamProblem: async (stream) =>
      stream === 'all' ? null : 'The stream must be "all".',
    listFields: async () => null,
    open: async (request) => ({
      totalRecords: null,
      listFields: async () => null,
      readPage: async (read) =>
        takePage(await fetchList(request, read.signal), read, request.options),
      close: async () => undefined,
    }),
  }
}

function takePage(list: List, { from, to, limit }: ReadRequest, options: JsonObject): ReadResult {
  const start = findStart(list, from === null ? null : readCursor(from))
  const end = to === null ? null : readCursor(to)
  if (end !== null && (end.generation !== start.generation || end.digest !== list.digest)) {
    return { kind: 'gone', reason: 'The list is another one than when the page was read.' }
  }
  const rows = list.rows.slice(start.index, end === null ? start.index + limit : end.index)
  if (rows.length === 0) {
    return { kind: 'end' }
  }
  const { identityField } = streamOptions.parse(options)
  const records = rows.map((row, at) =>
    nameRow(row, `row ${start.index + at + 1}`, list, identityField),
  )
  const next = { ...start, index: start.index + rows.length }
  return { kind: 'page', from: JSON.stringify(start), to: JSON.stringify(next), records }
}

/** The generation is counted and never derived from the list: see ADR 1. */
function findStart({ digest }: List, cursor: Cursor | null): Cursor {
  return cursor?.digest === digest
    ? cursor
    : { generation: cursor === null ? 0 : cursor.generation + 1, digest, index: 0 }
}

function readCursor(text: string): Cursor {
  const parsed = cursorShape.safeParse(JSON.parse(text))
  if (!parsed.success) {
    throw new ConnectorError('node_failed', 'The cursor is not one of a list; reset the cursor.')
  }
  return parsed.data
}

/** A row that is no record, or cannot be stored, costs itself and not its page. */
function nameRow(row: JsonValue, place: string, list: List, identityField: string): SourceRecord {
  const unfit = describeUnfitRecord(row, list.text)
  const name = isJsonObject(row) ? row[identityField] : null
  if (
    unfit !== null ||
    !isJsonObject(row) ||
    (typeof name !== 'string' && typeof name !== 'number')
  ) {
    return { identity: place, problem: `${place}: ${unfit ?? `has no ${identityField}`}` }
  }
  return { identity: String(name), fields: row }
}
