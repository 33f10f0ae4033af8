/**
 * The calls that one intent stands for: made, repeated, asked about.
 *
 * Invariants: a request is written only while trust lasts and at most SEND_WITHIN_MS after its intent was
 * reserved or renewed, so that its quiet time bounds when it can still land; nobody is asked what became of
 * a call before that time is over; an import is the intent's until its own result is known. No reason that leaves here repeats a value of the
 * records that it is about.
 */
import type { DeliveryAnswer, DestinationWriter } from '../connectors/destination.ts'
import { deliveryKey, type Outcome } from '../domain/delivery.ts'
import { assert } from '../runtime/assert.ts'
import type { IdSource } from '../runtime/random.ts'
import { WordedError } from '../runtime/worded-error.ts'
import { endImport, noteImport, renewIntent } from '../store/intents.ts'
import type { LedgerHolder } from '../store/ledger.ts'
import { AttemptStop } from './attempt-stop.ts'
import type { ConfirmedWrites } from './confirmed-writes.ts'
import type { FaultHook } from './fault-points.ts'
import {
  findImport,
  followImport,
  type ImportContext,
  stopUnanswered,
  waitForOpenImport,
} from './imports.ts'
import type { LeaseKeeper } from './lease-keeper.ts'
import { askForWrites } from './look-up.ts'
import type { SendableRecord } from './prepare-page.ts'
import { scrubAnswer, scrubError, scrubOutcomes } from './scrub-answers.ts'
import { waitForTurn } from './turns.ts'

export interface CallContext extends ImportContext {
  readonly writer: DestinationWriter
  readonly confirmed: ConfirmedWrites
  readonly lease: LeaseKeeper
  readonly ids: IdSource
  readonly faults: FaultHook
  readonly runId: string
  readonly holder: LedgerHolder
}

/** An intent that has just been reserved. */
export interface ReservedIntent {
  readonly intentId: string
  readonly pageDigest: string
  readonly importTag: string | null
  /** The monotonic moment before it was reserved. */
  readonly reservedAtMs: number
}

/** A call's answer; an import has been followed to its end. */
export type CallAnswer = Exclude<DeliveryAnswer, { kind: 'accepted' }>

/** From reserving, how long a request may still be written. */
const SEND_WITHIN_MS = 5_000
/** On top of the writer's own deadline, after which a call is abandoned. */
const CALL_GRACE_MS = 5_000

/** From reserving until nothing of the call can land any more, in milliseconds. */
export function quietMsOf(writer: DestinationWriter): number {
  return SEND_WITHIN_MS + writer.requestDeadlineMs + writer.settlingMs
}

/** The connection took so long that the request was not written. */
class TooLate extends WordedError {
  override readonly name = 'TooLate'
}

export class Calls {
  /** Another one as the intent shrinks. */
  intentId: string
  readonly #context: CallContext
  readonly #pageDigest: string
  #reservedAtMs: number
  #isUsed = false
  #isUnderWay = false
  /** As the intent is stored. */
  #storedTag: string | null
  /** What has been sent under the tag is not known to be over. */
  #isImportOpen = false

  constructor(context: CallContext, intent: ReservedIntent) {
    this.#context = context
    this.intentId = intent.intentId
    this.#pageDigest = intent.pageDigest
    this.#storedTag = intent.importTag
    this.#reservedAtMs = intent.reservedAtMs
  }

  /** A call is about to be made or has been, and its answer has not been handed on. */
  get isUnderWay(): boolean {
    return this.#isUnderWay
  }

  /** An import may be going on: what is unknown of its records is told by it, sooner or later. */
  get isImportOpen(): boolean {
    return this.#isImportOpen
  }

  /** Makes a call. Rejects with an attempt's stop: nothing was sent then, or an import is open. */
  async make(records: readonly SendableRecord[]): Promise<CallAnswer> {
    return scrubAnswer(await this.#make(records), records)
  }

  async #make(records: readonly SendableRecord[]): Promise<CallAnswer> {
    const { faults, runId } = this.#context
    if (this.#isUsed) {
      await this.#renew(records.length)
    }
    this.#isUsed = true
    this.#isUnderWay = true
    await faults('afterReserve', runId)
    const answer = await this.#send(records)
    await faults('afterSend', runId)
    if (answer.kind === 'accepted') {
      const outcomes = await this.#accept(answer.jobId, records)
      this.#isUnderWay = false
      return { kind: 'answered', outcomes }
    }
    this.#isUnderWay = false
    if (answer.kind === 'answered') {
      this.#noteConfirmed(records, answer.outcomes)
    }
    if (answer.kind === 'refused' || answer.outcomes.some(({ kind }) => kind !== 'unknown')) {
      this.#isImportOpen = false
    }
    return answer
  }

  /** Asks what became of calls that nobody answered, once nothing of them can land any more. */
  async ask(records: readonly SendableRecord[]): Promise<readonly Outcome[]> {
    return scrubOutcomes(await this.#ask(records), records)
  }

  async #ask(records: readonly SendableRecord[]): Promise<readonly Outcome[]> {
    const { writer, clock, signal, confirmed } = this.#context
    // Those of before the wait: what is confirmed meanwhile may not be found yet.
    const known = this.#context.confirmed.settled
    const waitMs = this.#reservedAtMs + quietMsOf(writer) - clock.monotonicMs()
    if (waitMs > 0) {
      await clock.sleep(waitMs, signal)
    }
    if (this.#isImportOpen) {
      return await this.#findImport(records)
    }
    const { lookUp } = writer
    assert(lookUp !== null, 'A destination of class lookup can be asked.')
    const deliveryKeys = this.#keysOf(records)
    const { answers } = await askForWrites(lookUp, { deliveryKeys, confirmed, known, signal })
    return answers.map((answer): Outcome => {
      switch (answer.kind) {
        case 'found':
          return { kind: 'written', remoteId: answer.remoteId }
        case 'absent':
          return NOT_THERE
        default:
          return answer
      }
    })
  }

  /** The stored intent tells of no import any more. */
  async forgetImport(): Promise<void> {
    const { database, holder } = this.#context
    if (this.#storedTag !== null && !this.#isImportOpen) {
      await endImport(database, { intentId: this.intentId, epoch: holder.epoch })
      this.#storedTag = null
    }
  }

  async #renew(records: number): Promise<void> {
    const { database, writer, clock, ids, holder } = this.#context
    const { imports } = writer
    for (;;) {
      await waitForTurn(this.#context, records)
      const reservedAtMs = clock.monotonicMs()
      const newImport = imports ? { tag: ids.next(), object: imports.object } : null
      const quietMs = quietMsOf(writer)
      const renewed = await renewIntent(database, {
        ...{ holder, intentId: this.intentId, quietMs, newImport },
      })
      if (renewed === 'fenced_off') {
        throw new AttemptStop({ kind: 'fenced_off' })
      }
      if (renewed === 'reserved') {
        this.#reservedAtMs = reservedAtMs
        this.#storedTag = newImport?.tag ?? null
        return
      }
      assert(imports !== null, 'Only an import waits for another one.')
      await waitForOpenImport(this.#context, imports)
    }
  }

  async #send(records: readonly SendableRecord[]): Promise<DeliveryAnswer> {
    const { writer, lease, clock, signal } = this.#context
    const keys = this.#keysOf(records)
    this.#isImportOpen = this.#storedTag !== null
    try {
      return await writer.deliver({
        records: records.map(({ fields, json }, index) => ({
          deliveryKey: keys[index] ?? '',
          fields,
          json,
        })),
        importTag: this.#storedTag,
        // Work in flight is finished, not torn: a stop takes effect between calls. The deadline is the writer's.
        signal: clock.deadline(writer.requestDeadlineMs + CALL_GRACE_MS),
        beforeSend: () => {
          signal.throwIfAborted()
          lease.assertTrusted()
          if (clock.monotonicMs() > this.#reservedAtMs + SEND_WITHIN_MS) {
            throw new TooLate()
          }
        },
      })
    } catch (error) {
      // A writer rejects only when it has sent nothing.
      this.#isImportOpen = false
      this.#isUnderWay = false
      if (error instanceof TooLate) {
        return { kind: 'answered', outcomes: records.map(() => NOT_WRITTEN_IN_TIME) }
      }
      throw scrubError(error, records)
    }
  }

  async #accept(jobId: string, records: readonly SendableRecord[]): Promise<readonly Outcome[]> {
    const { database, holder, faults, runId } = this.#context
    const { imports, tag } = this.#openImport()
    const { object } = imports
    const intent = { intentId: this.intentId, epoch: holder.epoch }
    if (!(await noteImport(database, { ...intent, jobId, object }))) {
      throw new AttemptStop({ kind: 'fenced_off' })
    }
    await faults('afterAccept', runId)
    const deliveryKeys = this.#keysOf(records)
    const followed = { object, tag, jobId, deliveryKeys }
    const told = await followImport(this.#context, imports, followed)
    if (told.kind === 'unknown') {
      throw stopUnanswered(told)
    }
    assert(told.outcomes.length === records.length, 'An import answers for each key.')
    this.#isImportOpen = false
    this.#noteConfirmed(records, told.outcomes)
    return told.outcomes
  }

  async #findImport(records: readonly SendableRecord[]): Promise<readonly Outcome[]> {
    const { imports, tag } = this.#openImport()
    const found = await findImport(this.#context, imports, { object: imports.object, tag })
    if (found.kind === 'unknown') {
      throw stopUnanswered(found)
    }
    if (found.kind === 'found') {
      return await this.#accept(found.jobId, records)
    }
    this.#isImportOpen = false
    return records.map(() => NOT_THERE)
  }

  #openImport() {
    const { imports } = this.#context.writer
    const tag = this.#storedTag
    assert(imports !== null && tag !== null, 'Only a writer with imports begins one, under a tag.')
    return { imports, tag }
  }

  /** For when the destination says of another one that it is not there. */
  #noteConfirmed(records: readonly SendableRecord[], outcomes: readonly Outcome[]): void {
    const { writer, confirmed } = this.#context
    if (writer.lookUp) {
      const written = records.filter((_, index) => outcomes[index]?.kind === 'written')
      confirmed.note(this.#keysOf(written))
    }
  }

  #keysOf(records: readonly SendableRecord[]): string[] {
    return records.map(({ position, recordDigest }) =>
      deliveryKey(this.#pageDigest, position, recordDigest),
    )
  }
}

const NOT_THERE: Outcome = {
  kind: 'retryable',
  failure: 'provider_unavailable',
  reason: 'The destination did not answer the call, and has nothing of it.',
  retryAfterMs: null,
}

const NOT_WRITTEN_IN_TIME: Outcome = {
  kind: 'retryable',
  failure: 'provider_unavailable',
  reason: `No connection could be made within ${SEND_WITHIN_MS / 1000} s.`,
  retryAfterMs: null,
}
