/** Runs of a sync into the stand-in for Brevo: a changing source, workers that break where they are told to. */
import { sql } from 'drizzle-orm'
import type { DestinationConnector } from '../../../src/connectors/destination.ts'
import { createRegistry } from '../../../src/connectors/registry.ts'
import type { JsonObject } from '../../../src/domain/json.ts'
import { type FaultHook, noFaults } from '../../../src/engine/fault-points.ts'
import { type Clock, systemClock } from '../../../src/runtime/clock.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { createSealer } from '../../../src/runtime/seal.ts'
import type { Database } from '../../../src/store/database.ts'
import { createEngineHarness, type EngineHarness } from '../engine-harness.ts'
import { createScriptedSource, type ScriptedSource } from '../scripted-source.ts'
import { newId, type SeededSync } from '../store-seed.ts'
import { createBrevo } from './open-writer.ts'
import type { BrevoStandIn } from './server.ts'

export interface BrevoStage {
  readonly source: ScriptedSource
  readonly harness: EngineHarness
  /** The version of a person, at the end of what is to be read. */
  put(name: string, version: number, email?: string): void
  start(given?: {
    readonly faults?: FaultHook
    readonly connector?: DestinationConnector
  }): Promise<void>
  seed(options: JsonObject, mapping?: JsonObject): Promise<SeededSync>
}

/** Long waits (quiet times, polls) and those between two tries of a call are over at once; the lease keeps its pace. */
const hurriedClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => {
    const isHurried = ms >= 30_000 || (ms > 200 && ms < 2_000)
    return systemClock.sleep(isHurried ? 1 : ms, signal)
  },
}

const MAPPING = { email: { $path: 'email' }, attributes: { FIRSTNAME: { $path: 'note' } } }

export function createBrevoStage(database: Database, standIn: BrevoStandIn): BrevoStage {
  const source = createScriptedSource()
  const harness = createEngineHarness({ database, source, destination: standIn })
  const sealer = createSealer(Buffer.alloc(32, 7), systemRandom)
  let rank = 0
  return {
    source,
    harness,
    put: (name, version, email = `${name}@example.com`) => {
      rank += 1
      source.put({ identity: name, rank, fields: { email, note: `v${version}` } })
    },
    start: async ({ faults = noFaults, connector = createBrevo() } = {}) => {
      const registry = createRegistry([source], [connector])
      await harness.startEngine({ clock: hurriedClock, faults, registry })
    },
    seed: async (options, mapping = MAPPING) => {
      const sync = await harness.seedSync({
        ...{ mapping, object: 'contacts', pageSize: 2, workspaceId: newId() },
        destination: { type: 'brevo', config: { baseUrl: standIn.url } },
        objectOptions: { requestDeadlineMs: 1_000, importPatienceMs: 1_000, ...options },
      })
      const { destinationConnectionId: id } = sync
      const sealed = sealer.seal(JSON.stringify({ apiKey: standIn.apiKey }), id)
      await database.rows(
        sql`update connection set sealed_credentials = ${sealed} where id = ${id}`,
      )
      return sync
    },
  }
}
