/**
 * The pages of one attempt: first the open ones of earlier runs, oldest first, then onward from
 * `reached` until the source has no more. What people brought back from the list comes before them.
 *
 * The next page is read and prepared while the present one is on its way, and a page's checkpoint is
 * taken while the next one is being sent. Invariants: checkpoints are taken in the order of the pages;
 * a page is sent only after the page before it has all its outcomes; at most two pages are in hand.
 */
import type { ReadResult, SourceReader } from '../connectors/source.ts'
import { addCounters, type Counters, countDispositions, digestPage } from '../domain/delivery.ts'
import type { Hash } from '../domain/ids.ts'
import type { CompiledMapping } from '../domain/mapping.ts'
import type { EndOfRun } from '../domain/run.ts'
import type { SyncConfig } from '../domain/sync.ts'
import { assert } from '../runtime/assert.ts'
import type { Sealer } from '../runtime/seal.ts'
import { findOpenPage, type ListedPage, type OpenPage } from '../store/pages.ts'
import { endRereading } from '../store/rereadings.ts'
import { stopForPeople } from './attempt-stop.ts'
import {
  checkpointPage,
  type DeliveredPage,
  deliverPage,
  type PageDeliveryContext,
} from './deliver-page.ts'
import type { PageToDeliver } from './judge-page.ts'
import { type PageContext, preparePage, unpackHashes } from './prepare-page.ts'
import type { ProgressPublisher } from './progress-publisher.ts'
import { readPage } from './read-page.ts'
import { deliverRedriven } from './redrive.ts'

export interface PageLoopContext extends PageDeliveryContext {
  readonly reader: SourceReader
  readonly mapping: CompiledMapping
  readonly config: SyncConfig
  readonly sealer: Sealer
  readonly hash: Hash
  readonly publisher: ProgressPublisher
  /** Of the sync, oldest first, as the attempt finds them. */
  readonly openPages: readonly ListedPage[]
  /** The run's books and sends as recorded by its earlier attempts. */
  readonly counters: Counters
  readonly firstSends: number
  readonly firstSendsRejected: number
}

/** A prepared page or null at the end; an error is kept until its turn comes. */
type Ahead = Promise<{ readonly source: PageToDeliver | null } | { readonly error: unknown }>

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
  #ahead: Ahead = Promise.resolve({ source: null })
  /** The pages that were open when the attempt began. */
  readonly #openPages: ReadonlySet<string>
  /** The pages that this attempt has been through; only those that were open before are asked for. */
  readonly #deliveredPages = new Set<string>()

  constructor(context: PageLoopContext) {
    this.#context = context
    this.#openPages = new Set(context.openPages.map((page) => page.pageDigest))
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
      await this.#runRedriven()
      const { onward, doubtful } = await this.#runOpenPages(reached)
      await this.#runOnward(onward)
      for (const pageDigest of doubtful) {
        await this.#countDoubts(pageDigest)
      }
      await this.#awaitCheckpoint()
      if (this.#context.isRereading) {
        await endRereading(this.#context.database, this.#context.holder)
      }
    } finally {
      // Nothing goes on behind the attempt's back; what these find matters less than the error on its way.
      await this.#earlier?.recorded
      await this.#checkpointing
      await this.#ahead
    }
    return {
      counters: this.#counters,
      firstSends: this.#firstSends,
      firstSendsRejected: this.#firstSendsRejected,
    }
  }

  /** What people brought back comes first: a record of an open page may be newer, and then overtakes it. */
  async #runRedriven(): Promise<void> {
    const counters = await deliverRedriven({ ...this.#context, page: this.#pageContext })
    this.#counters = addCounters(this.#counters, counters)
  }

  /**
   * Goes through the pages that are not in the run's books yet. Returns how far delivery has come, and the
   * pages whose range is gone while something of them is in doubt: they may be read again by another way.
   */
  async #runOpenPages(
    reached: string | null,
  ): Promise<{ readonly onward: string | null; readonly doubtful: readonly string[] }> {
    const { openPages } = this.#context
    const doubtful: string[] = []
    let onward = reached
    for (const [index, { pageDigest, isCounted }] of openPages.entries()) {
      if (isCounted) {
        continue
      }
      this.#checkSignal()
      const stored = await this.#findOpen(pageDigest)
      assert(stored !== null, 'An open page stays until its sync closes it.')
      const hasLater = index < openPages.length - 1
      const source = await this.#readAgain(stored, stored.isPassed || hasLater)
      if (source.remembered?.isGone && this.#isAnyInDoubt(source)) {
        doubtful.push(pageDigest)
        continue
      }
      await this.#deliver(source)
      if (source.advances) {
        onward = stored.toCursor
      }
    }
    return { onward, doubtful }
  }

  async #runOnward(reached: string | null): Promise<void> {
    this.#ahead = this.#readAhead(reached)
    for (;;) {
      this.#checkSignal()
      const next = await this.#ahead
      if ('error' in next) {
        throw next.error
      }
      if (!next.source) {
        return
      }
      this.#ahead = this.#readAhead(next.source.page.toCursor)
      await this.#context.faults('afterReadPage', this.#context.runId)
      await this.#deliver(next.source)
    }
  }

  /** A page whose range is gone and that was not read again by another way: only its doubts are left of it. */
  async #countDoubts(pageDigest: string): Promise<void> {
    const stored = this.#deliveredPages.has(pageDigest) ? null : await this.#findOpen(pageDigest)
    if (stored) {
      await this.#deliver(this.#toGone(stored, stored.isPassed))
    }
  }

  async #readAgain(stored: OpenPage, isBehind: boolean): Promise<PageToDeliver> {
    const { fromCursor, toCursor, pageDigest, identities } = stored
    const origin = digestPage(this.#context.hash, { ...this.#pageContext.origin, fromCursor })
    if (origin !== pageDigest) {
      return this.#toGone(stored, isBehind) // of a stream or connection that the sync no longer reads
    }
    const read = await this.#read(fromCursor, toCursor)
    if (read.kind === 'gone') {
      return this.#toGone(stored, isBehind)
    }
    const records = read.kind === 'page' ? read.records : []
    const toPrepare = { fromCursor, toCursor, pageDigest, records, remembered: identities }
    return {
      page: preparePage(this.#pageContext, toPrepare),
      advances: !stored.isPassed,
      remembered: {
        ordinal: stored.ordinal,
        completed: stored.completed,
        isBehind,
        isGone: false,
      },
    }
  }

  /** Delivery does not move to the end of a range that is gone: the source starts over. */
  #toGone(stored: OpenPage, isBehind: boolean): PageToDeliver {
    const { fromCursor, toCursor, pageDigest, identities, ordinal, completed } = stored
    const toPrepare = { fromCursor, toCursor, pageDigest, records: [], remembered: identities }
    return {
      page: preparePage(this.#pageContext, toPrepare),
      advances: false,
      remembered: { ordinal, completed, isBehind: isBehind && stored.isPassed, isGone: true },
    }
  }

  #isAnyInDoubt({ page }: PageToDeliver): boolean {
    const { leftIntents } = this.#context
    return unpackHashes(page.identities).some((identity) =>
      leftIntents.isDoubtfulIdentity(identity),
    )
  }

  async #readAhead(from: string | null): Ahead {
    try {
      const read = await this.#read(from, null)
      if (read.kind !== 'page') {
        return { source: null }
      }
      const { from: fromCursor, to: toCursor, records } = read
      assert(toCursor !== from, 'A page ends behind where it began.')
      const toPrepare = { fromCursor, toCursor, pageDigest: null, records, remembered: '' }
      const page = preparePage(this.#pageContext, toPrepare)
      const { pageDigest } = page
      const stored = this.#openPages.has(pageDigest) ? await this.#findOpen(pageDigest) : null
      if (!stored) {
        return { source: { page, advances: true, remembered: null } }
      }
      // The source started over at a cursor whose page is still open: its records keep their positions.
      const remembered = stored.identities
      return {
        source: {
          page: preparePage(this.#pageContext, { ...toPrepare, remembered }),
          advances: true,
          remembered: {
            ordinal: stored.ordinal,
            completed: stored.completed,
            isBehind: false,
            isGone: false,
          },
        },
      }
    } catch (error) {
      return { error }
    }
  }

  #findOpen(pageDigest: string): Promise<OpenPage | null> {
    const { database, holder } = this.#context
    return findOpenPage(database, holder.syncId, pageDigest)
  }

  #read(from: string | null, to: string | null): Promise<ReadResult> {
    const limit = this.#context.config.pageSize
    return readPage(this.#context, { from, to, limit })
  }

  async #deliver(source: PageToDeliver): Promise<void> {
    const delivered = await deliverPage(this.#context, source, this.#earlier)
    this.#earlier = delivered
    if (source.remembered) {
      this.#deliveredPages.add(source.page.pageDigest)
    }
    await this.#awaitCheckpoint()
    this.#count(delivered)
    this.#checkpointing = this.#checkpoint(delivered)
    if (isAnyRejected(delivered)) {
      // A later page supersedes them where they are stored, so they are stored before it is sent.
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
      if (isAnyRejected(delivered)) {
        this.#context.noteHeldRecords()
      }
      await this.#context.publisher.publish(done.progress)
      const unwanted = stopForPeople(done)
      if (unwanted) {
        throw unwanted
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

function isAnyRejected({ held, setAside }: DeliveredPage): boolean {
  return held.length > 0 || setAside.length > 0
}
