/**
 * The ledger against a bare insert of the same rows, on a private PostgreSQL: pages of 500, one run.
 *
 * The floor inserts the keys of a page with their results in one statement and knows nothing of intents,
 * pages or the fence. Ours stores the page, reads its completed keys, reserves and completes. The two
 * take turns, so that a noisy neighbour meets both.
 */
import { randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { complete, openPage } from '../../src/store/ledger.ts'
import type { RunHolder } from '../../src/store/run-ends.ts'
import { startPostgres } from '../support/services.ts'
import {
  newId,
  type SeededPage,
  type SeededSync,
  seedChunk,
  seedClaimedRun,
  seedPage,
  seedSync,
} from '../support/store-seed.ts'
import { median, report } from './figures.ts'

const PAGE_SIZE = 500
const PAGES_PER_ROUND = 40
const ROUNDS = 7
const SEEDED_KEYS = 2_000_000
const SEEDED_PER_STATEMENT = 100_000

export async function benchLedger(): Promise<boolean> {
  const server = await startPostgres({ isOwn: true })
  try {
    const database = await openDatabase({
      at: { url: server.url },
      maxConnections: 4,
      applicationName: 'tajo-sync bench',
    })
    try {
      return await measure(database)
    } finally {
      await database.close()
    }
  } finally {
    await server.stop()
  }
}

async function measure(database: Database): Promise<boolean> {
  const sync = await seedSync(database)
  const { holder } = await seedClaimedRun(database, sync)
  await measureRounds(database, sync, holder, 2) // warms both up
  const empty = await measureRounds(database, sync, holder, ROUNDS)
  await seedKeys(database)
  const full = await measureRounds(database, sync, holder, ROUNDS)
  tell('bare insert, empty ledger', empty.bare)
  tell('reserve + complete, empty ledger', empty.ours)
  tell('bare insert, 2 million keys', full.bare)
  tell('reserve + complete, 2 million keys', full.ours)
  return [
    report({
      bench: 'ledger',
      figure: 'reserve + complete to a bare insert of the same rows',
      value: empty.ours / empty.bare,
      unit: 'ratio',
      atLeast: 0.4,
    }),
    report({
      bench: 'ledger',
      figure: 'reserve + complete with 2 million keys to the empty ledger',
      value: full.ours / empty.ours,
      unit: 'ratio',
      atLeast: 0.8,
    }),
  ].every(Boolean)
}

function tell(figure: string, value: number): void {
  report({ bench: 'ledger', figure, value, unit: 'records/s' })
}

/** Records a second of the floor and of ours: the medians over rounds that take turns. */
async function measureRounds(
  database: Database,
  sync: SeededSync,
  holder: RunHolder,
  rounds: number,
): Promise<{ readonly bare: number; readonly ours: number }> {
  const bare: number[] = []
  const ours: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await rate(sync, (page) => insertBare(database, page)))
    ours.push(await rate(sync, (page) => reserveAndComplete(database, sync, holder, page)))
    await database.rows(sql`delete from open_page where sync_id = ${sync.syncId}`)
  }
  return { bare: median(bare), ours: median(ours) }
}

async function rate(
  sync: SeededSync,
  deliver: (page: SeededPage) => Promise<unknown>,
): Promise<number> {
  const pages = Array.from({ length: PAGES_PER_ROUND }, () => makePage(sync))
  const startedAt = performance.now()
  for (const page of pages) {
    await deliver(page)
  }
  return (PAGES_PER_ROUND * PAGE_SIZE * 1000) / (performance.now() - startedAt)
}

function makePage(sync: SeededSync): SeededPage {
  const from = newId()
  const values = Array.from({ length: PAGE_SIZE }, (_, n) => `${from}-${n}`)
  return seedPage(sync, { from, to: `${from}.`, values })
}

const chunks = new WeakMap<SeededPage, ReturnType<typeof seedChunk>>()

async function reserveAndComplete(
  database: Database,
  sync: SeededSync,
  holder: RunHolder,
  page: SeededPage,
): Promise<void> {
  const chunk = chunks.get(page) ?? seedChunk(sync, page)
  const opened = await openPage(database, {
    holder,
    page: page.page,
    chunk,
    resendsUnknown: true,
    retentionMs: LEDGER_RETENTION_MS,
  })
  if (!opened?.isReserved) {
    throw new Error('The page was not reserved.')
  }
  const isRecorded = await complete(database, {
    intentId: chunk.intentId,
    epoch: holder.epoch,
    written: chunk.positions.map((position, index) => ({ index, result: `remote-${position}` })),
    remaining: null,
    hasHeldRecords: false,
  })
  if (!isRecorded) {
    throw new Error('The chunk was not completed.')
  }
}

async function insertBare(database: Database, page: SeededPage): Promise<void> {
  const rows = page.values.map((value, position) => [
    `${page.page.pageDigest}${position.toString(16).padStart(8, '0')}${randomBytes(12).toString('hex')}`,
    `remote-${value.length}`,
  ])
  await database.rows(sql`/* bench.insertBare */
    insert into delivery (key, day, result)
    select decode(item ->> 0, 'hex'), (now() at time zone 'UTC')::date, item ->> 1
    from jsonb_array_elements(${JSON.stringify(rows)}::text::jsonb) as item`)
}

/** Keys of other pages, each page's side by side, as runs leave them. */
async function seedKeys(database: Database): Promise<void> {
  for (let done = 0; done < SEEDED_KEYS; done += SEEDED_PER_STATEMENT) {
    await database.rows(sql`/* bench.seedKeys */
      insert into delivery (key, day, result)
      select decode(md5((n / ${PAGE_SIZE})::text), 'hex') || int4send(n % ${PAGE_SIZE})
               || decode(left(md5('record' || n), 24), 'hex'),
             (now() at time zone 'UTC')::date, 'remote-' || n
      from generate_series(${done}::int, ${done + SEEDED_PER_STATEMENT - 1}::int) as n`)
  }
  await database.rows(sql`vacuum analyze delivery`)
}
