/**
 * One reserved chunk on its way: call, record what is known, call again for the rest.
 *
 * Invariants: the chunk's intent names, at every moment, each record whose outcome is not recorded; an
 * unknown outcome is sent again only to a destination that is idempotent, with the same key, or that says
 * that it has nothing of it; a call that is refused as a whole is split until the guilty records are alone.
 */
import { splitSuspects } from '../domain/bisect.ts'
import type { Outcome } from '../domain/delivery.ts'
import { failure } from '../domain/failure.ts'
import { decideCallWait } from '../domain/retry.ts'
import { assert, unreachable } from '../runtime/assert.ts'
import { drawChance, type Random } from '../runtime/random.ts'
import type { WrittenRecord } from '../store/ledger.ts'
import { AttemptStop, failAttempt } from './attempt-stop.ts'
import { type CallAnswer, type CallContext, Calls, type ReservedIntent } from './calls.ts'
import type { SendableRecord } from './prepare-page.ts'
import { type AnswerContext, recordAnswer } from './record-answer.ts'
import { SILENT, type Silence } from './silence.ts'

export interface ChunkContext extends CallContext, AnswerContext {
  readonly random: Random
  readonly silence: Silence
  hasHeldRecords(): boolean
}

/** How one record of a chunk ended in this run. */
export type ChunkResult =
  | { readonly kind: 'written' }
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'inDoubt'; readonly reason: string }
  /** Not sent: an earlier delivery of its identity is in doubt. */
  | { readonly kind: 'blocked' }

const UNTOLD =
  'An import did not tell what became of some records, and others have to be sent again.'

/** A call that was refused as a whole. */
interface Refusal {
  readonly records: readonly SendableRecord[]
  readonly reason: string
  readonly isTooLarge: boolean
}

/** The database was lost before it was recorded. */
type Lost = { readonly error: unknown } | null
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
  intent: ReservedIntent,
  records: readonly SendableRecord[],
): Promise<DeliveredChunk> {
  const chunk = new Chunk(context, intent, records)
  await chunk.send(records)
  return { results: chunk.results, recorded: chunk.recorded }
}

class Chunk {
  readonly results = new Map<SendableRecord, ChunkResult>()
  recorded: Promise<{ readonly error: unknown } | null> = Promise.resolve(null)
  readonly #context: ChunkContext
  readonly #calls: Calls
  /** Records of which a call may have been applied although nobody said so. */
  readonly #uncertain = new Set<SendableRecord>()
  /** The records that the intent names, in its order. */
  #open: readonly SendableRecord[]

  constructor(context: ChunkContext, intent: ReservedIntent, records: readonly SendableRecord[]) {
    this.#context = context
    this.#calls = new Calls(context, intent)
    this.#open = records
  }

  /** Sends `records` until each has its result. */
  async send(records: readonly SendableRecord[]): Promise<void> {
    const refusal = await this.#sendUntilKnown(records)
    if (refusal?.isTooLarge) {
      await this.#sendHalves(refusal)
    } else if (refusal) {
      await this.#bisect(refusal)
    }
  }

  /** Nobody is guilty of a call that was too large, unless it is too large alone. */
  async #sendHalves({ records, reason }: Refusal): Promise<void> {
    const parts = splitSuspects(records, (record) => record.destinationIdentityHash)
    if (!parts) {
      await this.#rejectAlone(records, reason)
      return
    }
    await this.send(parts.first)
    await this.send(parts.second)
  }

  /** Finds who is guilty of a refusal; what was set aside meanwhile is sent in one last call. */
  async #bisect(refusal: Refusal): Promise<void> {
    const aside: SendableRecord[] = []
    let { records: suspects, reason } = refusal
    for (;;) {
      const parts = splitSuspects(suspects, (record) => record.destinationIdentityHash)
      if (!parts) {
        await this.#rejectAlone(suspects, reason)
        break
      }
      const half = await this.#sendUntilKnown(parts.first)
      if (half === null && this.#isAllWritten(parts.first)) {
        suspects = parts.second
        continue
      }
      aside.push(...parts.second)
      if (half === null) {
        break // the answer named the guilty, or nobody answered and nothing can be concluded
      }
      if (half.isTooLarge) {
        await this.#sendHalves(half)
        break
      }
      suspects = half.records
      reason = half.reason
    }
    if (aside.length > 0) {
      await this.send(aside)
    }
  }

  #isAllWritten(records: readonly SendableRecord[]): boolean {
    return records.every((record) => this.results.get(record)?.kind === 'written')
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
        await this.#record([suspect], [{ kind: 'rejected', reason: refusal.reason }])
      }
    }
  }

  /** Returns the refusal when a call was refused as a whole: nothing of that call was applied. Else null. */
  async #sendUntilKnown(records: readonly SendableRecord[]): Promise<Refusal | null> {
    let pending = records
    for (let tries = 1; pending.length > 0; tries += 1) {
      const unclear = pending.filter((record) => this.#mustAsk(record))
      const asked = unclear.length > 0 ? unclear : pending
      const answer = await (unclear.length > 0 ? this.#ask(unclear) : this.#call(pending))
      if (answer.kind === 'refused') {
        this.#context.silence.end()
        return { reason: answer.reason, isTooLarge: answer.isTooLarge, records: pending }
      }
      const problems = await this.#record(asked, answer.outcomes)
      const known = new Set(asked.filter((record) => !problems.has(record)))
      pending = pending.filter((record) => !known.has(record))
      if (problems.size > 0) {
        await this.#waitBeforeNextTry(tries, problems)
      }
    }
    return null
  }

  /** What may have been applied is asked about, where sending it again could apply it twice. */
  #mustAsk(record: SendableRecord): boolean {
    const canBeAsked = this.#calls.isImportOpen || this.#context.writer.deliveryClass === 'lookup'
    return canBeAsked && this.#uncertain.has(record)
  }

  async #call(records: readonly SendableRecord[]): Promise<CallAnswer> {
    if (this.#context.writer.imports && this.#isAnyInDoubt()) {
      // Another import's tag would stand for these as well, and tell what never became of them.
      await this.giveUp()
      throw failAttempt(failure('provider_unavailable', { step: 'writing', detail: UNTOLD }))
    }
    try {
      return await this.#calls.make(records)
    } catch (error) {
      await this.#giveUpCall(records)
      throw error
    }
  }

  #isAnyInDoubt(): boolean {
    return this.#open.some((record) => this.results.get(record)?.kind === 'inDoubt')
  }

  async #ask(records: readonly SendableRecord[]): Promise<CallAnswer> {
    try {
      const outcomes = await this.#calls.ask(records)
      for (const [index, record] of records.entries()) {
        if (outcomes[index]?.kind === 'retryable') {
          this.#uncertain.delete(record)
        }
      }
      return { kind: 'answered', outcomes }
    } catch (error) {
      await this.#giveUpCall(records)
      throw error
    }
  }

  /** Nothing of the call was sent, or it is an import that goes on without us. Else all stays as it is. */
  async #giveUpCall(records: readonly SendableRecord[]): Promise<void> {
    if (this.#calls.isImportOpen) {
      records.forEach(this.#uncertain.add, this.#uncertain)
    }
    if (this.#calls.isImportOpen || !this.#calls.isUnderWay) {
      await this.giveUp()
    }
  }

  /** Records the outcomes that are known; returns the records to send again, each with its problem. */
  async #record(
    records: readonly SendableRecord[],
    outcomes: readonly Outcome[],
  ): Promise<ReadonlyMap<SendableRecord, Problem>> {
    assert(outcomes.length === records.length, 'A destination answers for each record of a call.')
    const { writer, faults, runId } = this.#context
    const { again, written, remaining } = this.#sort(records, outcomes)
    const isRisky = writer.deliveryClass === 'none' && !this.#calls.isImportOpen
    const isDead = isRisky && this.#context.silence.note(outcomes)
    const recording = this.#shrinkIntent(written, remaining).then(async (lost) => {
      await faults('afterComplete', runId)
      await this.#stopAfter(lost)
    })
    if (again.size === 0 && remaining.length === 0) {
      // Nothing is sent any more: whoever sends next need not wait for it.
      this.recorded = recording.then(
        () => null,
        (error: unknown) => ({ error }),
      )
    } else {
      await recording
    }
    if (isDead) {
      await this.giveUp()
      throw failAttempt(failure('provider_unavailable', { step: 'writing', detail: SILENT }))
    }
    return again
  }

  /** Who lost the database on the way stops; what is known not to be applied leaves the intent first. */
  async #stopAfter(lost: Lost): Promise<void> {
    if (lost) {
      await this.giveUp()
      throw lost.error
    }
  }

  /** Takes the outcomes in: what they say of each place of the intent. */
  #sort(records: readonly SendableRecord[], outcomes: readonly Outcome[]) {
    const answered = new Map(records.map((record, index) => [record, outcomes[index]]))
    const again = new Map<SendableRecord, Problem>()
    const written: WrittenRecord[] = []
    const remaining: number[] = []
    for (const [index, record] of this.#open.entries()) {
      const outcome = answered.get(record)
      if (outcome) {
        this.#take(record, outcome, again)
      }
      if (outcome?.kind === 'written') {
        written.push({ index, result: outcome.remoteId })
      } else if (outcome?.kind !== 'rejected') {
        remaining.push(index)
      }
    }
    return { again, written, remaining }
  }

  #take(record: SendableRecord, outcome: Outcome, again: Map<SendableRecord, Problem>): void {
    const isFinal = this.#context.writer.deliveryClass === 'none' && !this.#calls.isImportOpen
    const result = toResult(outcome, isFinal)
    if (outcome.kind === 'unknown') {
      this.#uncertain.add(record)
    }
    if (result) {
      this.results.set(record, result)
    } else {
      again.set(record, toProblem(outcome))
    }
  }

  /** Completes what is written; the intent goes on with the `remaining` places, under a new id. */
  async #shrinkIntent(
    written: readonly WrittenRecord[],
    remaining: readonly number[],
  ): Promise<Lost> {
    // As long as nothing is in doubt for good, the import may be asked again by whoever comes next.
    const keepsImport = this.#calls.isImportOpen || !this.#isAnyInDoubt()
    if (remaining.length === this.#open.length) {
      if (!keepsImport) {
        await this.#calls.forgetImport()
      }
      return null // nothing is known that was not known before
    }
    const { holder, ids } = this.#context
    const intentId = ids.next()
    const recorded = await recordAnswer(this.#context, {
      intentId: this.#calls.intentId,
      epoch: holder.epoch,
      written,
      remaining: remaining.length > 0 ? { intentId, indexes: remaining, keepsImport } : null,
      hasHeldRecords: this.#context.hasHeldRecords(),
    })
    if (!recorded.isRecorded) {
      throw new AttemptStop({ kind: 'fenced_off' })
    }
    this.#calls.intentId = intentId
    const kept = new Set(remaining)
    this.#open = this.#open.filter((_, index) => kept.has(index))
    return recorded.lost
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
    const chance = drawChance(random)
    const waitMs = isWorthAnotherTry(first) ? decideCallWait(tries, retryAfterMs, chance) : null
    if (waitMs === null) {
      await this.giveUp()
      throw failAttempt(
        failure(first.failure, { step: 'writing', detail: first.reason }),
        retryAfterMs,
      )
    }
    try {
      await clock.sleep(waitMs, signal)
    } catch (error) {
      await this.giveUp()
      throw error // the attempt's stop
    }
  }

  /** What is known not to be applied, or was never sent, leaves the intent; what is uncertain stays in it. */
  async giveUp(): Promise<void> {
    const kept = [...this.#open.entries()].filter(([, record]) => this.#uncertain.has(record))
    const indexes = kept.map(([index]) => index)
    const lost = await this.#shrinkIntent([], indexes)
    if (lost) {
      throw lost.error
    }
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
function toResult(outcome: Outcome, isUnknownFinal: boolean): ChunkResult | null {
  switch (outcome.kind) {
    case 'written':
      return { kind: 'written' }
    case 'rejected':
      return { kind: 'rejected', reason: outcome.reason }
    case 'retryable':
      return null
    case 'unknown':
      return isUnknownFinal ? { kind: 'inDoubt', reason: outcome.reason } : null
    default:
      return unreachable(outcome)
  }
}

function isWorthAnotherTry(problem: Problem): boolean {
  return problem.failure === 'provider_unavailable' || problem.failure === 'provider_rate_limited'
}
