/**
 * One page from its reading to its checkpoint.
 *
 * Invariants: the page is stored, and what it sends is reserved, before the destination is called; the
 * checkpoint comes after every record has its outcome and after the lease was verified. A completed key
 * is replayed and not sent (I4); a record whose identity is in doubt is not sent; a held record that a later
 * one has overtaken is not sent (I11).
 */
import { countDispositions, type Disposition } from '../domain/delivery.ts'
import { failure } from '../domain/failure.ts'
import { assert, unreachable } from '../runtime/assert.ts'
import { openPage } from '../store/ledger.ts'
import {
  type Checkpoint,
  checkpoint,
  type HeldRecord,
  holdRecords,
  listHeldRecords,
  type RecordToHold,
  type RecordToSetAside,
} from '../store/pages.ts'
import { AttemptStop, failAttempt } from './attempt-stop.ts'
import { type ChunkResult, deliverChunk } from './deliver-chunk.ts'
import {
  judgePage,
  type PageToDeliver,
  SUPERSEDED,
  type Verdict,
  whyRejected,
} from './judge-page.ts'
import type { PreparedPage, PreparedRecord, SendableRecord } from './prepare-page.ts'
import type { Quarantine } from './quarantine.ts'
import { reserveOrDrop } from './record-answer.ts'
import { holdRejected, toHold } from './rejections.ts'
import { forgetOvertakenKeys, noteRewrittenRecords } from './rereading.ts'
import {
  type DeliveryContext,
  reserveAndSend,
  rethrow,
  toChunk,
  waitForQuiet,
} from './send-records.ts'
import { waitForTurn } from './turns.ts'

export interface PageDeliveryContext extends DeliveryContext {
  readonly quarantine: Quarantine
}

/** Everything that is known of a page's records; its checkpoint is still to come. */
export interface DeliveredPage {
  readonly source: PageToDeliver
  /** Resolves when all of it is in the ledger, with what went wrong or null. Never rejects. */
  readonly recorded: Promise<{ readonly error: unknown } | null>
  /** The destination identities of what was sent. */
  readonly sentIdentities: ReadonlySet<string>
  readonly dispositions: ReadonlyMap<number, Disposition>
  readonly held: readonly RecordToHold[]
  readonly setAside: readonly RecordToSetAside[]
  /** Positions that were held before and are delivered now. */
  readonly released: readonly number[]
  readonly firstSends: number
  readonly firstSendsRejected: number
}

/**
 * Stores, reserves and sends a page; its last answers may still be on their way into the ledger, as those
 * of the page before it, `earlier`, may be when this one begins. Throws an attempt's stop.
 */
export async function deliverPage(
  context: PageDeliveryContext,
  source: PageToDeliver,
  earlier: DeliveredPage | null,
): Promise<DeliveredPage> {
  const { page, remembered } = source
  refuseBrokenRecords(context, page)
  const allowed = page.records.filter(
    (record) => record.kind === 'sendable' && !context.leftIntents.isDoubtful(record),
  ) as readonly SendableRecord[]
  await waitForEarlier(context, earlier, allowed)
  await waitForQuiet(context, page.pageDigest, listNotOvertaken(context, source, allowed))
  await forgetOvertakenKeys(context, source)
  // A page that was stored before may hold held records: it is looked at before anything is reserved.
  const reservesAtOnce =
    !remembered &&
    !context.writer.imports &&
    isOneCall(allowed, context.writer.maxRecordsPerCall) &&
    findOvertaken(page.records, allowed).every(({ kind }) => kind === 'sendable') &&
    !isAnyNotSentAgain(context, page)
  if (reservesAtOnce) {
    await waitForTurn(context, allowed.length)
  }
  const chunk = reservesAtOnce ? toChunk(context, allowed) : null
  const reservedAtMs = context.clock.monotonicMs()
  const opened = await reserveOrDrop(context, chunk?.intentId ?? null, () =>
    openPage(context.database, {
      holder: context.holder,
      page,
      chunk,
      resendsUnknown: context.writer.deliveryClass === 'idempotent',
      retentionMs: context.retentionMs,
    }),
  )
  if (!opened) {
    throw new AttemptStop({ kind: 'fenced_off' })
  }
  const heldBefore = remembered
    ? await listHeldRecords(context.database, { ...context.holder, pageDigest: page.pageDigest })
    : []
  const { leftIntents } = context
  const verdicts = judgePage({ source, opened, heldBefore, leftIntents })
  const toSend = allowed.filter((record) => !verdicts.has(record.position))
  assert(
    !opened.isReserved || toSend.length === allowed.length,
    'What is reserved with its page is sent.',
  )
  await noteRewrittenRecords(context, source, verdicts)
  const { pageDigest } = page
  const { results, recorded } =
    chunk && opened.isReserved
      ? await deliverChunk(context, { ...chunk, pageDigest, reservedAtMs }, toSend)
      : await reserveAndSend(context, {
          pageDigest,
          records: toSend,
          beforeRound: (round, sent) =>
            holdOvertaken(context, pageDigest, {
              ofRound: findOvertaken(page.records, round),
              verdicts,
              sent,
            }),
        })
  return { ...settle(context, { source, verdicts, results, heldBefore }), recorded }
}

/**
 * A crash could leave an earlier delivery unrecorded and a later one of the same identity recorded: the
 * earlier would be sent again and overwrite the later. So what shares an identity waits; and an import
 * waits for the one before it.
 */
async function waitForEarlier(
  { writer }: DeliveryContext,
  earlier: DeliveredPage | null,
  records: readonly SendableRecord[],
): Promise<void> {
  const isShared = (record: SendableRecord) =>
    earlier?.sentIdentities.has(record.destinationIdentityHash) === true
  if (earlier && (writer.imports || records.some(isShared))) {
    rethrow(await earlier.recorded)
  }
}

/** The records behind which the page has one of these under the same name at the destination. */
function findOvertaken(
  records: readonly PreparedRecord[],
  toSend: readonly SendableRecord[],
): readonly PreparedRecord[] {
  const last = new Map(toSend.map((record) => [record.destinationIdentityHash, record.position]))
  return records.filter(
    ({ position, destinationIdentityHash }) => position < (last.get(destinationIdentityHash) ?? -1),
  )
}

/**
 * Stores what was rejected before something later of its name is sent, which supersedes it where it is
 * stored. At the checkpoint it would be too late: a crash before it, and the later one leaves the page.
 */
async function holdOvertaken(
  context: DeliveryContext,
  pageDigest: string,
  facts: {
    readonly ofRound: readonly PreparedRecord[]
    readonly verdicts: ReadonlyMap<number, Verdict>
    readonly sent: ReadonlyMap<SendableRecord, ChunkResult>
  },
): Promise<void> {
  const held = facts.ofRound.flatMap((record) => {
    const result = record.kind === 'sendable' ? facts.sent.get(record) : undefined
    const verdict =
      record.kind === 'sendable' && result
        ? toVerdict(context, { pageDigest, record, result })
        : facts.verdicts.get(record.position)
    return verdict?.disposition === 'rejected' ? [toHold(context, record, verdict)] : []
  })
  if (held.length === 0) {
    return
  }
  const isStored = await holdRecords(context.database, { holder: context.holder, pageDigest, held })
  if (!isStored) {
    throw new AttemptStop({ kind: 'fenced_off' })
  }
  context.noteHeldRecords()
}

/** What a later record of its identity has overtaken is not sent, so nothing is waited for. */
function listNotOvertaken(
  { leftIntents }: DeliveryContext,
  { remembered }: PageToDeliver,
  records: readonly SendableRecord[],
): readonly SendableRecord[] {
  return remembered
    ? records.filter((record) => !leftIntents.isOvertaken(record, remembered.ordinal))
    : records
}

/** What is not sent again and may have been written: what is in flight of it must not go with a reservation. */
function isAnyNotSentAgain({ leftIntents }: DeliveryContext, page: PreparedPage): boolean {
  return (
    leftIntents.listLeftBehind(page).length > 0 ||
    page.records.some(
      (record) => record.kind === 'unsendable' && leftIntents.isUnanswered(record, page.pageDigest),
    )
  )
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
  const { source, dispositions, held, setAside } = delivered
  rethrow(await delivered.recorded)
  await context.lease.verify()
  await context.faults('beforeCheckpoint', context.runId)
  const counters = countDispositions(dispositions.values())
  const isClean = counters.rejected === 0 && counters.inDoubt === 0
  const done = await checkpoint(context.database, {
    holder: context.holder,
    pageDigest: source.page.pageDigest,
    toCursor: source.page.toCursor,
    isClean,
    advances: source.advances,
    counters,
    firstSends: delivered.firstSends,
    firstSendsRejected: delivered.firstSendsRejected,
    held: isClean ? [] : held,
    leftBehind: listLeftBehind(context, delivered),
    setAside,
    released: delivered.released,
    confirmedKeys: context.writer.lookUp ? context.confirmed.keys.join('') || null : null,
    retentionMs: context.retentionMs,
  })
  if (!done) {
    throw new AttemptStop({ kind: 'fenced_off' })
  }
  await context.faults('afterCheckpoint', context.runId)
  return done
}

/**
 * Positions of what may have been written, or may still be, and leaves the page: older records that wait must not be
 * written over it, nor newer ones before it has landed.
 */
function listLeftBehind(
  context: DeliveryContext,
  { source, held, setAside }: DeliveredPage,
): readonly number[] {
  const isAnyHeld = context.hasHeldRecords() || held.length + setAside.length > 0
  const nowMs = context.clock.monotonicMs()
  return [
    ...context.leftIntents
      .listLeftBehind(source.page)
      .filter(({ quietAtMs }) => isAnyHeld || quietAtMs > nowMs),
    ...setAside.filter(({ keepsIntent }) => keepsIntent),
  ].map(({ position }) => position)
}

function refuseBrokenRecords(context: DeliveryContext, page: PreparedPage): void {
  const broken = page.records.find((record) => record.kind === 'unsendable' && record.isBroken)
  if (context.endsOnBrokenRecord && broken?.kind === 'unsendable') {
    throw failAttempt(failure('node_failed', { step: 'reading', detail: broken.reason }))
  }
}

function settle(
  context: PageDeliveryContext,
  facts: {
    source: PageToDeliver
    verdicts: Map<number, Verdict>
    results: ReadonlyMap<SendableRecord, ChunkResult>
    heldBefore: readonly HeldRecord[]
  },
): Omit<DeliveredPage, 'recorded'> {
  const { source, verdicts, results } = facts
  const heldBefore = new Map(facts.heldBefore.map((record) => [record.position, record]))
  const firstResults = [...results].filter(
    ([record, result]) => result.kind !== 'blocked' && !heldBefore.has(record.position),
  )
  for (const [record, result] of results) {
    const { pageDigest } = source.page
    verdicts.set(record.position, toVerdict(context, { pageDigest, record, result }))
    if (result.kind === 'inDoubt') {
      context.leftIntents.addDoubt(record)
    }
  }
  skipOvertaken(source.page.records, verdicts)
  const { held, setAside } = holdRejected(context, source.page, { verdicts, heldBefore })
  return {
    source,
    dispositions: new Map(
      [...verdicts].map(([position, verdict]) => [position, verdict.disposition]),
    ),
    held,
    setAside,
    released: [...heldBefore.keys()].filter((position) => isDelivered(verdicts.get(position))),
    sentIdentities: new Set([...results.keys()].map((record) => record.destinationIdentityHash)),
    firstSends: firstResults.length,
    firstSendsRejected: firstResults.filter(([, result]) => result.kind === 'rejected').length,
  }
}

/** Within a page: a rejected record is skipped once a later one of its identity has been written. */
function skipOvertaken(records: readonly PreparedRecord[], verdicts: Map<number, Verdict>): void {
  const delivered = new Set<string>()
  for (const record of [...records].reverse()) {
    const { position, identityHash, destinationIdentityHash } = record
    const verdict = verdicts.get(position)
    if (isDelivered(verdict)) {
      delivered.add(identityHash).add(destinationIdentityHash)
    } else if (
      verdict?.disposition === 'rejected' &&
      (delivered.has(identityHash) || delivered.has(destinationIdentityHash))
    ) {
      verdicts.set(position, { disposition: 'skipped', reason: SUPERSEDED })
    }
  }
}

function isDelivered(verdict: Verdict | undefined): boolean {
  return verdict?.disposition === 'written' || verdict?.disposition === 'replayed'
}

function toVerdict(
  { leftIntents }: DeliveryContext,
  sent: {
    readonly pageDigest: string
    readonly record: SendableRecord
    readonly result: ChunkResult
  },
): Verdict {
  const { pageDigest, record, result } = sent
  switch (result.kind) {
    case 'written':
      return { disposition: 'written', reason: null }
    case 'rejected': {
      const isUnanswered = leftIntents.isOtherUnanswered(record, pageDigest)
      return { disposition: 'rejected', reason: whyRejected(result, isUnanswered), isUnanswered }
    }
    case 'inDoubt':
    case 'blocked':
      return { disposition: 'inDoubt', reason: null }
    default:
      return unreachable(result)
  }
}
