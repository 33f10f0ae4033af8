/**
 * Reads one table or query of a PostgreSQL server page by page.
 *
 * Invariants: each page is read in a read-only transaction of its own, none is open between two pages. Nothing at or
 * past the horizon is read (horizon.ts), so a row that is committed late still lies behind the cursor. The end is told
 * only after a read that asked for a horizon of its own found nothing, and no row was found that no read would
 * give. What a read is told twice (a connection that broke, a conflict with the server's own recovery) it asks again:
 * it changes nothing.
 */

import type { JsonValue } from '../../../domain/json.ts'
import { MAX_PAGE_RECORDS, type SourceRecord } from '../../../domain/page.ts'
import { assert } from '../../../runtime/assert.ts'
import type { CallGate } from '../../call-gate.ts'
import { ConnectorError } from '../../connector.ts'
import type { Bounds } from '../../postgres-catalogue.ts'
import { asConnectorError, DeadlinePassedError, PostgresFault } from '../../postgres-faults.ts'
import type { PostgresSession, TextRow } from '../../postgres-session.ts'
import type { ReadRequest, ReadResult, SourceReader } from '../../source.ts'
import { type ColumnForm, UnreadableValueError } from './column-values.ts'
import { cursorText, type PostgresCursor, parseCursor } from './postgres-cursor.ts'
import type { PostgresStreamOptions } from './stream-options.ts'
import { refuseStray, type StreamPlan } from './stream-plan.ts'

/** A page ends early past so many characters, so that 10,000 large rows do not fill the memory. */
const MAX_PAGE_CHARACTERS = 16 * 1024 * 1024
/** Rows of one answer: what comes past the bound above is at most so much. */
const ROWS_PER_STATEMENT = 1_000
/** A range holds what was read of it and what was put there since. */
const MAX_RANGE_RECORDS = 10 * MAX_PAGE_RECORDS
/** Tries of a read that ends for a reason that passes. */
const MAX_TRIES = 3
/** Passing reasons: the connection stood idle and is gone; a conflict or deadlock; a standby that had to go on. */
const PASSING = /^(?:CONNECTION_|ECONNRESET$|EPIPE$|40001$|40P01$|57P01$)/
/** Beside what the server is given: for the way there and back. */
const WAY_MS = 5_000
/** For a connection that is held up: another process may be trying whether the server is back. */
const GATE_MS = 60_000

export interface PostgresReaderOptions {
  readonly plan: StreamPlan
  readonly options: PostgresStreamOptions
  readonly gate: CallGate
  /** The session in which the plan was made. */
  readonly session: PostgresSession
  openSession(signal: AbortSignal): Promise<PostgresSession>
}

interface Found {
  readonly rows: readonly TextRow[]
  /** Whether the read was ended by a bound, and more may lie behind it. */
  readonly isCut: boolean
}

interface Range {
  readonly start: readonly string[] | null
  readonly end: readonly string[] | null
  readonly horizon: string | null
  readonly limit: number
}

export class PostgresReader implements SourceReader {
  /** The server has an estimate only, which may be a day old. */
  readonly totalRecords = null
  readonly #options: PostgresReaderOptions
  #session: PostgresSession
  /** An old one is as good, as it only holds more back. */
  #horizon: string | null = null

  constructor(options: PostgresReaderOptions) {
    this.#options = options
    this.#session = options.session
  }

  listFields(): Promise<readonly string[]> {
    return Promise.resolve(this.#options.plan.columns.map(({ name }) => name))
  }

  async readPage(request: ReadRequest): Promise<ReadResult> {
    const { limit, signal } = request
    assert(limit >= 1 && limit <= MAX_PAGE_RECORDS, `A page has 1 to ${MAX_PAGE_RECORDS} records.`)
    signal.throwIfAborted()
    const from = this.#resolve(request.from === null ? null : parseCursor(request.from))
    const to = request.to === null ? null : parseCursor(request.to)
    await this.#options.gate.enter([], { signal, atMostMs: GATE_MS })
    return await this.#untilDone(signal, () =>
      to === null ? this.#readOn(from, limit, signal) : this.#readRange(request, from, to),
    )
  }

  async close(): Promise<void> {
    await this.#session.close()
  }

  /** Where the stream is another one by now, it is read from its first row, in the next generation. */
  #resolve(cursor: PostgresCursor | null): PostgresCursor {
    const { digest: stream } = this.#options.plan
    if (cursor !== null && this.#isOurs(cursor)) {
      return cursor
    }
    const generation = cursor === null ? 0 : cursor.generation + 1
    return { version: 1, stream, generation, behind: null }
  }

  #isOurs({ stream, behind }: PostgresCursor): boolean {
    const { digest, places } = this.#options.plan
    return stream === digest && (behind === null || behind.length === places.length)
  }

  /** Ids behind a place that the server has not come to are given anew, and would never be read. */
  async #startOverWhenForeign(cursor: PostgresCursor, bounds: Bounds): Promise<PostgresCursor> {
    const { foreignText } = this.#options.plan.horizon
    const [place] = cursor.behind ?? []
    if (foreignText === null || place === undefined) {
      return cursor
    }
    const [row] = await this.#session.query({ ...bounds, text: foreignText, values: [place] })
    return row?.[0] === 't'
      ? { ...cursor, generation: cursor.generation + 1, behind: null }
      : cursor
  }

  async #readOn(resolved: PostgresCursor, limit: number, signal: AbortSignal): Promise<ReadResult> {
    const bounds = this.#bounds(signal)
    const from = await this.#startOverWhenForeign(resolved, bounds)
    for (;;) {
      const isFresh = this.#horizon === null
      this.#horizon ??= (await this.#options.plan.horizon.ask?.(this.#session, bounds)) ?? null
      const range = { start: from.behind, end: null, horizon: this.#horizon, limit }
      const { rows, isCut } = await this.#read(range, signal)
      if (rows.length > 0 && (isCut || isFresh || this.#horizon === null)) {
        return this.#toPage(from, rows)
      }
      if (isFresh) {
        // Read again with the next page: more may be in front of it by then.
        this.#horizon = null
        await this.#refuseStray(signal)
        return { kind: 'end' }
      }
      this.#horizon = null
    }
  }

  async #readRange(
    { from: asked, signal }: ReadRequest,
    from: PostgresCursor,
    to: PostgresCursor,
  ): Promise<ReadResult> {
    const isKnown =
      (asked === null || this.#isOurs(parseCursor(asked))) &&
      this.#isOurs(to) &&
      to.generation === from.generation
    if (!isKnown || to.behind === null) {
      return {
        kind: 'gone',
        reason: 'The page was read from another table or query, or in another order.',
      }
    }
    const range = { start: from.behind, end: to.behind, horizon: null, limit: MAX_RANGE_RECORDS }
    const { rows, isCut } = await this.#read(range, signal)
    if (isCut) {
      throw new ConnectorError(
        'node_failed',
        `More than ${MAX_RANGE_RECORDS} rows lie where a page was read; reset the cursor of this sync to read them.`,
      )
    }
    return {
      kind: 'page',
      from: cursorText(from),
      to: cursorText(to),
      records: rows.map((row) => this.#toRecord(row)),
    }
  }

  /** In one transaction, as many statements as it takes. */
  async #read(range: Range, signal: AbortSignal): Promise<Found> {
    const bounds = this.#bounds(signal)
    const rows: TextRow[] = []
    let characters = 0
    await this.#session.query({ ...bounds, text: BEGIN })
    for (let start = range.start; ; start = this.#placeOf(rows.at(-1) ?? [])) {
      // One more shows whether the last row of a page has a twin, which would be lost behind the cursor.
      const wanted = Math.min(range.limit - rows.length + 1, ROWS_PER_STATEMENT)
      const found = await this.#ask({ ...range, start }, wanted, bounds)
      for (const row of found) {
        rows.push(row)
        characters += lengthOf(row)
      }
      this.#refuseTwins(rows, found.length)
      const isAll = found.length < wanted
      const isLarge = range.end === null && characters > MAX_PAGE_CHARACTERS
      if (isAll || isLarge || rows.length > range.limit) {
        await this.#session.query({ ...bounds, text: 'commit' })
        // A page that is cut keeps its last row for the next one, where it may find a twin.
        const isCut = !isAll && rows.length > 1
        return { rows: isCut ? rows.slice(0, -1) : rows, isCut }
      }
    }
  }

  #ask(range: Range, wanted: number, bounds: Bounds): Promise<readonly TextRow[]> {
    const { plan } = this.#options
    const { start, end, horizon } = range
    return this.#session.query({
      ...bounds,
      text: plan.readText({
        hasStart: start !== null,
        hasEnd: end !== null,
        hasHorizon: end === null,
        limit: wanted,
      }),
      values: [...(start ?? []), ...(end ?? []), ...(horizon === null ? [] : [horizon])],
    })
  }

  /** Twins follow each other: they have the same place. */
  #refuseTwins(rows: readonly TextRow[], added: number): void {
    if (this.#options.plan.isKeyUnique) {
      return
    }
    for (let index = Math.max(rows.length - added, 1); index < rows.length; index += 1) {
      const place = this.#placeOf(rows[index] ?? [])
      const before = this.#placeOf(rows[index - 1] ?? [])
      if (place.every((value, at) => value === before[at])) {
        throw new ConnectorError(
          'node_failed',
          'Two rows have the same values in cursorColumn and keyColumns; keyColumns must name what no two rows share.',
        )
      }
    }
  }

  async #refuseStray(signal: AbortSignal): Promise<void> {
    const { plan, options } = this.#options
    refuseStray(await countStray(this.#session, plan, this.#bounds(signal)), options)
  }

  #toPage(from: PostgresCursor, rows: readonly TextRow[]): ReadResult {
    const behind = this.#placeOf(rows.at(-1) ?? [])
    return {
      kind: 'page',
      from: cursorText(from),
      to: cursorText({ ...from, behind }),
      records: rows.map((row) => this.#toRecord(row)),
    }
  }

  /** The texts as they came: before a mapping's form was made of them. */
  #placeOf(row: TextRow): readonly string[] {
    return this.#options.plan.places.map((index) => row[index] ?? '')
  }

  #toRecord(row: TextRow): SourceRecord {
    const { columns } = this.#options.plan
    const [, ...key] = this.#placeOf(row)
    const identity = key.length === 1 ? (key[0] ?? '') : JSON.stringify(key)
    const fields: Record<string, JsonValue> = {}
    for (const [index, { name, form }] of columns.entries()) {
      const value = readValue(form, row[index] ?? null)
      if (value instanceof UnreadableValueError) {
        return { identity, problem: `The column ${name} ${value.message}.` }
      }
      put(fields, name, value)
    }
    return { identity, fields }
  }

  async #untilDone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        if (!this.#session.isUsable) {
          await this.#session.close()
          this.#session = await this.#options.openSession(signal)
        }
        const done = await work()
        await this.#options.gate.note('answered')
        return done
      } catch (error) {
        // Whatever was under way, the transaction must not stay open.
        this.#session.destroy()
        this.#horizon = null
        signal.throwIfAborted()
        if (!(error instanceof PostgresFault && PASSING.test(error.code) && tries < MAX_TRIES)) {
          await this.#noteDeath(error)
          throw asConnectorError(error)
        }
      }
    }
  }

  async #noteDeath(error: unknown): Promise<void> {
    if (
      error instanceof DeadlinePassedError ||
      (error instanceof PostgresFault && !error.isAnswer)
    ) {
      await this.#options.gate.note('dead')
    }
  }

  #bounds(signal: AbortSignal): Bounds {
    return readBounds(this.#options.options, signal)
  }
}

export function readBounds(options: PostgresStreamOptions, signal: AbortSignal): Bounds {
  return { signal, deadlineMs: options.statementTimeoutMs + WAY_MS }
}

export async function countStray(
  session: PostgresSession,
  { strayText }: StreamPlan,
  bounds: Bounds,
): Promise<number> {
  if (strayText === null) {
    return 0
  }
  await session.query({ ...bounds, text: BEGIN })
  const [row] = await session.query({ ...bounds, text: strayText })
  await session.query({ ...bounds, text: 'commit' })
  return Number(row?.[0] ?? 0)
}

/** To a member that every object has by birth an assignment is not a member. */
function put(fields: Record<string, JsonValue>, name: string, value: JsonValue): void {
  if (name === '__proto__') {
    Object.defineProperty(fields, name, { value, enumerable: true })
  } else {
    fields[name] = value
  }
}

function readValue(form: ColumnForm, text: string | null): JsonValue | UnreadableValueError {
  if (text === null) {
    return null
  }
  try {
    return form.read(text)
  } catch (error) {
    if (error instanceof UnreadableValueError) {
      return error
    }
    throw error
  }
}

/**
 * One snapshot for all statements of a page. Read-only is said each time: a function in somebody's query may change the
 * session's default, but not the transaction that it runs in.
 */
const BEGIN = 'begin transaction isolation level repeatable read read only'

function lengthOf(row: TextRow): number {
  let length = 0
  for (const value of row) {
    length += value === null ? 0 : value.length
  }
  return length
}
