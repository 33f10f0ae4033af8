/**
 * One page from its reading to its checkpoint.
 *
 * Invariants: the page is stored, and what it sends is reserved, before the destination is called; the
 * checkpoint comes after every record has its outcome and after the lease was verified. A completed key
 * is replayed and not sent; a record whose identity is in doubt is not sent; a held record that a later
 * one has overtaken is not sent.
 */
import {
  countDispositions,
  type Disposition,
  IDENTITY_HASH_BYTES,
  RECORD_DIGEST_BYTES,
} from '../domain/delivery.ts'
import { failure } from '../domain/failure.ts'
import { toHex } from '../domain/ids.ts'
import { assert } from '../runtime/assert.ts'
import { type OpenedPage, openPage, reserve } from '../store/ledger.ts'
import {
  type Checkpoint,
  checkpoint,
  type HeldRecord,
  listHeldRecords,
  type RecordToHold,
} from '../store/pages.ts'
import type { RunHolder } from '../store/runs.ts'
import { AttemptStop, failAttempt } from './attempt-stop.ts'
import { type ChunkContext, type ChunkResult, deliverChunk } from './deliver-chunk.ts'
import type { DoubtfulIdentities } from './doubtful-identities.ts'
import type { PreparedPage, PreparedRecord, SendableRecord } from './prepare-page.ts'

export interface DeliveryContext extends ChunkContext {
  readonly holder: RunHolder
  readonly connectionId: string
  readonly retentionMs: number
  readonly endsOnBrokenRecord: boolean
  readonly doubtful: DoubtfulIdentities
}

export interface PageToDeliver {
  readonly page: PreparedPage
  /** `reached` has not moved past it yet. */
  readonly advances: boolean
  /** It was stored before, so records of it may be held. */
  readonly isReread: boolean
  /** 12 bytes a position, kept with the page since the ledger may have forgotten them. */
  readonly keptCompleted: Uint8Array | null
}

/** Everything that is known of a page's records; its checkpoint is still to come. */
export interface DeliveredPage {
  readonly source: PageToDeliver
  readonly dispositions: ReadonlyMap<number, Disposition>
  readonly held: readonly RecordToHold[]
  readonly firstSends: number
  readonly firstSendsRejected: number
}

interface Verdict {
  readonly disposition: Disposition
  readonly reason: string | null
}

/** Stores, reserves, sends and records a page. Throws an attempt's stop. */
export async function deliverPage(
  context: DeliveryContext,
  source: PageToDeliver,
): Promise<DeliveredPage> {
  const { page } = source
  refuseBrokenRecords(context, page)
  const sendable = page.records.filter((record) => record.kind === 'sendable')
  const allowed = sendable.filter((record) => !context.doubtful.has(record))
  // A page that was stored before may hold held records: it is looked at before anything is reserved.
  const reservesAtOnce = !source.isReread && isOneCall(allowed, context.writer.maxRecordsPerCall)
  const intentId = context.ids.next()
  const opened = await openPage(context.database, {
    holder: context.holder,
    page,
    chunk: reservesAtOnce ? toChunk(context, intentId, allowed) : null,
    resendsUnknown: context.writer.deliveryClass === 'idempotent',
    retentionMs: context.retentionMs,
  })
  if (!opened) {
    throw new AttemptStop({ kind: 'fenced_off' })
  }
  const heldBefore = source.isReread
    ? await listHeldRecords(context.database, context.holder.syncId, page.pageDigest)
    : []
  const verdicts = judge(context, { source, opened, heldBefore })
  const toSend = allowed.filter((record) => !verdicts.has(record.position))
  assert(
    !opened.isReserved || toSend.length === allowed.length,
    'What is reserved with its page is sent.',
  )
  const results = opened.isReserved
    ? await deliverChunk(context, { intentId, pageDigest: page.pageDigest, records: toSend })
    : await reserveAndSend(context, page.pageDigest, toSend)
  return settle(context, { source, verdicts, results, heldBefore })
}

/** Records of one identity go into calls of their own, one after the other: an earlier one may have to be sent again. */
function isOneCall(records: readonly SendableRecord[], maxRecordsPerCall: number): boolean {
  const identities = new Set(records.map((record) => record.destinationIdentityHash))
  return (
    records.length > 0 && records.length <= maxRecordsPerCall && identities.size === records.length
  )
}

/** Closes or keeps a delivered page. Throws `lease_lost` or a fenced-off stop; then nothing has changed. */
export async function checkpointPage(
  context: DeliveryContext,
  delivered: DeliveredPage,
): Promise<Checkpoint> {
  const { source, dispositions, held } = delivered
  await context.lease.verify()
  await context.faults('beforeCheckpoint', context.runId)
  const counters = countDispositions(dispositions.values())
  const done = await checkpoint(context.database, {
    holder: context.holder,
    pageDigest: source.page.pageDigest,
    toCursor: source.page.toCursor,
    isClean: counters.rejected === 0 && counters.inDoubt === 0,
    advances: source.advances,
    counters,
    firstSends: delivered.firstSends,
    firstSendsRejected: delivered.firstSendsRejected,
    held,
    retentionMs: context.retentionMs,
  })
  if (!done) {
    throw new AttemptStop({ kind: 'fenced_off' })
  }
  await context.faults('afterCheckpoint', context.runId)
  return done
}

function refuseBrokenRecords(context: DeliveryContext, page: PreparedPage): void {
  const broken = page.records.find((record) => record.kind === 'unsendable' && record.isBroken)
  if (context.endsOnBrokenRecord && broken?.kind === 'unsendable') {
    throw failAttempt(failure('node_failed', { step: 'reading', detail: broken.reason }))
  }
}

/** What is decided about records without sending them, by position. */
function judge(
  context: DeliveryContext,
  facts: {
    source: PageToDeliver
    opened: OpenedPage
    heldBefore: readonly HeldRecord[]
  },
): Map<number, Verdict> {
  const { source, opened, heldBefore } = facts
  const completed = mergeCompleted(source.keptCompleted, opened)
  const superseded = new Set(
    heldBefore.filter((record) => record.isSuperseded).map((record) => record.position),
  )
  const verdicts = new Map<number, Verdict>()
  for (const record of source.page.records) {
    const verdict = judgeRecord(context, record, {
      completedDigest: completed.get(record.position) ?? null,
      isSuperseded: superseded.has(record.position),
    })
    if (verdict) {
      verdicts.set(record.position, verdict)
    }
  }
  for (const position of source.page.left) {
    verdicts.set(position, judgeLeft(context, source.page, position, completed.has(position)))
  }
  return verdicts
}

function judgeRecord(
  context: DeliveryContext,
  record: PreparedRecord,
  facts: { completedDigest: string | null; isSuperseded: boolean },
): Verdict | null {
  if (facts.isSuperseded) {
    return { disposition: 'skipped', reason: null }
  }
  if (context.doubtful.has(record)) {
    return { disposition: 'inDoubt', reason: null }
  }
  if (record.kind === 'unsendable') {
    return { disposition: 'rejected', reason: record.reason }
  }
  const isDelivered = facts.completedDigest === toHex(record.recordDigest)
  return isDelivered ? { disposition: 'replayed', reason: null } : null
}

/** A record that left its page comes again where it moved to, or is gone; in doubt it stays. */
function judgeLeft(
  context: DeliveryContext,
  page: PreparedPage,
  position: number,
  isCompleted: boolean,
): Verdict {
  const start = position * IDENTITY_HASH_BYTES
  const identityHash = toHex(page.identities.subarray(start, start + IDENTITY_HASH_BYTES))
  if (context.doubtful.hasIdentity(identityHash)) {
    return { disposition: 'inDoubt', reason: null }
  }
  return { disposition: isCompleted ? 'replayed' : 'skipped', reason: null }
}

/** Record digests in hexadecimal by position: the ledger's, and the page's own where the ledger has none. */
function mergeCompleted(kept: Uint8Array | null, opened: OpenedPage): Map<number, string> {
  const completed = new Map<number, string>()
  const text = kept ? toHex(kept) : ''
  const width = RECORD_DIGEST_BYTES * 2
  for (let start = 0; start < text.length; start += width) {
    const digest = text.slice(start, start + width)
    if (!/^0+$/.test(digest)) {
      completed.set(start / width, digest)
    }
  }
  for (const { position, recordDigest } of opened.completed) {
    completed.set(position, recordDigest)
  }
  return completed
}

/** Sends in chunks, each reserved when its turn comes, so that no more is reserved than is in flight. */
async function reserveAndSend(
  context: DeliveryContext,
  pageDigest: Uint8Array,
  records: readonly SendableRecord[],
): Promise<ReadonlyMap<SendableRecord, ChunkResult>> {
  const results = new Map<SendableRecord, ChunkResult>()
  for (const round of toRounds(records, context.writer.maxRecordsPerCall)) {
    const queue = round.values()
    let stop: { readonly error: unknown } | null = null
    const worker = async () => {
      for (const chunk of queue) {
        if (stop) {
          return
        }
        try {
          for (const [record, result] of await reserveChunk(context, pageDigest, chunk)) {
            results.set(record, result)
          }
        } catch (error) {
          stop ??= { error }
        }
      }
    }
    // Every call under way is awaited, also after a failure: nothing goes on behind the attempt's back.
    await Promise.all(Array.from({ length: context.writer.concurrency }, worker))
    rethrow(stop)
  }
  return results
}

function rethrow(stop: { readonly error: unknown } | null): void {
  if (stop) {
    throw stop.error
  }
}

async function reserveChunk(
  context: DeliveryContext,
  pageDigest: Uint8Array,
  chunk: readonly SendableRecord[],
): Promise<ReadonlyMap<SendableRecord, ChunkResult>> {
  context.signal.throwIfAborted()
  context.lease.assertTrusted()
  const records = chunk.filter((record) => !context.doubtful.has(record))
  const blocked = chunk.filter((record) => context.doubtful.has(record))
  const results = new Map<SendableRecord, ChunkResult>(
    blocked.map((record) => [record, { kind: 'inDoubt', reason: '' }]),
  )
  if (records.length > 0) {
    const intentId = context.ids.next()
    const isReserved = await reserve(context.database, {
      holder: context.holder,
      pageDigest,
      chunk: toChunk(context, intentId, records),
    })
    if (!isReserved) {
      throw new AttemptStop({ kind: 'fenced_off' })
    }
    for (const [record, result] of await deliverChunk(context, { intentId, pageDigest, records })) {
      results.set(record, result)
      if (result.kind === 'inDoubt') {
        context.doubtful.add(record)
      }
    }
  }
  return results
}

/**
 * Chunks that may be under way at once, round by round. A record whose identity came before goes into a
 * later round, so that deliveries to one identity keep the source's order.
 */
function toRounds(
  records: readonly SendableRecord[],
  maxRecordsPerCall: number,
): readonly (readonly (readonly SendableRecord[])[])[] {
  const rounds: SendableRecord[][] = []
  const seen = new Map<string, number>()
  for (const record of records) {
    const round = seen.get(record.destinationIdentityHash) ?? 0
    seen.set(record.destinationIdentityHash, round + 1)
    const members = rounds[round]
    if (members) {
      members.push(record)
    } else {
      rounds[round] = [record]
    }
  }
  return rounds.map((members) => {
    const chunks: SendableRecord[][] = []
    for (let start = 0; start < members.length; start += maxRecordsPerCall) {
      chunks.push(members.slice(start, start + maxRecordsPerCall))
    }
    return chunks
  })
}

function toChunk(context: DeliveryContext, intentId: string, records: readonly SendableRecord[]) {
  const { writer } = context
  return {
    intentId,
    connectionId: context.connectionId,
    positions: records.map((record) => record.position),
    recordDigests: Buffer.concat(records.map((record) => record.recordDigest)),
    destinationIdentities: Buffer.from(
      records.map((record) => record.destinationIdentityHash).join(''),
      'hex',
    ),
    quietMs: writer.requestDeadlineMs + writer.settlingMs,
  }
}

function settle(
  context: DeliveryContext,
  facts: {
    source: PageToDeliver
    verdicts: Map<number, Verdict>
    results: ReadonlyMap<SendableRecord, ChunkResult>
    heldBefore: readonly HeldRecord[]
  },
): DeliveredPage {
  const { source, verdicts, results } = facts
  const heldBefore = new Set(facts.heldBefore.map((record) => record.position))
  const firstResults = [...results].filter(([record]) => !heldBefore.has(record.position))
  for (const [record, result] of results) {
    verdicts.set(record.position, toVerdict(result))
    if (result.kind === 'inDoubt') {
      context.doubtful.add(record)
    }
  }
  skipOvertaken(source.page.records, verdicts)
  const held = source.page.records.flatMap((record): RecordToHold[] => {
    const verdict = verdicts.get(record.position)
    return verdict?.disposition === 'rejected'
      ? [
          {
            position: record.position,
            identityHash: record.identityHash,
            destinationIdentityHash: record.destinationIdentityHash,
            reason: verdict.reason ?? '',
          },
        ]
      : []
  })
  return {
    source,
    dispositions: new Map(
      [...verdicts].map(([position, verdict]) => [position, verdict.disposition]),
    ),
    held,
    firstSends: firstResults.length,
    firstSendsRejected: firstResults.filter(([, result]) => result.kind === 'rejected').length,
  }
}

/** Within a page: a rejected record is skipped once a later one of its identity has been written. */
function skipOvertaken(records: readonly PreparedRecord[], verdicts: Map<number, Verdict>): void {
  const written = new Set<string>()
  for (const record of [...records].reverse()) {
    const disposition = verdicts.get(record.position)?.disposition
    if (disposition === 'written' || disposition === 'replayed') {
      written.add(record.destinationIdentityHash)
    } else if (disposition === 'rejected' && written.has(record.destinationIdentityHash)) {
      verdicts.set(record.position, { disposition: 'skipped', reason: null })
    }
  }
}

function toVerdict(result: ChunkResult): Verdict {
  return { disposition: result.kind, reason: result.kind === 'written' ? null : result.reason }
}
