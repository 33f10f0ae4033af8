/**
 * A PostgreSQL table changes while it is read: every version of a row that stands there at the end is delivered.
 *
 * A schedule is a sequence of what several people do to the table at once, each in a transaction that stays open for as
 * long as the schedule says, and of what one reader does: pages, ranges again, crashes that forget what was read
 * since the last checkpoint. It is carried out against a real server, and then the model asks: is the last version of
 * each row among what was delivered? The control reads without a horizon, as a plain watermark does, and loses some.
 */
import fc from 'fast-check'
import type postgres from 'postgres'
import { describe, expect, inject, it } from 'vitest'
import type { SourceReader } from '../../src/connectors/source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import type { SourceRecord } from '../../src/domain/page.ts'
import { openPostgresStream } from '../support/postgres-streams.ts'
import { type PostgresWorld, usePostgresWorld } from '../support/postgres-world.ts'

const SCHEDULES = inject('isExhaustive') ? 1_000 : 40
const WRITERS = 3
const IDS = 8
const TIMEOUT_MS = inject('isExhaustive') ? 900_000 : 60_000

type Step =
  | {
      readonly kind: 'write'
      readonly writer: number
      readonly id: number
      readonly what: 'put' | 'delete'
    }
  /** Begins and looks, so that its time stands, and writes nothing yet. */
  | { readonly kind: 'think'; readonly writer: number }
  | { readonly kind: 'end'; readonly writer: number; readonly how: 'commit' | 'rollback' }
  | { readonly kind: 'read'; readonly size: number }
  | { readonly kind: 'readAgain'; readonly page: number }
  /** Between a page and its checkpoint: the next reader begins in front of it. */
  | { readonly kind: 'crash' }

const writer = fc.nat(WRITERS - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      writer,
      id: fc.nat(IDS - 1),
      what: fc.constantFrom('put' as const, 'put' as const, 'put' as const, 'delete' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('think' as const), writer }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      writer,
      how: fc.constantFrom('commit' as const, 'commit' as const, 'rollback' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      size: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('readAgain' as const), page: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'crash' as const }) },
)
const schedules = fc.array(step, { minLength: 8, maxLength: 40 })

const world = usePostgresWorld()

/** What one transaction writes has one mark: rows are tied. */
const KINDS = {
  LAG: {
    columns: 'id int primary key, version int not null, updated_at timestamptz not null',
    mark: 'now()',
    options: { lagMs: 0 },
  },
  XID: {
    columns: 'id int primary key, version int not null, updated_at xid8 not null',
    mark: 'pg_current_xact_id()',
    options: {},
  },
  IGNORE: {
    columns: 'id int primary key, version int not null, updated_at timestamptz not null',
    mark: 'now()',
    options: { lateCommits: 'IGNORE' },
  },
} as const

interface Kind {
  readonly columns: string
  readonly mark: string
  readonly options: JsonObject
}

/** The versions that stood in the table at the end and were never delivered. */
async function carryOut(
  steps: readonly Step[],
  kind: Kind,
  hands: readonly postgres.ReservedSql[],
): Promise<readonly string[]> {
  const stage = await Stage.open(world(), kind, hands)
  try {
    for (const one of steps) {
      await stage.take(one)
    }
    return await stage.finish()
  } finally {
    await stage.close()
  }
}

interface Page {
  readonly from: string
  readonly to: string
}

class Stage {
  readonly #world: PostgresWorld
  readonly #kind: Kind
  readonly #table: string
  readonly #hands: readonly postgres.ReservedSql[]
  /** What each writer's transaction holds; a row that another one holds is not written: it would wait. */
  readonly #held = new Map<number, number>()
  readonly #isOpen: boolean[] = []
  readonly #delivered = new Set<string>()
  readonly #pages: Page[] = []
  #reader: SourceReader | null = null
  #cursor: string | null = null
  #versions = 0

  private constructor(
    at: PostgresWorld,
    kind: Kind,
    table: string,
    hands: readonly postgres.ReservedSql[],
  ) {
    this.#world = at
    this.#kind = kind
    this.#table = table
    this.#hands = hands
  }

  static async open(
    at: PostgresWorld,
    kind: Kind,
    hands: readonly postgres.ReservedSql[],
  ): Promise<Stage> {
    const table = at.nextName()
    await at.run(
      `create table ${table} (${kind.columns}); create index on ${table} (updated_at, id)`,
    )
    return new Stage(at, kind, table, hands)
  }

  async take(one: Step): Promise<void> {
    switch (one.kind) {
      case 'think':
        await this.#begin(one.writer)
        return
      case 'write':
        await this.#write(one)
        return
      case 'end':
        await this.#end(one.writer, one.how)
        return
      case 'read':
        await this.#read(one.size)
        return
      case 'readAgain':
        await this.#readAgain(one.page)
        return
      case 'crash':
        await this.#reader?.close()
        this.#reader = null
        this.#cursor = this.#pages.at(-1)?.from ?? null
        return
    }
  }

  /** Everybody commits, the reader reads to the end, and what is there is compared. */
  async finish(): Promise<readonly string[]> {
    for (let index = 0; index < WRITERS; index += 1) {
      await this.#end(index, 'commit')
    }
    await this.#world.othersEnded()
    while (await this.#read(2)) {
      // To the end.
    }
    const rows = await this.#world.run(`select id, version from ${this.#table}`)
    return rows
      .map((row) => `${row['id']}:${row['version']}`)
      .filter((row) => !this.#delivered.has(row))
  }

  async close(): Promise<void> {
    await this.#reader?.close()
    for (let index = 0; index < WRITERS; index += 1) {
      await this.#end(index, 'rollback')
    }
    await this.#world.run(`drop table ${this.#table}`)
  }

  async #begin(index: number): Promise<void> {
    if (!this.#isOpen[index]) {
      await this.#hands[index]?.unsafe('begin')
      await this.#hands[index]?.unsafe('select now()')
      this.#isOpen[index] = true
    }
  }

  async #write({ writer: index, id, what }: Extract<Step, { kind: 'write' }>): Promise<void> {
    const holder = this.#held.get(id)
    if (holder !== undefined && holder !== index) {
      return
    }
    await this.#begin(index)
    this.#held.set(id, index)
    this.#versions += 1
    await this.#hands[index]?.unsafe(
      what === 'delete'
        ? `delete from ${this.#table} where id = ${id}`
        : `insert into ${this.#table} values (${id}, ${this.#versions}, ${this.#kind.mark})
           on conflict (id) do update set version = excluded.version, updated_at = excluded.updated_at`,
    )
  }

  async #end(index: number, how: 'commit' | 'rollback'): Promise<void> {
    if (this.#isOpen[index]) {
      await this.#hands[index]?.unsafe(how)
      this.#isOpen[index] = false
      for (const [id, holder] of this.#held) {
        if (holder === index) {
          this.#held.delete(id)
        }
      }
    }
  }

  async #read(size: number): Promise<boolean> {
    this.#reader ??= await openPostgresStream(
      this.#world,
      `public.${this.#table}`,
      this.#kind.options,
    )
    const read = await this.#reader.readPage({ from: this.#cursor, to: null, limit: size, signal })
    if (read.kind !== 'page') {
      return false
    }
    this.#deliver(read.records)
    this.#pages.push({ from: read.from, to: read.to })
    this.#cursor = read.to
    return true
  }

  async #readAgain(place: number): Promise<void> {
    const page = this.#pages[place % Math.max(this.#pages.length, 1)]
    if (page && this.#reader) {
      const read = await this.#reader.readPage({ ...page, limit: 1, signal })
      expect(read).toMatchObject({ kind: 'page', ...page })
      // Behind the cursor nothing appears that was not delivered from there.
      const found = read.kind === 'page' ? read.records.map(versionOf) : []
      expect(found.filter((version) => !this.#delivered.has(version))).toEqual([])
    }
  }

  #deliver(records: readonly SourceRecord[]): void {
    for (const record of records) {
      this.#delivered.add(versionOf(record))
    }
  }
}

function versionOf({ fields }: SourceRecord): string {
  return `${fields?.['id']}:${fields?.['version']}`
}

const { signal } = new AbortController()

async function withHands<T>(
  use: (hands: readonly postgres.ReservedSql[]) => Promise<T>,
): Promise<T> {
  const hands = await Promise.all(Array.from({ length: WRITERS }, () => world().sql.reserve()))
  try {
    return await use(hands)
  } finally {
    for (const hand of hands) {
      hand.release()
    }
  }
}

describe('a table that changes while it is read', () => {
  it.each(['LAG', 'XID'] as const)(
    'loses no version that stands at the end (%s)',
    (name) =>
      withHands((hands) =>
        fc.assert(
          fc.asyncProperty(schedules, async (steps) => {
            expect(await carryOut(steps, KINDS[name], hands)).toEqual([])
          }),
          { numRuns: SCHEDULES / 2 },
        ),
      ),
    TIMEOUT_MS,
  )

  it(
    'does lose some to a plain watermark: the control finds a counterexample',
    () =>
      withHands(async (hands) => {
        const found = await fc.check(
          fc.asyncProperty(schedules, async (steps) => {
            expect(await carryOut(steps, KINDS.IGNORE, hands)).toEqual([])
          }),
          { numRuns: 200, endOnFailure: true },
        )
        expect(found.failed).toBe(true)
      }),
    TIMEOUT_MS,
  )
})
