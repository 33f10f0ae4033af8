/**
 * The ledger against a bare insert of the same rows, on a private PostgreSQL: pages of 500, one run.
 *
 * The floor inserts the keys of a page with their results in one statement and knows nothing of intents,
 * pages or the fence. Ours stores the page, reads its completed keys, reserves and completes. Both run in a
 * database with an empty ledger and in one with 2 million keys. All four take turns, so that a noisy
 * neighbour meets each of them.
 */
import { sql } from 'drizzle-orm'
import { LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { complete, openPage } from '../../src/store/ledger.ts'
import type { RunHolder } from '../../src/store/run-ends.ts'
import { withDatabaseName } from '../support/database-url.ts'
import { startPostgres } from '../support/services.ts'
import {
  keyOf,
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
const PAGES_PER_ROUND = 30
const ROUNDS = 11
const WARM_UP_ROUNDS = 2
const SEEDED_KEYS = 2_000_000
const SEEDED_PER_STATEMENT = 100_000

export async function benchLedger(): Promise<boolean> {
  const server = await startPostgres({ isOwn: true })
  const opened: Database[] = []
  const open = async (url: string) => {
    const database = await openDatabase({
      at: { url },
      maxConnections: 4,
      applicationName: 'tajo-sync bench',
    })
    opened.push(database)
    return database
  }
  try {
    const empty = await open(server.url)
    await empty.rows(sql`create database full_ledger`)
    const full = await open(withDatabaseName(server.url, 'full_ledger'))
    return await measure(await enter(empty), await enter(full))
  } finally {
    await Promise.all(opened.map((database) => database.close()))
    await server.stop()
  }
}

/** A database with a running run in it. */
interface Place {
  readonly database: Database
  readonly sync: SeededSync
  readonly holder: RunHolder
}

async function enter(database: Database): Promise<Place> {
  const sync = await seedSync(database)
  const { holder } = await seedClaimedRun(database, sync)
  return { database, sync, holder }
}

async function measure(empty: Place, full: Place): Promise<boolean> {
  await seedKeys(full.database)
  const rates = { bareEmpty: [], oursEmpty: [], bareFull: [], oursFull: [] } as Record<
    'bareEmpty' | 'oursEmpty' | 'bareFull' | 'oursFull',
    number[]
  >
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    const isCounted = round >= WARM_UP_ROUNDS
    const bareEmpty = await rate(empty.sync, (page) => insertBare(empty.database, page))
    const oursEmpty = await rate(empty.sync, (page) => reserveAndComplete(empty, page))
    const bareFull = await rate(full.sync, (page) => insertBare(full.database, page))
    const oursFull = await rate(full.sync, (page) => reserveAndComplete(full, page))
    for (const { database, sync } of [empty, full]) {
      await database.rows(sql`delete from open_page where sync_id = ${sync.syncId}`)
    }
    if (isCounted) {
      rates.bareEmpty.push(bareEmpty)
      rates.oursEmpty.push(oursEmpty)
      rates.bareFull.push(bareFull)
      rates.oursFull.push(oursFull)
    }
  }
  tell('bare insert, empty ledger', median(rates.bareEmpty))
  tell('reserve + complete, empty ledger', median(rates.oursEmpty))
  tell('bare insert, 2 million keys', median(rates.bareFull))
  tell('reserve + complete, 2 million keys', median(rates.oursFull))
  return [
    report({
      bench: 'ledger',
      figure: 'reserve + complete to a bare insert of the same rows',
      value: median(rates.oursEmpty) / median(rates.bareEmpty),
      unit: 'ratio',
      atLeast: 0.4,
    }),
    report({
      bench: 'ledger',
      figure: 'reserve + complete with 2 million keys to the empty ledger',
      value: median(rates.oursFull) / median(rates.oursEmpty),
      unit: 'ratio',
      atLeast: 0.8,
    }),
  ].every(Boolean)
}

function tell(figure: string, value: number): void {
  report({ bench: 'ledger', figure, value, unit: 'records/s' })
}

/** Records a second. */
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

async function reserveAndComplete(
  { database, sync, holder }: Place,
  page: SeededPage,
): Promise<void> {
  const chunk = seedChunk(sync, page)
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
  const rows = page.values.map((_, position) => [keyOf(page, position), `remote-${position}`])
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
