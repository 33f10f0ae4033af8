/** What people do to a sync while engines are at work on it: the commands themselves, as the API calls them. */
import { cancelRun } from '../../src/commands/cancel-run.ts'
import type { Actor, CommandContext } from '../../src/commands/context.ts'
import { discardRecords } from '../../src/commands/discard-records.ts'
import { OutsideCalls } from '../../src/commands/outside-calls.ts'
import { pauseSync } from '../../src/commands/pause-sync.ts'
import { redriveRecords } from '../../src/commands/redrive-records.ts'
import { resetCursor } from '../../src/commands/reset-cursor.ts'
import { runSync } from '../../src/commands/run-sync.ts'
import { settleDelivery } from '../../src/commands/settle-delivery.ts'
import { testSync } from '../../src/commands/test-sync.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createRegistry } from '../../src/connectors/registry.ts'
import type { Settlement } from '../../src/domain/doubt.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createIdSource, systemRandom } from '../../src/runtime/random.ts'
import { createSealer } from '../../src/runtime/seal.ts'
import type { Database } from '../../src/store/database.ts'
import { listDoubts } from '../../src/store/history/doubts.ts'
import { listRejectedRecords } from '../../src/store/history/rejected-records.ts'
import type { EngineHarness } from './engine-harness.ts'
import { createLocalClient } from './local-client.ts'
import { newId, type SeededSync } from './store-seed.ts'

export function createPerson(database: Database, harness: EngineHarness, sync: SeededSync) {
  const { workspaceId, syncId } = sync
  const context: CommandContext = {
    database,
    bus: harness.bus,
    clock: systemClock,
    logger: harness.logger,
    ids: createIdSource(systemClock, systemRandom),
    random: systemRandom,
    registry: createRegistry([], [createHttpDestination({ client: createLocalClient() })]),
    sealer: createSealer(Buffer.alloc(32, 7), systemRandom),
    outsideCalls: new OutsideCalls(systemClock),
  }
  const actor: Actor = {
    workspaceId,
    tokenId: newId(),
    tokenName: 'test',
    role: 'admin',
    isTajo: false,
  }
  return {
    pause: () => pauseSync(context, actor, { syncId, reason: 'Maintenance.' }),
    cancel: (runId: string) => cancelRun(context, actor, { runId, reason: 'Not today.' }),
    runNow: () => runSync(context, actor, { syncId }),
    test: (limit: number) => testSync(context, actor, { syncId, limit }),
    reset: () => resetCursor(context, actor, { syncId, reason: 'Start over.' }),
    settle: (given: { intentId: string; position: number | null; settlement: Settlement }) =>
      settleDelivery(context, actor, { ...given, reason: 'I looked it up.' }),
    /** All that are set aside, unless some are named. */
    redrive: (recordIds: readonly string[] | null = null) =>
      redriveRecords(context, actor, { syncId, recordIds }),
    discard: (recordIds: readonly string[]) =>
      discardRecords(context, actor, { syncId, recordIds, reason: 'Nobody needs it.' }),
    listRejected: () =>
      listRejectedRecords(database, workspaceId, {
        of: { syncId },
        states: ['held', 'quarantined', 'redriving', 'delivered', 'superseded', 'discarded'],
        after: null,
        limit: 1_000,
      }),
    listDoubts: () =>
      listDoubts(database, workspaceId, { syncId, runId: null, after: null, limit: 1_000 }),
  }
}
