/**
 * A source whose rows a test changes while they are read: a table paged by (rank), as a database is.
 *
 * Its cursor is the rank behind which to read on, so that rows that move, appear or vanish behave as they
 * do in a table that is ordered by its time of change.
 */
import { z } from 'zod'
import type { ReadResult, SourceConnector, SourceReader } from '../../src/connectors/source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { MAX_PAGE_RECORDS, type SourceRecord } from '../../src/domain/page.ts'

export interface ScriptedRow {
  readonly identity: string
  readonly rank: number
  readonly fields: JsonObject
  readonly problem?: string
}

export interface ScriptedSource extends SourceConnector {
  /** By identity; changed at will. */
  readonly rows: Map<string, ScriptedRow>
  /** Cursors from which pages were read, in order. */
  readonly reads: readonly (string | null)[]
  put(row: ScriptedRow): void
  /** Every bounded read from now on finds its range gone. */
  forgetRanges(): void
  /** Reads throw this from now on; null: they work again. */
  failWith(error: Error | null): void
}

const anySettings = z.record(z.string(), z.any()) as unknown as z.ZodType<JsonObject>

export function createScriptedSource(rows: readonly ScriptedRow[] = []): ScriptedSource {
  const table = new Map(rows.map((row) => [row.identity, row]))
  const reads: (string | null)[] = []
  let hasRanges = true
  let broken: Error | null = null
  const read = (from: string | null, to: string | null, limit: number): ReadResult => {
    reads.push(from)
    if (broken) {
      throw broken
    }
    if (to !== null && !hasRanges) {
      return { kind: 'gone', reason: 'The rows were thrown away.' }
    }
    const found = rowsBetween(table, Number(from ?? '-1'), Number(to ?? 'Infinity')).slice(
      0,
      to === null ? limit : MAX_PAGE_RECORDS,
    )
    const last = found.at(-1)
    if (!last && to === null) {
      return { kind: 'end' }
    }
    return {
      kind: 'page',
      from: from ?? '-1',
      to: to ?? String(last?.rank),
      records: found.map(toRecord),
    }
  }
  const reader: SourceReader = {
    readPage: async ({ from, to, limit, signal }) => {
      signal.throwIfAborted()
      return await Promise.resolve().then(() => read(from, to, limit))
    },
    totalRecords: null,
    listFields: () => Promise.resolve(null),
    close: () => Promise.resolve(),
  }
  return {
    type: 'scripted',
    connectionConfig: anySettings,
    credentials: anySettings,
    streamOptions: anySettings,
    testConnection: () => Promise.resolve(),
    describeStreamProblem: () => Promise.resolve(null),
    listFields: () => Promise.resolve(null),
    open: () => Promise.resolve(reader),
    rows: table,
    reads,
    put: (row) => {
      table.set(row.identity, row)
    },
    forgetRanges: () => {
      hasRanges = false
    },
    failWith: (error) => {
      broken = error
    },
  }
}

/** Rows `r0`, `r1`, … of rank 0, 1, …, each with its identity as its e-mail's local part. */
export function scriptedRows(count: number): ScriptedRow[] {
  return Array.from({ length: count }, (_, rank) => scriptedRow(`r${rank}`, rank))
}

export function scriptedRow(identity: string, rank: number, note = ''): ScriptedRow {
  return { identity, rank, fields: { email: `${identity}@example.com`, note } }
}

function rowsBetween(
  table: ReadonlyMap<string, ScriptedRow>,
  after: number,
  upTo: number,
): ScriptedRow[] {
  return [...table.values()]
    .filter((row) => row.rank > after && row.rank <= upTo)
    .sort((a, b) => a.rank - b.rank)
}

function toRecord(row: ScriptedRow): SourceRecord {
  return row.problem === undefined
    ? { identity: row.identity, fields: row.fields }
    : { identity: row.identity, problem: row.problem }
}
