/**
 * Settles a delivery in doubt, as a person found it at the destination: it was delivered, or it is to be
 * sent again. The next run replays it, or sends it.
 */
import { z } from 'zod'
import { decideSettle, type SettleDecision, type Settlement } from '../domain/doubt.ts'
import { unreachable } from '../runtime/assert.ts'
import type { Handle } from '../store/database.ts'
import { findDoubt, listSettlements, type StoredDoubt, settleDoubt } from '../store/doubts.ts'
import { findSyncForUpdate } from '../store/syncs.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { DONE_OR_NOOP, type Done, once, type Repeatable } from './once.ts'
import {
  AlreadySettled,
  DeliveryInFlight,
  InvalidInput,
  NotFound,
  type Refusal,
} from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface SettleDeliveryInput extends Repeatable {
  readonly intentId: string
  /** Which of the intent's records; null: all of them. */
  readonly position: number | null
  readonly settlement: Settlement
  readonly reason: string
}

export interface SettledDelivery {
  readonly syncId: string
  readonly status: 'done' | 'noop'
  /** How many records were settled. */
  readonly settled: number
}

const SETTLE_DELIVERY = {
  name: 'settleDelivery',
  answer: z.object({ syncId: z.string(), status: DONE_OR_NOOP, settled: z.number() }),
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link DeliveryInFlight}, {@link AlreadySettled}. */
export async function settleDelivery(
  context: CommandContext,
  actor: Actor,
  input: SettleDeliveryInput,
): Promise<SettledDelivery> {
  requireRole(actor, 'operator')
  const problems = checkText('reason', input.reason, MAX_REASON_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  return await once<SettledDelivery>({ context, actor, command: SETTLE_DELIVERY, input }, (tx) =>
    settle(tx, context, actor, input),
  )
}

async function settle(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  input: SettleDeliveryInput,
): Promise<Done<SettledDelivery>> {
  const { intentId, position, settlement } = input
  const known = await findDoubt(tx, actor.workspaceId, intentId)
  if (known) {
    await findSyncForUpdate(tx, actor.workspaceId, known.syncId)
  }
  // Read again behind the sync's row: only now nobody else settles it, and no run begins or ends.
  const doubt = known && (await findDoubt(tx, actor.workspaceId, intentId))
  const before = await listSettlements(tx, actor.workspaceId, intentId)
  const decision = decideSettle({ position, settlement, doubt, before })
  const syncId = doubt?.syncId ?? before[0]?.syncId
  switch (decision.kind) {
    case 'refuse':
      throw toRefusal(decision, doubt)
    case 'noop':
      if (syncId === undefined) {
        throw new NotFound('delivery in doubt', 'intentId')
      }
      return { answer: { syncId, status: 'noop', settled: 0 } }
    case 'settle': {
      if (!doubt) {
        throw new NotFound('delivery in doubt', 'intentId')
      }
      const { indexes, rest } = decision
      await settleDoubt(tx, { syncId: doubt.syncId, intentId, settlement, indexes, rest })
      const { runId, pageDigest, positions } = doubt
      await recordDeed(tx, context, actor, {
        action: 'settleDelivery',
        subjectType: 'intent',
        subjectId: intentId,
        reason: input.reason,
        after: {
          settlement,
          syncId: doubt.syncId,
          runId,
          pageDigest,
          positions: indexes.flatMap((index) => positions[index] ?? []),
        },
      })
      return { answer: { syncId: doubt.syncId, status: 'done', settled: indexes.length } }
    }
    default:
      return unreachable(decision)
  }
}

function toRefusal(
  decision: Extract<SettleDecision, { kind: 'refuse' }>,
  doubt: StoredDoubt | null,
): Refusal {
  switch (decision.why) {
    case 'not_found':
      return doubt
        ? new InvalidInput([
            { field: 'position', reason: 'The call has no delivery in doubt at this position.' },
          ])
        : new NotFound('delivery in doubt', 'intentId')
    case 'in_flight':
      return doubt
        ? new DeliveryInFlight(doubt.isInFlight, doubt.settleableAt)
        : new NotFound('delivery in doubt', 'intentId')
    case 'settled':
      return new AlreadySettled(decision.as)
    default:
      return unreachable(decision)
  }
}
