/**
 * The pages of one attempt: first the open ones of earlier runs, oldest first, then onward from
 * `reached` until the source has no more.
 *
 * The next page is read and prepared while the present one is on its way, and a page's checkpoint is
 * taken while the next one is being sent. Invariants: checkpoints are taken in the order of the pages;
 * a page is sent only after the page before it has all its outcomes; at most two pages are in hand.
 */
import type { ReadResult, SourceReader } from '../connectors/source.ts'
import { type Counters, countDispositions } from '../domain/delivery.ts'
import { failure, type Step } from '../domain/failure.ts'
import type { Hash } from '../domain/ids.ts'
import type { CompiledMapping } from '../domain/mapping.ts'
import type { EndOfRun } from '../domain/run.ts'
import type { SyncConfig } from '../domain/sync.ts'
import { assert } from '../runtime/assert.ts'
import { findOpenPage, listOpenPages, type OpenPage } from '../store/pages.ts'
import { AttemptStop, failAttempt, stopCauseOf } from './attempt-stop.ts'
import { checkpointPage, type DeliveredPage, deliverPage } from './deliver-page.ts'
import type { PageToDeliver } from './judge-page.ts'
import { type PageContext, type PreparedPage, preparePage } from './prepare-page.ts'
import type { ProgressPublisher } from './progress-publisher.ts'
import type { DeliveryContext } from './send-records.ts'

export interface PageLoopContext extends DeliveryContext {
  readonly reader: SourceReader
  readonly mapping: CompiledMapping
  readonly config: SyncConfig
  readonly hash: Hash
  readonly publisher: ProgressPublisher
  /** The run's books and sends as recorded by its earlier attempts. */
  readonly counters: Counters
  readonly firstSends: number
  readonly firstSendsRejected: number
  noteHeldRecords(): void
}

/** A prepared page or null at the end; an error is kept until its turn comes. */
type Ahead = Promise<{ readonly page: PreparedPage | null } | { readonly error: unknown }>

export class PageLoop {
  readonly #context: PageLoopContext
  readonly #pageContext: PageContext
  #counters: Counters
  #firstSends: number
  #firstSendsRejected: number
  /** The checkpoint under way of the page before. */
  #checkpointing: Promise<{ readonly error: unknown } | null> = Promise.resolve(null)
  /** The page before, whose last answers may still be on their way into the ledger. */
  #earlier: DeliveredPage | null = null
  /** The page that is being read. */
  #ahead: Ahead = Promise.resolve({ page: null })

  constructor(context: PageLoopContext) {
    this.#context = context
    this.#counters = context.counters
    this.#firstSends = context.firstSends
    this.#firstSendsRejected = context.firstSendsRejected
    this.#pageContext = {
      hash: context.hash,
      origin: {
        syncId: context.holder.syncId,
        sourceConnectionId: context.config.sourceConnectionId,
        stream: context.config.stream,
      },
      mapping: context.mapping,
      writer: context.writer,
    }
  }

  /** Delivers everything there is. Throws an attempt's stop, after what was under way has been recorded. */
  async run(reached: string | null): Promise<EndOfRun> {
    try {
      const onward = await this.#runOpenPages(reached)
      await this.#runOnward(onward)
      await this.#awaitCheckpoint()
    } finally {
      // Nothing goes on behind the attempt's back; what these two found matters less than the error on its way.
      await this.#checkpointing
      await this.#ahead
    }
    return {
      counters: this.#counters,
      firstSends: this.#firstSends,
      firstSendsRejected: this.#firstSendsRejected,
    }
  }

  /** Returns how far delivery has come. */
  async #runOpenPages(reached: string | null): Promise<string | null> {
    const { database, holder } = this.#context
    let onward = reached
    for (const pageDigest of await listOpenPages(database, holder)) {
      this.#checkSignal()
      const stored = await findOpenPage(database, holder.syncId, pageDigest)
      assert(stored !== null, 'An open page stays until its sync closes it.')
      const read = await this.#read(stored.fromCursor, stored.toCursor)
      const isThere = read.kind === 'page'
      const page = preparePage(this.#pageContext, {
        fromCursor: stored.fromCursor,
        toCursor: stored.toCursor,
        records: isThere ? read.records : [],
        remembered: stored.identities,
      })
      // A range that is gone is closed, but delivery does not move to its end: the source starts over.
      const advances = !stored.isPassed && read.kind !== 'gone'
      await this.#deliver(toReread(page, stored, advances))
      if (advances) {
        onward = stored.toCursor
      }
    }
    return onward
  }

  async #runOnward(reached: string | null): Promise<void> {
    this.#ahead = this.#readAhead(reached)
    for (;;) {
      this.#checkSignal()
      const next = await this.#ahead
      if ('error' in next) {
        throw next.error
      }
      if (!next.page) {
        return
      }
      this.#ahead = this.#readAhead(next.page.toCursor)
      await this.#context.faults('afterReadPage', this.#context.runId)
      await this.#deliver({
        page: next.page,
        advances: true,
        isReread: false,
        keptCompleted: null,
      })
    }
  }

  async #readAhead(from: string | null): Ahead {
    try {
      const read = await this.#read(from, null)
      if (read.kind !== 'page') {
        return { page: null }
      }
      const { from: fromCursor, to: toCursor, records } = read
      assert(toCursor !== from, 'A page ends behind where it began.')
      const toPrepare = { fromCursor, toCursor, records, remembered: '' }
      return { page: preparePage(this.#pageContext, toPrepare) }
    } catch (error) {
      return { error }
    }
  }

  async #read(from: string | null, to: string | null): Promise<ReadResult> {
    const { reader, config, signal } = this.#context
    return await atStep('reading', () =>
      reader.readPage({ from, to, limit: config.pageSize, signal }),
    )
  }

  async #deliver(source: PageToDeliver): Promise<void> {
    const delivered = await deliverPage(this.#context, source, this.#earlier)
    this.#earlier = delivered
    await this.#awaitCheckpoint()
    this.#count(delivered)
    this.#checkpointing = this.#checkpoint(delivered)
    if (delivered.held.length > 0) {
      // A later page supersedes held records where these are stored, so they are stored before it is sent.
      await this.#awaitCheckpoint()
    }
  }

  #count(delivered: DeliveredPage): void {
    this.#counters = addCounters(this.#counters, countDispositions(delivered.dispositions.values()))
    this.#firstSends += delivered.firstSends
    this.#firstSendsRejected += delivered.firstSendsRejected
  }

  /** Never rejects: its error is kept for the next page's turn. */
  async #checkpoint(delivered: DeliveredPage): Promise<{ readonly error: unknown } | null> {
    try {
      const done = await checkpointPage(this.#context, delivered)
      if (delivered.held.length > 0) {
        this.#context.noteHeldRecords()
      }
      await this.#context.publisher.publish(done.progress)
      if (done.syncStatus !== 'active') {
        throw failAttempt(failure('attestation_rule_not_active'))
      }
      return null
    } catch (error) {
      return { error }
    }
  }

  async #awaitCheckpoint(): Promise<void> {
    const failed = await this.#checkpointing
    if (failed) {
      throw failed.error
    }
  }

  #checkSignal(): void {
    this.#context.signal.throwIfAborted()
  }
}

function toReread(page: PreparedPage, stored: OpenPage, advances: boolean): PageToDeliver {
  return { page, advances, isReread: true, keptCompleted: stored.completed }
}

/** Names the step in which something failed. */
async function atStep<T>(step: Step, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new AttemptStop(stopCauseOf(error, step), { cause: error })
  }
}

function addCounters(a: Counters, b: Counters): Counters {
  return {
    read: a.read + b.read,
    written: a.written + b.written,
    replayed: a.replayed + b.replayed,
    rejected: a.rejected + b.rejected,
    inDoubt: a.inDoubt + b.inDoubt,
    quarantined: a.quarantined + b.quarantined,
    skipped: a.skipped + b.skipped,
  }
}
