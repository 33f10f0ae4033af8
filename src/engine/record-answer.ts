/**
 * Records what is known of a chunk, whatever becomes of the database meanwhile.
 *
 * A kill between the destination's answer and its recording leaves the chunk in doubt; a database that is
 * away for a moment must not: the answer is at hand, and its intent is ours for as long as nobody else can
 * have removed it. Invariant: whoever lost the database on the way records the answer and then stops with
 * that error, because what else it was sure of (its beats, its checkpoint under way) is as old as the loss.
 */
import type { DestinationWriter } from '../connectors/destination.ts'
import type { Database } from '../store/database.ts'
import { type CompleteOptions, complete, isCurrent, type LedgerHolder } from '../store/ledger.ts'
import { MissingPartitionError, makePartitions } from '../store/partitions.ts'
import { findUnavailable } from '../store/unavailable.ts'
import { type KeepTryingParts, keepTrying } from './keep-trying.ts'

export interface AnswerContext extends KeepTryingParts {
  readonly database: Database
  readonly holder: LedgerHolder
}

const isWorthAnother = (error: unknown) => findUnavailable(error) !== null

/** `lost`: the database's error of an earlier try, with which the attempt is to stop; null: there was none. */
export type Recorded =
  | { readonly isRecorded: true; readonly lost: { readonly error: unknown } | null }
  /** The intent is another's. */
  | { readonly isRecorded: false }

/** Completes, keeps or drops places of an intent. Throws the database's error where no try went well. */
export async function recordAnswer(
  context: AnswerContext,
  answer: CompleteOptions,
): Promise<Recorded> {
  const { database, holder } = context
  let lost: unknown = null
  const tried = { runId: holder.runId, event: 'answer.not_recorded', isWorthAnother }
  const isRecorded = await keepTrying(context, tried, async () => {
    try {
      const isDone = await complete(database, answer)
      // A try whose own answer was lost may have been the one: under this epoch nobody else removes it.
      return isDone || (lost !== null && (await isCurrent(database, holder)))
    } catch (error) {
      lost ??= error
      throw error
    }
  })
  if (!isRecorded) {
    return { isRecorded }
  }
  return { isRecorded, lost: lost === null ? null : { error: lost } }
}

/** Makes the ledger's partitions where today's is missing, whatever kept their upkeep from it, and reserves again. */
async function reserveInPartition<T>(context: AnswerContext, reserve: () => Promise<T>) {
  try {
    return await reserve()
  } catch (error) {
    if (!(error instanceof MissingPartitionError)) {
      throw error
    }
    const { database, logger, holder } = context
    logger.error('ledger.partition_missing', { runId: holder.runId }, error)
    await makePartitions(database).catch((cause: unknown) => {
      logger.error('ledger.partition_not_made', {}, cause)
      if (findUnavailable(cause)) {
        throw cause
      }
    })
    return await reserve()
  }
}

/**
 * Does what reserves an intent. If the answer to that is lost, nothing has been sent for it, and it is
 * dropped, so that it leaves nothing in doubt. One that is idempotent stays, and is sent again: it may stand
 * in the place of an older one, whose request may still be under way.
 */
export async function reserveOrDrop<T>(
  context: AnswerContext & { readonly writer: Pick<DestinationWriter, 'deliveryClass'> },
  intentId: string | null,
  reserve: () => Promise<T>,
): Promise<T> {
  try {
    return await reserveInPartition(context, reserve)
  } catch (error) {
    const isIdempotent = context.writer.deliveryClass === 'idempotent'
    if (intentId !== null && !isIdempotent && findUnavailable(error)) {
      const nothing = { intentId, epoch: context.holder.epoch, written: [], remaining: null }
      const tried = { runId: context.holder.runId, event: 'intent.not_dropped', isWorthAnother }
      await keepTrying(context, tried, () =>
        complete(context.database, { ...nothing, hasHeldRecords: false }),
      )
    }
    throw error
  }
}
