/**
 * One attempt of one run: lease, open pages, new pages, end.
 *
 * Invariants: nothing is sent before the lease is taken and the open pages of earlier runs have been
 * gone through, oldest first; an attempt always ends with a verb on its run, or finds that the run is
 * not its own any more. README.md tells what a crash at each point leaves behind.
 */
import type { DestinationWriter } from '../connectors/destination.ts'
import type { ConnectorRegistry } from '../connectors/registry.ts'
import { type Bus, WAKE_CHANNEL } from '../coordination/bus.ts'
import type { Leases } from '../coordination/lease.ts'
import { failure } from '../domain/failure.ts'
import type { Hash } from '../domain/ids.ts'
import { type CompiledMapping, compileMapping } from '../domain/mapping.ts'
import type { RetryPolicy } from '../domain/retry.ts'
import { decideStanding, readSyncConfig, type SyncConfig } from '../domain/sync.ts'
import type { TestRecord } from '../domain/test-run.ts'
import { assert } from '../runtime/assert.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { IdSource, Random } from '../runtime/random.ts'
import type { Sealer } from '../runtime/seal.ts'
import type { BreakerSettings } from '../store/breaker.ts'
import { listConfirmedKeys, listDeliveredKeys } from '../store/confirmed-keys.ts'
import type { Database } from '../store/database.ts'
import { hasLeftIntents } from '../store/left-intents.ts'
import { hasHeldRecords, type ListedPage, listOpenPages } from '../store/pages.ts'
import { countSetAside } from '../store/quarantine.ts'
import { isRereading } from '../store/rereadings.ts'
import type { RunHolder } from '../store/run-ends.ts'
import { type ClaimedRun, setTotalRecords } from '../store/runs.ts'
import { findSavedCursor } from '../store/test-runs.ts'
import { failAttempt, type StopCause, stopCauseOf, unlessStopped } from './attempt-stop.ts'
import { ConfirmedWrites, MAX_CONFIRMED } from './confirmed-writes.ts'
import { endRun, type RunEnd } from './end-run.ts'
import type { FaultHook } from './fault-points.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import { LeftIntents } from './left-intents.ts'
import { type Ends, findEnds, type OpenConnectors, openConnectors } from './open-connectors.ts'
import { PageLoop } from './page-loop.ts'
import { ProgressPublisher } from './progress-publisher.ts'
import { Quarantine } from './quarantine.ts'
import { settleLeft } from './settle-left.ts'
import { Silence } from './silence.ts'
import { testRecords } from './test-run.ts'

export interface AttemptSettings {
  readonly leaseLifeMs: number
  readonly leaseRenewalMs: number
  readonly beatTrustMs: number
  readonly retentionMs: number
  /** In so many runs a record is rejected before it is set aside, where the sync says so. */
  readonly quarantineAfterRuns: number
  readonly retry: RetryPolicy
  readonly breaker: BreakerSettings
}

export interface AttemptParts {
  readonly database: Database
  readonly leases: Leases
  readonly bus: Bus
  readonly registry: ConnectorRegistry
  readonly sealer: Sealer
  readonly clock: Clock
  readonly logger: Logger
  readonly ids: IdSource
  readonly random: Random
  readonly hash: Hash
  readonly faults: FaultHook
  readonly settings: AttemptSettings
  readonly workerId: string
  /** Aborted when the drain's deadline has passed. */
  readonly lateSignal: AbortSignal
  beatSentAtMs(): number
  beatGaps(): number
}

/** Runs a claimed run to an end. Resolves when its end is recorded or it is another's; never rejects but for a bug. */
export async function runAttempt(
  parts: AttemptParts,
  claimed: ClaimedRun,
  signal: AbortSignal,
): Promise<void> {
  const { logger, clock, bus } = parts
  const publisher = new ProgressPublisher(bus, clock)
  const holder: RunHolder = {
    runId: claimed.runId,
    syncId: claimed.syncId,
    workerId: parts.workerId,
    epoch: claimed.epoch,
  }
  const lease = new LeaseKeeper({
    ...parts,
    syncId: claimed.syncId,
    token: { epoch: claimed.epoch, runId: claimed.runId },
    lifeMs: parts.settings.leaseLifeMs,
    renewalMs: parts.settings.leaseRenewalMs,
    beatTrustMs: parts.settings.beatTrustMs,
    beatSentAtMs: () => parts.beatSentAtMs(),
    beatGaps: () => parts.beatGaps(),
  })
  await publisher.publish(claimed.progress)
  const { end, ends } = await reachEnd(parts, { claimed, holder, lease, publisher, signal })
  await parts.faults('beforeFinish', claimed.runId)
  try {
    const progress = await endRun({ ...parts, claimed, holder, ends }, end)
    if (progress) {
      await publisher.publish(progress)
    } else {
      logger.warn('run.lost', { runId: claimed.runId, epoch: claimed.epoch })
    }
  } finally {
    publisher.close()
    await lease.release()
  }
  if (end.kind === 'stopped' && isHandedBack(end.stop)) {
    // After the lease: whoever claims the run now finds nothing in its way.
    await bus.publish(WAKE_CHANNEL, {})
  }
}

function isHandedBack({ kind }: StopCause): boolean {
  return kind === 'draining' || kind === 'interrupted'
}

interface AttemptContext {
  readonly claimed: ClaimedRun
  readonly holder: RunHolder
  readonly lease: LeaseKeeper
  readonly publisher: ProgressPublisher
  readonly signal: AbortSignal
}

/** How the attempt ended, and the connections that it was at; null: it did not get so far. */
interface ReachedEnd {
  readonly end: RunEnd
  readonly ends: Ends | null
}

async function reachEnd(parts: AttemptParts, context: AttemptContext): Promise<ReachedEnd> {
  const { claimed, lease } = context
  let connectors: OpenConnectors | null = null
  let ends: Ends | null = null
  try {
    await parts.faults('afterClaim', claimed.runId)
    context.signal.throwIfAborted()
    const { signal } = context
    const { workspaceId, testLimit } = claimed
    if (testLimit !== null) {
      const config = readTestedConfig(claimed)
      ends = await findEnds(parts.database, workspaceId, config)
      const records = await runTest(parts, context, { config, ends, limit: testLimit })
      return { end: { kind: 'tested', records }, ends }
    }
    const config = checkStanding(claimed)
    const finding = findEnds(parts.database, workspaceId, config)
    // Thrown below, once the lease is taken: nobody may give it back while it is being taken.
    finding.catch(() => undefined)
    await lease.take()
    const found = await finding
    ends = found
    await parts.faults('afterLease', claimed.runId)
    connectors = await unlessStopped(signal, () =>
      openConnectors({ ...parts, workspaceId, config, ends: found, signal }),
    )
    const totals = await createPageLoop(parts, context, { config, connectors }).then((loop) =>
      loop.run(claimed.reached),
    )
    return { end: { kind: 'end_of_source', totals }, ends }
  } catch (error) {
    const stop = stopCauseOf(error, null)
    parts.logger.warn('attempt.stopped', { runId: claimed.runId, stop: stop.kind }, error)
    return { end: { kind: 'stopped', stop }, ends }
  } finally {
    await connectors?.close()
  }
}

/** Of the draft, whether anything is published, paused or not: nothing is written, so no lease is needed (I23). */
async function runTest(
  parts: AttemptParts,
  { claimed, signal }: AttemptContext,
  test: { readonly config: SyncConfig; readonly ends: Ends; readonly limit: number },
): Promise<readonly TestRecord[]> {
  const { workspaceId, syncId } = claimed
  const { config, ends, limit } = test
  const connectors = await unlessStopped(signal, () =>
    openConnectors({ ...parts, workspaceId, config, ends, signal }),
  )
  try {
    const mapping = compileVersion(config)
    const from = await findSavedCursor(parts.database, syncId)
    return await testRecords({ ...connectors, mapping, from, limit, signal })
  } finally {
    await connectors.close()
  }
}

function readTestedConfig({ config }: ClaimedRun): SyncConfig {
  assert(config !== null, 'A test run has a version.')
  return readSyncConfig(config)
}

/** The configuration that may run. Throws an attempt's stop when the version no longer stands. */
function checkStanding(claimed: ClaimedRun): SyncConfig {
  const refusal = decideStanding({
    status: claimed.syncStatus,
    publicationId: claimed.currentPublicationId,
    runPublicationId: claimed.publicationId,
  })
  if (refusal || !claimed.config) {
    throw failAttempt(failure(refusal ?? 'attestation_publication_not_attested'))
  }
  return readSyncConfig(claimed.config)
}

async function createPageLoop(
  parts: AttemptParts,
  context: AttemptContext,
  opened: { readonly config: SyncConfig; readonly connectors: OpenConnectors },
): Promise<PageLoop> {
  const { claimed, holder, lease, publisher, signal } = context
  const { config, connectors } = opened
  const mapping = compileVersion(config)
  const { writer } = connectors
  const connectionId = config.destinationConnectionId
  const confirmed = await findConfirmed(parts, claimed.syncId, writer)
  const { totalRecords } = connectors.reader
  // Side by side: somebody may be waiting for the run to begin.
  const [isAnyLeft, found] = await Promise.all([
    hasLeftIntents(parts.database, holder),
    findBeginning(parts, claimed, config),
    totalRecords === null ? null : setTotalRecords(parts.database, holder, totalRecords),
  ])
  const settling = { ...parts, writer, confirmed, holder, signal, connectionId }
  const leftIntents = isAnyLeft ? await settleLeft(settling) : new LeftIntents([], 0)
  // What was settled may be rejected, and set aside.
  const beginning = isAnyLeft ? await findBeginning(parts, claimed, config) : found
  let { isAnyHeld } = beginning
  return new PageLoop({
    ...parts,
    ...beginning,
    reader: connectors.reader,
    writer,
    confirmed,
    mapping,
    config,
    holder,
    lease,
    publisher,
    leftIntents,
    silence: new Silence(),
    signal,
    retentionMs: parts.settings.retentionMs,
    runId: claimed.runId,
    connectionId,
    endsOnBrokenRecord: config.onBrokenRecord === 'FAIL',
    hasHeldRecords: () => isAnyHeld,
    noteHeldRecords: () => {
      isAnyHeld = true
    },
    counters: claimed.progress.counters,
    firstSends: claimed.firstSends,
    firstSendsRejected: claimed.firstSendsRejected,
  })
}

interface Beginning {
  readonly isAnyHeld: boolean
  readonly isRereading: boolean
  readonly quarantine: Quarantine
  readonly openPages: readonly ListedPage[]
}

/** What earlier runs left that decides how this one begins. */
async function findBeginning(
  parts: AttemptParts,
  { runId, syncId }: ClaimedRun,
  config: SyncConfig,
): Promise<Beginning> {
  const { database } = parts
  const [isAnyHeld, isReread, quarantine, openPages] = await Promise.all([
    hasHeldRecords(database, syncId),
    isRereading(database, syncId),
    createQuarantine(parts, syncId, config),
    listOpenPages(database, { syncId, runId }),
  ])
  return { isAnyHeld, isRereading: isReread, quarantine, openPages }
}

/** Throws an attempt's stop. */
function compileVersion(config: SyncConfig): CompiledMapping {
  const compiled = compileMapping(config.mapping)
  if (compiled.kind === 'invalid') {
    const [problem] = compiled.problems
    const detail = problem ? `${problem.field}: ${problem.reason}` : 'The mapping is not valid.'
    throw failAttempt(failure('node_failed', { step: 'mapping', detail }))
  }
  return compiled.mapping
}

async function findConfirmed(
  { database, clock, ids, settings }: AttemptParts,
  syncId: string,
  { lookUp, settlingMs }: DestinationWriter,
): Promise<ConfirmedWrites> {
  const sought = { syncId, retentionMs: settings.retentionMs }
  const confirmed = new ConfirmedWrites({
    ...{ clock, ids, settlingMs },
    listDelivered: () =>
      listDeliveredKeys(database, { ...sought, settlingMs, limit: MAX_CONFIRMED }),
  })
  if (lookUp) {
    confirmed.noteAged(await listConfirmedKeys(database, sought))
  }
  return confirmed
}

async function createQuarantine(
  parts: AttemptParts,
  syncId: string,
  { onRejected, sourceConnectionId, stream }: SyncConfig,
): Promise<Quarantine> {
  const isOn = onRejected === 'QUARANTINE'
  return new Quarantine({
    sealer: parts.sealer,
    origin: { syncId, sourceConnectionId, stream },
    afterRuns: isOn ? parts.settings.quarantineAfterRuns : null,
    setAside: isOn ? await countSetAside(parts.database, syncId) : 0,
  })
}
