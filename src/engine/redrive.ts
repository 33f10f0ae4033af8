/**
 * Sends the records that people brought back after they had been set aside.
 *
 * As a page of its own that is read from the list: mapped anew, with the keys that it had, reserved before the
 * destination is called, and out of the list's hands only in the checkpoint that counts it. Invariants: it
 * comes before every page of the attempt, and the newest record of an identity before the older ones, so
 * that nothing newer is overwritten (I11); a record whose identity is in doubt is not sent (I16).
 */
import {
  addCounters,
  type Counters,
  countDispositions,
  type Disposition,
  NO_COUNTS,
} from '../domain/delivery.ts'
import { assert, unreachable } from '../runtime/assert.ts'
import type { Sealer } from '../runtime/seal.ts'
import type { Checkpoint } from '../store/pages.ts'
import {
  checkpointRedriven,
  listCompletedKeys,
  listRedriven,
  type RedrivenOutcome,
  type RedrivenRecord,
} from '../store/quarantine.ts'
import { AttemptStop, stopForPeople } from './attempt-stop.ts'
import type { ChunkResult } from './deliver-chunk.ts'
import { whyRejected } from './judge-page.ts'
import {
  type PageContext,
  type PreparedRecord,
  prepareRecord,
  type SendableRecord,
} from './prepare-page.ts'
import type { ProgressPublisher } from './progress-publisher.ts'
import { openRow } from './quarantine.ts'
import { noteRewrittenNames } from './rereading.ts'
import { type DeliveryContext, reserveAndSend, rethrow, waitForQuiet } from './send-records.ts'

export interface RedriveContext extends DeliveryContext {
  readonly page: PageContext
  readonly sealer: Sealer
  readonly publisher: ProgressPublisher
}

/** What became of a record: its disposition in the books, and its outcome in the list. */
interface Verdict {
  readonly disposition: Disposition
  readonly state: RedrivenOutcome['state']
  readonly reason: string | null
}

/** What the list has of a record, and what it maps to now. */
interface Redriven {
  readonly one: RedrivenRecord
  readonly record: PreparedRecord
}

/** Returns what is in the run's books of them. Throws an attempt's stop. */
export async function deliverRedriven(context: RedriveContext): Promise<Counters> {
  const { database, holder } = context
  let counters = NO_COUNTS
  while (context.hasHeldRecords()) {
    context.signal.throwIfAborted()
    const listed = await listRedriven(database, holder)
    const [first] = listed
    if (!first) {
      break
    }
    const verdicts = await deliverListed(context, first, listed)
    const counted = countDispositions([...verdicts.values()].map(({ disposition }) => disposition))
    counters = addCounters(counters, counted)
    const done = await takeCheckpoint(context, first, { verdicts, counters: counted })
    await context.publisher.publish(done.progress)
    const unwanted = stopForPeople(done)
    if (unwanted) {
      throw unwanted
    }
  }
  return counters
}

/** The records of one page, the last one first. Those that have to wait for a newer one have no verdict yet. */
async function deliverListed(
  context: RedriveContext,
  { pageDigest, ordinal }: RedrivenRecord,
  listed: readonly RedrivenRecord[],
): Promise<ReadonlyMap<Redriven, Verdict>> {
  const { database, retentionMs } = context
  const keys = await listCompletedKeys(database, pageDigest, retentionMs)
  const completed = new Map(keys.map(({ position, recordDigest }) => [position, recordDigest]))
  const verdicts = new Map<Redriven, Verdict>()
  const toSend = new Map<SendableRecord, Redriven>()
  const names = new Set<string>()
  for (const one of listed) {
    const record = prepare(context, one)
    const { identityHash, destinationIdentityHash } = record
    if (names.has(identityHash) || names.has(destinationIdentityHash)) {
      continue
    }
    names.add(identityHash).add(destinationIdentityHash)
    const redriven = { one, record }
    const verdict = judge(context, redriven, completed.get(one.position))
    if (verdict) {
      verdicts.set(redriven, verdict)
    } else if (record.kind === 'sendable') {
      toSend.set(record, redriven)
    }
  }
  await waitForQuiet(context, pageDigest, [...toSend.keys()])
  const inOrder = [...toSend.keys()].reverse()
  await noteRewrittenNames(context, inOrder)
  const redriving = { ...context, redrivenOrdinal: ordinal }
  const { results, recorded } = await reserveAndSend(redriving, {
    pageDigest,
    records: inOrder,
    beforeRound: () => Promise.resolve(), // none of them overtakes another
  })
  rethrow(await recorded)
  for (const [record, redriven] of toSend) {
    const result = results.get(record)
    assert(result !== undefined, 'What is sent has a result.')
    const isUnanswered = context.leftIntents.isOtherUnanswered(record, pageDigest)
    verdicts.set(redriven, toVerdict(result, isUnanswered))
  }
  return verdicts
}

function prepare({ page, sealer }: RedriveContext, one: RedrivenRecord): PreparedRecord {
  const { position, identityHash, destinationIdentityHash } = one
  const opened = openRow(sealer, page.origin, one)
  if (opened.kind === 'unusable') {
    const { reason } = opened
    const named = { position, identityHash, destinationIdentityHash }
    return { kind: 'unsendable', ...named, reason, isBroken: false, row: null }
  }
  // Its place has the hash of its identity, which was not kept.
  const place = { position, identityHash }
  const prepared = prepareRecord(page, { identity: '', fields: opened.row }, place)
  // Where its name cannot be told any more, it is still known by the one that it had.
  return prepared.destinationIdentityHash === identityHash
    ? { ...prepared, destinationIdentityHash }
    : prepared
}

/** Null: it is to be sent. */
function judge(
  { leftIntents }: RedriveContext,
  { one, record }: Redriven,
  /** The record digest that was delivered in its place. */
  completed: string | undefined,
): Verdict | null {
  if (
    record.kind === 'sendable' &&
    record.recordDigest === completed &&
    // Something else was sent in its place since, and may stand there now.
    !leftIntents.isOtherUnanswered(record, one.pageDigest)
  ) {
    return { disposition: 'replayed', state: 'delivered', reason: null }
  }
  if (leftIntents.isDoubtful(record)) {
    return { disposition: 'inDoubt', state: 'redriving', reason: null }
  }
  if (record.kind === 'unsendable') {
    return toRejection(record, leftIntents.isUnanswered(record, one.pageDigest))
  }
  // A later record of its identity is on its way, and overtakes it in this run or leaves it to the next one.
  return leftIntents.isOvertaken(record, one.ordinal)
    ? { disposition: 'skipped', state: 'redriving', reason: null }
    : null
}

/** What may have been written stays brought back: older ones of its identity wait for it. */
function toRejection(rejected: { readonly reason: string }, isUnanswered: boolean): Verdict {
  const state = isUnanswered ? 'redriving' : 'quarantined'
  return { disposition: 'quarantined', state, reason: whyRejected(rejected, isUnanswered) }
}

function toVerdict(result: ChunkResult, isUnanswered: boolean): Verdict {
  switch (result.kind) {
    case 'written':
      return { disposition: 'written', state: 'delivered', reason: null }
    case 'rejected':
      return toRejection(result, isUnanswered)
    case 'inDoubt':
    case 'blocked':
      return { disposition: 'inDoubt', state: 'redriving', reason: null }
    default:
      return unreachable(result)
  }
}

/** Throws `lease_lost` or a fenced-off stop; then nothing has changed. */
async function takeCheckpoint(
  context: RedriveContext,
  { pageDigest, ordinal }: RedrivenRecord,
  facts: {
    readonly verdicts: ReadonlyMap<Redriven, Verdict>
    readonly counters: Counters
  },
): Promise<Checkpoint> {
  await context.lease.verify()
  await context.faults('beforeCheckpoint', context.runId)
  const done = await checkpointRedriven(context.database, {
    holder: context.holder,
    ...{ pageDigest, ordinal },
    counters: facts.counters,
    outcomes: [...facts.verdicts].map(([{ one, record }, { state, reason }]) => ({
      ...{ id: one.id, position: one.position, state, reason },
      destinationIdentityHash: record.destinationIdentityHash,
    })),
  })
  if (!done) {
    throw new AttemptStop({ kind: 'fenced_off' })
  }
  await context.faults('afterCheckpoint', context.runId)
  return done
}
