/** Transactions that a test keeps open, and waiting for those that wait for them: interleavings by lock order. */
import { sql } from 'drizzle-orm'
import type { Database, Handle } from '../../src/store/database.ts'
import { createSignal } from './signal.ts'

export interface HeldOpen {
  /** Commits it. */
  release(): Promise<void>
}

/** Does the work in a transaction that stays open, however long it idles. */
export async function holdOpen(
  database: Database,
  work: (tx: Handle) => Promise<unknown>,
): Promise<HeldOpen> {
  const isDone = createSignal()
  const mayEnd = createSignal()
  const transaction = database.transaction('heldOpen.holdOpen', async (tx) => {
    await tx.rows(sql`set local idle_in_transaction_session_timeout = 0`)
    await work(tx)
    isDone.reach()
    await mayEnd.reached
  })
  await Promise.race([isDone.reached, transaction])
  return {
    release: async () => {
      mayEnd.reach()
      await transaction
    },
  }
}

/**
 * Resolves when so many statements of this database wait for others; `like`: only those whose text is. Each
 * look is a round trip.
 */
export async function waitUntilBlocked(database: Database, count = 1, like = '%'): Promise<void> {
  for (;;) {
    const blocked = await database.rows(sql`
      select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${like}`)
    if (blocked.length >= count) {
      return
    }
  }
}

/** A session of its own, of which can be told whether it waits. */
export interface Session {
  readonly database: Database
  readonly pid: number
}

/** Resolves when the session waits for somebody's lock, or `work` has ended without waiting. */
export async function waitUntilBlockedOrDone(
  observer: Database,
  session: Session,
  work: Promise<unknown>,
): Promise<void> {
  let isDone = false
  const noteDone = () => {
    isDone = true
  }
  void work.then(noteDone, noteDone)
  while (!isDone) {
    const [row] = await observer.rows<{ isBlocked: boolean }>(sql`
      select coalesce(wait_event_type = 'Lock', false) as "isBlocked" from pg_stat_activity
      where pid = ${session.pid}`)
    if (row?.isBlocked) {
      return
    }
  }
}
