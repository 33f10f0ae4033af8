/**
 * Everything that the engine, the watchers and people do to one sync, as the statements and commands they
 * do it with, and a sync on which all of it can be done: its run is running, an earlier one has failed and left
 * a delivery in doubt, and a slot of its schedule is due.
 */
import { sql } from 'drizzle-orm'
import { approvePublication } from '../../src/commands/approve-publication.ts'
import { cancelRun as cancelByPerson } from '../../src/commands/cancel-run.ts'
import type { Actor, CommandContext } from '../../src/commands/context.ts'
import { OutsideCalls } from '../../src/commands/outside-calls.ts'
import { pauseSync } from '../../src/commands/pause-sync.ts'
import { publishSync } from '../../src/commands/publish-sync.ts'
import { Refusal } from '../../src/commands/refusals.ts'
import { refusePublication } from '../../src/commands/refuse-publication.ts'
import { resetCursor } from '../../src/commands/reset-cursor.ts'
import { resumeSync } from '../../src/commands/resume-sync.ts'
import { retryRun } from '../../src/commands/retry-run.ts'
import { settleDelivery } from '../../src/commands/settle-delivery.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createRegistry } from '../../src/connectors/registry.ts'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import { type Counters, LEDGER_RETENTION_MS, NO_COUNTS } from '../../src/domain/delivery.ts'
import { failure } from '../../src/domain/failure.ts'
import { digestConfig } from '../../src/domain/sync.ts'
import { refuse } from '../../src/engine/refuse-slot.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { sha256 } from '../../src/runtime/hash.ts'
import { createIdSource, systemRandom } from '../../src/runtime/random.ts'
import { createSealer } from '../../src/runtime/seal.ts'
import { recordWithBreaker } from '../../src/store/breaker.ts'
import type { Database } from '../../src/store/database.ts'
import { type Chunk, complete, openPage, reserve } from '../../src/store/ledger.ts'
import { checkpoint } from '../../src/store/pages.ts'
import { insertRequest } from '../../src/store/publication-requests.ts'
import {
  cancelRun,
  completeRun,
  failRun,
  postponeRun,
  type RunHolder,
  releaseRun,
} from '../../src/store/run-ends.ts'
import { fireSlots, storeSlots } from '../../src/store/schedules.ts'
import { sweepRun } from '../../src/store/sweeps.ts'
import { closeRunOfSilentWorker, type RunningRun, recoverRun } from '../../src/store/workers.ts'
import { createLocalClient } from './local-client.ts'
import { createRecordingLogger } from './recording-logger.ts'
import { createScriptedSource } from './scripted-source.ts'
import {
  BREAKER_PARTS,
  newId,
  type SeededPage,
  type SeededSync,
  seedChunk,
  seedClaimedRun,
  seedPage,
  seedSync,
} from './store-seed.ts'

export interface BusySync {
  readonly sync: SeededSync
  readonly holder: RunHolder
  /** The running run as an observer has seen it. */
  readonly seen: RunningRun
  readonly failedRunId: string
  readonly doubtId: string
  readonly slotMs: number
  /** That the draft be published, which nobody has answered. */
  readonly requestId: string
  /** The page that was left with a delivery in doubt. */
  readonly doubtful: SeededPage
  /** The page in hand, all of it reserved. */
  readonly page: SeededPage
  readonly chunk: Chunk
}

const SLOT_MS = Date.UTC(2026, 0, 1)

export async function seedBusySync(database: Database): Promise<BusySync> {
  const destination = { type: 'http', config: { baseUrl: 'http://127.0.0.1:9' } }
  const sync = await seedSync(database, { destination })
  await database.rows(sql`update connection set type = 'scripted'
    where id = ${sync.sourceConnectionId}`)
  const schedule = { kind: 'interval' as const, everyMs: 60_000 }
  const slots = { schedule, anchorMs: SLOT_MS, slotMs: SLOT_MS }
  await storeSlots(database, sync.syncId, slots)
  const failed = await seedClaimedRun(database, sync)
  const doubtful = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
  const doubt: Chunk = { ...seedChunk(sync, doubtful), deliveryClass: 'none', quietMs: 0 }
  await open(database, { holder: failed.holder, page: doubtful, chunk: doubt })
  await failRun(database, failed.holder, failure('provider_unavailable'))
  const { holder } = await seedClaimedRun(database, sync)
  const page = seedPage(sync, { from: 'b', to: 'c', values: ['y', 'z'] })
  const chunk = seedChunk(sync, page)
  await open(database, { holder, page, chunk })
  const seen = { ...holder, takeOvers: 0, beatN: 0 }
  const [failedRunId, doubtId] = [failed.holder.runId, doubt.intentId]
  const requestId = await requestDraft(database, sync)
  const rest = { slotMs: SLOT_MS, requestId, doubtful, page, chunk }
  return { sync, holder, seen, failedRunId, doubtId, ...rest }
}

/** Somebody else wants the draft published as it is. */
export async function requestDraft(
  database: Database,
  { workspaceId, syncId, config }: SeededSync,
): Promise<string> {
  const id = newId()
  await database.transaction('test.requestDraft', (tx) =>
    insertRequest(tx, {
      ...{ id, workspaceId, syncId, config, reason: 'R' },
      ...{ versionDigest: digestConfig(sha256, config) },
      by: { tokenId: newId(), tokenName: 'requester' },
    }),
  )
  return id
}

function open(
  database: Database,
  given: { holder: RunHolder; page: SeededPage; chunk: Chunk | null },
) {
  const { holder, page, chunk } = given
  const rest = { resendsUnknown: true, retentionMs: LEDGER_RETENTION_MS }
  return openPage(database, { holder, page: page.page, chunk, ...rest })
}

/** Does it through the database of one session. What it resolves with is compared by its words only. */
type Verb = (database: Database, busy: BusySync) => Promise<unknown>

const LOST = failure('lease_lost')

const AWAY = failure('provider_unavailable')

/** The earlier run has failed: with this one it is the second in a row. */
const trippingOf = ({ syncId }: SeededSync) => ({
  ...{ name: 'test.trip', syncId, ids: BREAKER_PARTS.ids },
  breaker: { threshold: 2, channels: ['log' as const] },
})

/** Those after which the run is not its worker's any more. */
export const TAKERS = {
  complete: (db, { holder }) => completeRun(db, holder, 'partial'),
  fail: (db, { holder }) => failRun(db, holder, LOST),
  postpone: (db, { holder }) => postponeRun(db, holder, { failure: LOST, delayMs: 60_000 }),
  release: (db, { holder }) => releaseRun(db, holder),
  cancel: (db, { holder }) => cancelRun(db, holder),
  recover: (db, { seen }) => recoverRun(db, seen),
  close: (db, { seen }) => closeRunOfSilentWorker(db, seen, failure('stale_job_swept')),
  sweep: (db, { seen }) => sweepRun(db, BREAKER_PARTS, seen),
  'fail and trip': (db, { sync, holder }) =>
    recordWithBreaker(db, trippingOf(sync), (tx) => failRun(tx, holder, AWAY)),
  'close and trip': (db, { sync, seen }) =>
    recordWithBreaker(db, trippingOf(sync), (tx) => closeRunOfSilentWorker(tx, seen, AWAY)),
  'sweep and trip': (db, { sync, seen }) => sweepRun(db, trippingOf(sync), seen),
} satisfies Record<string, Verb>

const WORK = {
  'open a page': (db, { sync, holder }) => {
    const page = seedPage(sync, { from: 'c', to: 'd', values: ['1', '2'] })
    return open(db, { holder, page, chunk: seedChunk(sync, page) })
  },
  reserve: (db, { sync, holder, page }) =>
    reserve(db, { holder, pageDigest: page.page.pageDigest, chunk: seedChunk(sync, page) }),
  'record an answer': (db, { holder, chunk }) =>
    complete(db, {
      intentId: chunk.intentId,
      epoch: holder.epoch,
      written: [{ index: 0, result: null }],
      remaining: { intentId: newId(), indexes: [1], keepsImport: false },
      hasHeldRecords: true,
    }),
  checkpoint: (db, { holder, page }) =>
    passPage(db, { holder, page, counters: { ...NO_COUNTS, read: 2, written: 2 } }),
  'checkpoint the page in doubt': (db, { holder, doubtful }) =>
    passPage(db, { holder, page: doubtful, counters: { ...NO_COUNTS, read: 1, inDoubt: 1 } }),
} satisfies Record<string, Verb>

function passPage(
  database: Database,
  given: { holder: RunHolder; page: SeededPage; counters: Counters },
) {
  const { holder, counters } = given
  const { pageDigest, toCursor } = given.page.page
  return checkpoint(database, {
    ...{ holder, pageDigest, toCursor, counters, isClean: counters.inDoubt === 0, advances: true },
    ...{ firstSends: counters.written, firstSendsRejected: 0, held: [], leftBehind: [] },
    ...{ setAside: [], released: [], confirmedKeys: null },
    retentionMs: LEDGER_RETENTION_MS,
  })
}

const PEOPLE = {
  pause: (db, { sync }) => pauseSync(...actingFor(db, sync), { syncId: sync.syncId, reason: 'R' }),
  'ask to cancel': (db, { sync, holder }) =>
    cancelByPerson(...actingFor(db, sync), { runId: holder.runId, reason: 'R' }),
  resume: (db, { sync }) => resumeSync(...actingFor(db, sync), { syncId: sync.syncId }),
  approve: (db, { sync, requestId }) => approvePublication(...actingFor(db, sync), { requestId }),
  'refuse to publish': (db, { sync, requestId }) =>
    refusePublication(...actingFor(db, sync), { requestId, reason: 'R' }),
  publish: (db, { sync }) => publishSync(...actingFor(db, sync), { syncId: sync.syncId }),
  retry: (db, { sync, failedRunId }) => retryRun(...actingFor(db, sync), { runId: failedRunId }),
  settle: (db, { sync, doubtId: intentId }) =>
    settleDelivery(...actingFor(db, sync), {
      ...{ intentId, position: null, settlement: 'delivered', reason: 'R' },
    }),
  reset: (db, { sync }) =>
    resetCursor(...actingFor(db, sync), { syncId: sync.syncId, reason: 'R' }),
} satisfies Record<string, Verb>

/** It passes by what somebody else holds. */
const PASSING = {
  'fire a slot': (db, { sync, slotMs }) =>
    fireSlots(db, [
      {
        ...{ runId: newId(), syncId: sync.syncId, slotMs, nextSlotMs: slotMs + 60_000 },
        isCatchingUp: false,
      },
    ]).then(([fired]) => fired?.kind ?? null),
  'refuse a slot': (db, { sync, slotMs }) =>
    refuse(
      { ...trippingOf(sync), database: db },
      {
        ...{ runId: newId(), syncId: sync.syncId, slotMs, nextSlotMs: slotMs + 60_000 },
        ...{ isCatchingUp: false, failure: failure('unclassified_exception') },
      },
    ).then(({ kind }) => (kind === 'left' ? null : kind)),
} satisfies Record<string, Verb>

export const VERBS: Readonly<Record<string, Verb>> = { ...TAKERS, ...WORK, ...PEOPLE, ...PASSING }

export const mayPass = (name: string): boolean => name in PASSING

/** Carries a verb out and names how it ended: with what, by which refusal, or by which error of the database. */
export async function act(name: string, database: Database, busy: BusySync): Promise<string> {
  const verb = VERBS[name]
  if (!verb) {
    throw new Error(`There is no verb ${name}.`)
  }
  try {
    const result = await verb(database, busy)
    if (result === null || typeof result !== 'object') {
      return String(result)
    }
    return 'status' in result ? `done: ${String(result.status)}` : 'done'
  } catch (error) {
    return error instanceof Refusal ? `refused: ${error.code}` : `error: ${String(error)}`
  }
}

/** What stands there of a sync, without ids and moments. */
export async function readBusySync(database: Database, { sync, holder }: BusySync) {
  const [row] = await database.rows(sql`
    select sync.status as sync, fence.epoch, fence.reached, fence.saved_cursor as saved,
           sync.publication_id = ${sync.publicationId} as "isFirstPublication",
           (select jsonb_build_object('status', status, 'epoch', epoch, 'spent', attempts_spent,
              'takeOvers', take_overs, 'eventN', event_n, 'read', "read", 'failure', failure_code,
              'isCancelRequested', cancel_requested_at is not null, 'isHeld', worker_id is not null)
            from run where id = ${holder.runId}) as run,
           (select jsonb_agg(outcome order by epoch) from attempt
            where run_id = ${holder.runId}) as outcomes,
           (select jsonb_agg(concat_ws(' ', cause, status, resolved_at is not null)
                             order by cause, status)
            from run where sync_id = sync.id and id <> ${holder.runId}) as others,
           (select jsonb_agg(concat_ws(' ', from_cursor, is_passed, completed) order by from_cursor)
            from open_page where sync_id = sync.id) as pages,
           (select jsonb_agg(concat_ws(' ', delivery_class, epoch, positions)
                             order by delivery_class, epoch, positions)
            from delivery_intent where sync_id = sync.id) as intents,
           (select jsonb_agg(action order by action) from audit_entry
            where workspace_id = ${sync.workspaceId}) as deeds,
           (select jsonb_agg(status order by id) from publication_request
            where sync_id = sync.id) as requests,
           (select jsonb_agg(concat_ws(' ', published_by, approved_by) order by id)
            from publication where sync_id = sync.id) as publications,
           sync.pause_cause as "pauseCause", sync.paused_by_run_id is not null as "isPausedByRun",
           (select jsonb_agg(concat_ws(' ', kind, closed_at is null) order by kind, closed_at)
            from alert where sync_id = sync.id) as alerts,
           (select concat_ws(' ', coalesced, slot_at) from sync_schedule
            where sync_id = sync.id) as slots
    from sync
    join sync_fence as fence on fence.sync_id = sync.id
    where sync.id = ${sync.syncId}`)
  return row ?? {}
}

const logger = createRecordingLogger()
const shared = {
  bus: createMemoryBus(logger),
  clock: systemClock,
  logger,
  ids: createIdSource(systemClock, systemRandom),
  random: systemRandom,
  registry: createRegistry(
    [createScriptedSource()],
    [createHttpDestination({ client: createLocalClient() })],
  ),
  sealer: createSealer(Buffer.alloc(32, 7), systemRandom),
  outsideCalls: new OutsideCalls(systemClock),
}

/** What a command takes first: its parts, and a person of the sync's workspace. */
export function actingFor(database: Database, sync: SeededSync): [CommandContext, Actor] {
  const actor = {
    workspaceId: sync.workspaceId,
    tokenId: newId(),
    tokenName: 'test',
    role: 'admin',
    isTajo: false,
  } as const
  return [{ ...shared, database }, actor]
}
