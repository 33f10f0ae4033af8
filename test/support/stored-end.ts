/** How a run ended, as the database tells: what the bus would tell may be lost with an answer. */
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { isFinal, type RunStatus } from '../../src/domain/run.ts'
import type { Database } from '../../src/store/database.ts'

export type StoredEnd = {
  readonly status: RunStatus
  /** Attempts that were counted. */
  readonly spent: number
  readonly read: number
  readonly written: number
  readonly replayed: number
  readonly inDoubt: number
  readonly detail: string | null
  /** Intents of its sync that are open. */
  readonly intents: number
  /** Of its attempts, in their order. */
  readonly outcomes: readonly string[]
  /** The failures of its attempts, each once. */
  readonly told: string | null
}

/** Of a run to which nothing was done that counts, and nothing left. */
export const WHOLE = { status: 'succeeded', spent: 0, intents: 0, inDoubt: 0 }

/** Between two looks; without it, looking takes more of the machine than what is looked at. */
const LOOK_MS = 10

export async function waitForStoredEnd(database: Database, runId: string): Promise<StoredEnd> {
  for (;;) {
    const [run] = await database.rows<StoredEnd>(sql`
      select status, attempts_spent as spent, written, replayed, "read", in_doubt as "inDoubt",
             failure_detail as detail,
             (select count(*)::int from delivery_intent where sync_id = run.sync_id) as intents,
             (select jsonb_agg(outcome order by number) from attempt
              where run_id = run.id) as outcomes,
             (select string_agg(distinct failure_detail, ' ') from attempt
              where run_id = run.id) as told
      from run where id = ${runId}`)
    if (run && isFinal(run.status)) {
      return run
    }
    await wait(LOOK_MS)
  }
}
