/** Gives records up that were set aside: they are never sent, and nothing of their rows is kept. */
import { z } from 'zod'
import { decideDiscard } from '../domain/quarantine.ts'
import type { Handle } from '../store/database.ts'
import { discard, listRejectedRecords } from '../store/quarantine.ts'
import { findRunInFlight } from '../store/runs.ts'
import { findSyncForUpdate } from '../store/syncs.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkRecordIds, checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { DONE_OR_NOOP, type Done, once, type Repeatable } from './once.ts'
import { AlreadyRunning, InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface DiscardRecordsInput extends Repeatable {
  readonly syncId: string
  readonly recordIds: readonly string[]
  readonly reason: string
}

export interface DiscardedItem {
  readonly recordId: string
  /** `noop`: it is held, or over. `in_doubt`: it was sent, and may have been written. */
  readonly status: 'done' | 'noop' | 'in_doubt' | 'not_found'
}

export interface DiscardedRecords {
  readonly syncId: string
  readonly status: 'done' | 'noop'
  /** How many records were discarded. */
  readonly discarded: number
  /** What was done with each of the records that were named. */
  readonly items: readonly DiscardedItem[]
}

const DISCARD_RECORDS = {
  name: 'discardRecords',
  answer: z.object({
    syncId: z.string(),
    status: DONE_OR_NOOP,
    discarded: z.number(),
    items: z.array(
      z.object({
        recordId: z.string(),
        status: z.enum(['done', 'noop', 'in_doubt', 'not_found']),
      }),
    ),
  }),
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link AlreadyRunning}. */
export async function discardRecords(
  context: CommandContext,
  actor: Actor,
  input: DiscardRecordsInput,
): Promise<DiscardedRecords> {
  requireRole(actor, 'operator')
  const problems = [
    ...checkRecordIds(input.recordIds),
    ...checkText('reason', input.reason, MAX_REASON_LENGTH),
  ]
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  return await once<DiscardedRecords>({ context, actor, command: DISCARD_RECORDS, input }, (tx) =>
    giveUp(tx, context, actor, input),
  )
}

async function giveUp(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  { syncId, recordIds, reason }: DiscardRecordsInput,
): Promise<Done<DiscardedRecords>> {
  const sync = await findSyncForUpdate(tx, actor.workspaceId, syncId)
  if (!sync) {
    throw new NotFound('sync', 'syncId')
  }
  const records = await listRejectedRecords(tx, sync.id, recordIds)
  const inFlight = await findRunInFlight(tx, sync.id)
  const decision = decideDiscard({ records, inFlight })
  if (decision.kind === 'refuse') {
    throw new AlreadyRunning(decision.runId)
  }
  const done = new Map(records.map(({ id }, index) => [id, decision.items[index] ?? 'noop']))
  const discarded = [...done].flatMap(([id, item]) => (item === 'discard' ? [id] : []))
  if (discarded.length > 0) {
    await discard(tx, discarded)
    await recordDeed(tx, context, actor, {
      action: 'discardRecords',
      subjectType: 'sync',
      subjectId: sync.id,
      reason,
      after: { discarded: discarded.length, recordIds: discarded },
    })
  }
  const items = [...new Set(recordIds)].map((recordId): DiscardedItem => {
    const item = done.get(recordId)
    return { recordId, status: item === undefined ? 'not_found' : ITEM_STATUS[item] }
  })
  const status = decision.kind === 'discard' ? 'done' : 'noop'
  return { answer: { syncId: sync.id, status, discarded: discarded.length, items } }
}

const ITEM_STATUS = { discard: 'done', noop: 'noop', in_doubt: 'in_doubt' } as const
