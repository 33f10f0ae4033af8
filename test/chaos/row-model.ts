/**
 * The rows of a file as records, and where each of them is: delivered, held, in doubt, overtaken, set aside, missing.
 *
 * By the auditor's own means: its own parsing, its own mapping. Invariant: a row is only called held or in
 * doubt where the database names its page and position, or that of a row it shares its identity with; and no
 * more rows are called set aside than the list has.
 */
import { parse } from 'csv-parse/sync'
import type { Effect, Evidence, MappedRecord } from './evidence.ts'

export interface ModelRow {
  readonly index: number
  readonly contact: string
  readonly content: string
  readonly record: MappedRecord
  state: 'delivered' | 'held' | 'in_doubt' | 'overtaken' | 'set_aside' | 'missing'
}

export class RowModel {
  readonly rows: readonly ModelRow[]
  readonly #evidence: Evidence
  /** The contents and names that are in doubt: nothing of theirs is sent. */
  readonly #doubtful = new Set<string>()
  /** Those that an intent names. */
  readonly #reserved = new Set<ModelRow>()
  /** By name the last row that was delivered. */
  readonly #latest = new Map<string, number>()
  /** Where each open page begins. */
  readonly #openPages: ReadonlyMap<string, number>
  /** By content: its rows, its effects, its completed keys. */
  readonly rowsOf: ReadonlyMap<string, readonly ModelRow[]>
  readonly effectsOf: ReadonlyMap<string, readonly Effect[]>
  readonly completedOf: ReadonlyMap<string, number>
  readonly contentOfKey: ReadonlyMap<string, string>

  constructor(evidence: Evidence) {
    this.#evidence = evidence
    this.#openPages = new Map(
      evidence.openPages.map((page) => [page.pageDigest, readCursor(page.fromCursor).record]),
    )
    this.rows = readRows(evidence.fileText)
    this.rowsOf = groupBy(this.rows, (row) => row.content)
    this.effectsOf = groupBy(evidence.effects, (effect) => canonical(effect.record))
    this.contentOfKey = new Map(evidence.effects.map((e) => [e.key, canonical(e.record)]))
    const completed = new Map<string, number>()
    for (const key of evidence.ledgerKeys) {
      const content = this.contentOfKey.get(key)
      if (content !== undefined) {
        completed.set(content, (completed.get(content) ?? 0) + 1)
      }
    }
    this.completedOf = completed
    this.#judgeRows()
  }

  /** It shares its content or name with a record in doubt. */
  isDoubtful(row: ModelRow): boolean {
    return this.#doubtful.has(row.content) || this.#doubtful.has(this.nameOf(row.record))
  }

  /** A later row of its name has been delivered. */
  isOvertaken(row: ModelRow): boolean {
    return (this.#latest.get(this.nameOf(row.record)) ?? -1) > row.index
  }

  #judgeRows(): void {
    for (const { pageDigest, position } of this.#evidence.held) {
      this.#mark(pageDigest, position, 'held')
    }
    this.#markReserved()
    this.#markDelivered()
    for (const row of this.rows) {
      if (row.state !== 'missing') {
        continue
      }
      if (this.isDoubtful(row)) {
        row.state = 'in_doubt'
      } else if (this.#evidence.wasRefused(row.record) && this.isOvertaken(row)) {
        row.state = 'overtaken'
      }
    }
    this.#markSetAside()
  }

  /**
   * Of the rows that were refused and are nowhere else, as many as the list has. If it has more, some share
   * their identity with a record that came into doubt later.
   */
  #markSetAside(): void {
    const refused = this.rows.filter((row) => this.#evidence.wasRefused(row.record))
    const candidates = [
      ...refused.filter((row) => row.state === 'missing'),
      ...refused.filter((row) => row.state === 'in_doubt' && !this.#reserved.has(row)),
    ]
    for (const row of candidates.slice(0, this.#evidence.setAside)) {
      row.state = 'set_aside'
    }
  }

  #markReserved(): void {
    for (const { pageDigest, positions } of this.#evidence.intents) {
      for (const position of positions) {
        const row = this.#mark(pageDigest, position, 'in_doubt')
        if (row) {
          this.#reserved.add(row)
          this.#doubtful.add(row.content)
          this.#doubtful.add(this.nameOf(row.record))
        }
      }
    }
  }

  #markDelivered(): void {
    this.#markDeliveredOfOpenPages()
    for (const [content, rows] of this.rowsOf) {
      const delivered = rows.filter((row) => row.state === 'delivered').length
      const left = (this.completedOf.get(content) ?? 0) - delivered
      for (const row of rows.filter((one) => one.state === 'missing').slice(0, left)) {
        row.state = 'delivered'
      }
    }
    for (const row of this.rows.filter(({ state }) => state === 'delivered')) {
      this.#latest.set(this.nameOf(row.record), row.index)
    }
  }

  /** Of an open page it is known which of several equal rows was delivered: the key tells its position. */
  #markDeliveredOfOpenPages(): void {
    for (const key of this.#evidence.ledgerKeys) {
      const position = Number.parseInt(key.slice(32, 40), 16)
      const row = this.#find(key.slice(0, 32), position)
      if (row?.state === 'missing' && row.content === this.contentOfKey.get(key)) {
        row.state = 'delivered'
      }
    }
  }

  #mark(pageDigest: string, position: number, state: ModelRow['state']): ModelRow | null {
    const row = this.#find(pageDigest, position)
    if (row) {
      row.state = state
    }
    return row
  }

  /** The row at a position of an open page: the file's rows stand in their order. */
  #find(pageDigest: string, position: number): ModelRow | null {
    const from = this.#openPages.get(pageDigest)
    return from === undefined ? null : (this.rows[from + position] ?? null)
  }

  /** By what the destination knows a record. */
  nameOf(record: MappedRecord): string {
    return String(this.#evidence.isContactKnown ? record['contact'] : record['id'])
  }
}

function readRows(fileText: string): readonly ModelRow[] {
  const rows = parse(fileText, { columns: true }) as Readonly<Record<string, string>>[]
  return rows.map((row, index) => {
    const record = mapRow(row)
    const contact = String(record['contact'])
    return { index, contact, record, content: canonical(record), state: 'missing' }
  })
}

/** The mapping of plan.ts, once more and by other means. */
function mapRow(row: Readonly<Record<string, string>>): MappedRecord {
  return {
    contact: row['contact'],
    email: row['email']?.toLowerCase(),
    id: row['id'],
    label: `${row['first']} ${row['last']}`,
    note: row['note'],
    origin: 'chaos',
  }
}

export function canonical(record: unknown): string {
  const entries = Object.entries(record as object).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(Object.fromEntries(entries))
}

/** The file source's cursor, as docs/connectors.md has it: a boundary between two records. */
export function readCursor(text: string | null): {
  readonly record: number
  readonly offset: number
} {
  const cursor = JSON.parse(text ?? '{}') as { record?: number; offset?: number }
  return { record: cursor.record ?? 0, offset: cursor.offset ?? 0 }
}

export function groupBy<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) {
      group.push(item)
    } else {
      groups.set(key, [item])
    }
  }
  return groups
}
