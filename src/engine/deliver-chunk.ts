/**
 * One reserved chunk on its way: call, record what is known, call again for the rest.
 *
 * Invariants: the chunk's intent names, at every moment, each record whose outcome is not recorded; an
 * unknown outcome is sent again only to a destination that is idempotent, with the same key; a call that
 * is refused as a whole is split until the guilty records are alone.
 */
import type { DestinationWriter } from '../connectors/destination.ts'
import { splitSuspects } from '../domain/bisect.ts'
import { type DeliveryClass, deliveryKey, type Outcome } from '../domain/delivery.ts'
import { failure } from '../domain/failure.ts'
import { decideCallWait } from '../domain/retry.ts'
import { assert, unreachable } from '../runtime/assert.ts'
import type { Clock } from '../runtime/clock.ts'
import type { IdSource, Random } from '../runtime/random.ts'
import type { Database } from '../store/database.ts'
import { complete, type WrittenRecord } from '../store/ledger.ts'
import { AttemptStop, failAttempt } from './attempt-stop.ts'
import type { FaultHook } from './fault-points.ts'
import type { LeaseKeeper } from './lease-keeper.ts'
import type { SendableRecord } from './prepare-page.ts'

export interface ChunkContext {
  readonly database: Database
  readonly writer: DestinationWriter
  readonly lease: LeaseKeeper
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: Random
  readonly faults: FaultHook
  readonly runId: string
  readonly epoch: number
  /** Aborted when the attempt must stop at its next safe point. */
  readonly signal: AbortSignal
  hasHeldRecords(): boolean
}

/** How one record of a chunk ended in this run. */
export type ChunkResult =
  | { readonly kind: 'written' }
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'inDoubt'; readonly reason: string }

type Problem = Extract<Outcome, { kind: 'retryable' | 'unknown' }>

export interface DeliveredChunk {
  readonly results: ReadonlyMap<SendableRecord, ChunkResult>
  /** Resolves when the last answer is in the ledger, with what went wrong or null. Never rejects. */
  readonly recorded: Promise<{ readonly error: unknown } | null>
}

/**
 * Delivers the records of one reserved intent. Resolves when each has its answer: the last one may still
 * be on its way into the ledger. Throws an attempt's stop when some records have no outcome.
 */
export async function deliverChunk(
  context: ChunkContext,
  options: {
    readonly intentId: string
    readonly pageDigest: string
    readonly records: readonly SendableRecord[]
  },
): Promise<DeliveredChunk> {
  const chunk = new Chunk(context, options)
  await chunk.send(options.records)
  return { results: chunk.results, recorded: chunk.recorded }
}

class Chunk {
  readonly results = new Map<SendableRecord, ChunkResult>()
  recorded: Promise<{ readonly error: unknown } | null> = Promise.resolve(null)
  readonly #context: ChunkContext
  readonly #pageDigest: string
  #intentId: string
  /** The records that the intent names, in its order. */
  #open: readonly SendableRecord[]

  constructor(
    context: ChunkContext,
    options: { intentId: string; pageDigest: string; records: readonly SendableRecord[] },
  ) {
    this.#context = context
    this.#pageDigest = options.pageDigest
    this.#intentId = options.intentId
    this.#open = options.records
  }

  /** Sends `records` until each has its result. */
  async send(records: readonly SendableRecord[]): Promise<void> {
    const refusal = await this.#sendUntilKnown(records)
    if (refusal !== null) {
      await this.#bisect(records, refusal)
    }
  }

  /** `suspects` were refused together. */
  async #bisect(refused: readonly SendableRecord[], reason: string): Promise<void> {
    const aside: SendableRecord[] = []
    let suspects = refused
    let lastReason = reason
    for (;;) {
      const parts = splitSuspects(suspects, (record) => record.destinationIdentityHash)
      if (!parts) {
        break
      }
      const refusal = await this.#sendUntilKnown(parts.first)
      if (refusal === null) {
        suspects = parts.second
      } else {
        lastReason = refusal
        aside.push(...parts.second)
        suspects = parts.first
      }
    }
    await this.#rejectAlone(suspects, lastReason)
    if (aside.length > 0) {
      await this.send(aside)
    }
  }

  /** What is left of a bisection: one record, or several of one identity, which are told apart one by one. */
  async #rejectAlone(suspects: readonly SendableRecord[], reason: string): Promise<void> {
    if (suspects.length === 1) {
      await this.#record(suspects, [{ kind: 'rejected', reason }])
      return
    }
    for (const suspect of suspects) {
      const refusal = await this.#sendUntilKnown([suspect])
      if (refusal !== null) {
        await this.#record([suspect], [{ kind: 'rejected', reason: refusal }])
      }
    }
  }

  /** Returns the reason when the call was refused as a whole (nothing was applied), else null. */
  async #sendUntilKnown(records: readonly SendableRecord[]): Promise<string | null> {
    let pending = records
    for (let tries = 1; pending.length > 0; tries += 1) {
      const answer = await this.#call(pending)
      if (answer.kind === 'refused') {
        return answer.reason
      }
      const problems = await this.#record(pending, answer.outcomes)
      pending = [...problems.keys()]
      if (pending.length > 0) {
        await this.#waitBeforeNextTry(tries, problems)
      }
    }
    return null
  }

  async #call(records: readonly SendableRecord[]) {
    const { writer, lease, faults, runId, clock } = this.#context
    await faults('afterReserve', runId)
    // Work in flight is finished, not torn: a stop takes effect between calls. The deadline is the writer's.
    const answer = await writer.deliver({
      records: records.map((record) => ({
        deliveryKey: deliveryKey(this.#pageDigest, record.position, record.recordDigest),
        fields: record.fields,
        json: record.json,
      })),
      signal: clock.deadline(writer.requestDeadlineMs + CALL_GRACE_MS),
      beforeSend: () => lease.assertTrusted(),
    })
    await faults('afterSend', runId)
    return answer
  }

  /** Records the outcomes that are known; returns the records to send again, each with its problem. */
  async #record(
    records: readonly SendableRecord[],
    outcomes: readonly Outcome[],
  ): Promise<ReadonlyMap<SendableRecord, Problem>> {
    assert(outcomes.length === records.length, 'A destination answers for each record of a call.')
    const { writer, faults, runId } = this.#context
    const answered = new Map(records.map((record, index) => [record, outcomes[index]]))
    const again = new Map<SendableRecord, Problem>()
    const written: WrittenRecord[] = []
    const remaining: number[] = []
    for (const [index, record] of this.#open.entries()) {
      const outcome = answered.get(record)
      const result = outcome ? toResult(outcome, writer.deliveryClass) : null
      if (result) {
        this.results.set(record, result)
      } else if (outcome) {
        again.set(record, toProblem(outcome))
      }
      if (outcome?.kind === 'written') {
        written.push({ index, result: outcome.remoteId })
      } else if (result?.kind !== 'rejected') {
        remaining.push(index)
      }
    }
    const recording = this.#shrinkIntent(written, remaining).then(() =>
      faults('afterComplete', runId),
    )
    if (again.size === 0 && remaining.length === 0) {
      // Nothing is sent any more: whoever sends next need not wait for it.
      this.recorded = recording.then(
        () => null,
        (error: unknown) => ({ error }),
      )
    } else {
      await recording
    }
    return again
  }

  /** Completes what is written; the intent goes on with the `remaining` places, under a new id. */
  async #shrinkIntent(
    written: readonly WrittenRecord[],
    remaining: readonly number[],
  ): Promise<void> {
    if (remaining.length === this.#open.length) {
      return // nothing is known that was not known before
    }
    const { database, epoch, ids } = this.#context
    const intentId = ids.next()
    const isRecorded = await complete(database, {
      intentId: this.#intentId,
      epoch,
      written,
      remaining: remaining.length > 0 ? { intentId, indexes: remaining } : null,
      hasHeldRecords: this.#context.hasHeldRecords(),
    })
    if (!isRecorded) {
      throw new AttemptStop({ kind: 'fenced_off' })
    }
    this.#intentId = intentId
    const kept = new Set(remaining)
    this.#open = this.#open.filter((_, index) => kept.has(index))
  }

  async #waitBeforeNextTry(
    tries: number,
    problems: ReadonlyMap<SendableRecord, Problem>,
  ): Promise<void> {
    const { clock, random, signal } = this.#context
    const [first] = problems.values()
    assert(first !== undefined, 'There is a problem to wait for.')
    const waits = [...problems.values()].map((problem) =>
      problem.kind === 'retryable' ? (problem.retryAfterMs ?? 0) : 0,
    )
    const retryAfterMs = Math.max(...waits) || null
    const chance = (random.bytes(1)[0] ?? 0) / 255
    const waitMs = isWorthAnotherTry(first) ? decideCallWait(tries, retryAfterMs, chance) : null
    if (waitMs === null) {
      await this.#giveUp(problems)
      throw failAttempt(
        failure(first.failure, { step: 'writing', detail: first.reason }),
        retryAfterMs,
      )
    }
    try {
      await clock.sleep(waitMs, signal)
    } catch (error) {
      await this.#giveUp(problems)
      throw error // the attempt's stop
    }
  }

  /** What is known not to be applied leaves the intent; what is unknown stays in it. */
  async #giveUp(problems: ReadonlyMap<SendableRecord, Problem>): Promise<void> {
    const kept = [...this.#open.entries()].filter(
      ([, record]) => problems.get(record)?.kind !== 'retryable',
    )
    await this.#shrinkIntent(
      [],
      kept.map(([index]) => index),
    )
  }
}

function toProblem(outcome: Outcome): Problem {
  assert(
    outcome.kind === 'retryable' || outcome.kind === 'unknown',
    'Only what has no result is sent again.',
  )
  return outcome
}

/** How the record ends here, or null: its call is made again. */
function toResult(outcome: Outcome, deliveryClass: DeliveryClass): ChunkResult | null {
  switch (outcome.kind) {
    case 'written':
      return { kind: 'written' }
    case 'rejected':
      return { kind: 'rejected', reason: outcome.reason }
    case 'retryable':
      return null
    case 'unknown':
      return deliveryClass === 'none' ? { kind: 'inDoubt', reason: outcome.reason } : null
    default:
      return unreachable(outcome)
  }
}

/** On top of the writer's own deadline, after which a call is abandoned. */
const CALL_GRACE_MS = 5_000

function isWorthAnotherTry(problem: Problem): boolean {
  return problem.failure === 'provider_unavailable' || problem.failure === 'provider_rate_limited'
}
