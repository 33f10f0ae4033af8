/** Puts the slots of a sync where they belong, in the transaction that makes it active or publishes it anew. */
import { decideSlots, type Schedule } from '../domain/schedule.ts'
import { cronEngine } from '../runtime/cron.ts'
import type { Handle } from '../store/database.ts'
import { findSlots, storeSlots } from '../store/schedules.ts'

/** `schedule`: the one that is published now; not given, it stays. The caller holds the sync's row. */
export async function placeSlots(
  tx: Handle,
  syncId: string,
  facts: { readonly schedule?: Schedule | null; readonly wasActive: boolean },
): Promise<void> {
  const { slots: before, nowMs } = await findSlots(tx, syncId)
  const schedule = facts.schedule === undefined ? (before?.schedule ?? null) : facts.schedule
  if (schedule === null && before === null) {
    return // it never had one
  }
  const { wasActive } = facts
  await storeSlots(tx, syncId, decideSlots(cronEngine, { schedule, before, wasActive, nowMs }))
}
