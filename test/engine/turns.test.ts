/** A writer that says wait is waited for before anything is reserved, and a stop does not wait with it. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FREE_GATE, type Turn } from '../../src/connectors/call-gate.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createRegistry } from '../../src/connectors/registry.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { createLocalClient } from '../support/local-client.ts'
import { createPerson } from '../support/person.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRows,
} from '../support/scripted-source.ts'
import { createSignal } from '../support/signal.ts'

/** One call for the page, reserved with it; and one a record, reserved by itself. */
const PATHS = [
  ['PAGE', { path: 'PAGE', deliveryClass: 'NONE' }],
  ['RECORD', { path: 'RECORD', deliveryClass: 'NONE', concurrency: 1 }],
] as const

function waitTurn(waitMs: number): Turn {
  return { kind: 'wait', waitMs, failure: 'provider_rate_limited', reason: 'Not yet.' }
}

describe.each(ENGINE_DATABASE_KINDS)('a turn that has to be waited for, on %s', (kind) => {
  const database = useDatabase(kind)
  const client = createLocalClient()
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource(scriptedRows(2))
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
    client.close()
  })

  const countIntents = async () => {
    const [row] = await database().rows<{ count: number }>(
      sql`select count(*)::int as count from delivery_intent`,
    )
    return row?.count
  }
  const registryWith = (take: () => Promise<Turn>) => {
    const openGate = () => ({ ...FREE_GATE, take })
    return createRegistry([source], [createHttpDestination({ client, openGate })])
  }
  const readRun = async (runId: string) => {
    const [row] = await database().rows(sql`
      select status, attempts_spent as spent,
             extract(epoch from due_at - now())::float8 as "dueInS",
             (select failure_code from attempt where run_id = run.id order by number desc limit 1) as code
      from run where id = ${runId}`)
    return row
  }
  /** An engine whose writer says to wait for 50 s from its n-th turn on, and resolves when it does. */
  const startWaiting = async (from = 1) => {
    const isWaiting = createSignal()
    let turns = 0
    const engine = await harness.startEngine({
      registry: registryWith(() => {
        turns += 1
        if (turns < from) {
          return Promise.resolve({ kind: 'go' })
        }
        isWaiting.reach()
        return Promise.resolve(waitTurn(50_000))
      }),
    })
    return { engine, isWaiting }
  }

  it.each(PATHS)('is waited for before anything is reserved (%s)', async (_, objectOptions) => {
    const seen: [string, number | undefined][] = []
    let turns = 0
    await harness.startEngine({
      registry: registryWith(async () => {
        turns += 1
        seen.push(['asked', await countIntents()])
        return turns % 2 === 1 ? waitTurn(20) : { kind: 'go' }
      }),
      faults: async (point) => {
        if (point === 'afterReserve') {
          seen.push(['reserved', await countIntents()])
        }
      },
    })
    const sync = await harness.seedSync({ objectOptions })
    expect(await harness.run(sync)).toMatchObject({ status: 'succeeded' })
    const call = [
      ['asked', 0],
      ['asked', 0],
      ['reserved', 1],
    ]
    expect(seen).toEqual(objectOptions.path === 'PAGE' ? call : [...call, ...call])
  })

  it.each(PATHS)(
    'that is longer than a minute ends the attempt with its failure, and the next one is due then (%s)',
    async (_, objectOptions) => {
      await harness.startEngine({ registry: registryWith(() => Promise.resolve(waitTurn(90_000))) })
      const sync = await harness.seedSync({ objectOptions })
      const runId = await harness.enqueue(sync)
      await harness.waitFor(runId, ({ status, sequence }) => status === 'queued' && sequence.n > 0)
      const run = await readRun(runId)
      expect(run).toMatchObject({ status: 'queued', spent: 1, code: 'provider_rate_limited' })
      expect(run?.['dueInS']).toBeGreaterThan(80)
      expect(run?.['dueInS']).toBeLessThanOrEqual(95)
      expect(await countIntents()).toBe(0)
      expect(destination.requests).toEqual([])
    },
  )

  it.each(PATHS)(
    'does not hold up a drain: the run is handed back at once (%s)',
    async (_, objectOptions) => {
      const { engine, isWaiting } = await startWaiting()
      const sync = await harness.seedSync({ objectOptions })
      const runId = await harness.enqueue(sync)
      await isWaiting.reached
      await engine.stop()
      expect(await readRun(runId)).toMatchObject({ status: 'queued', spent: 0 })
      expect(await countIntents()).toBe(0)
      await harness.startEngine()
      expect(await harness.waitForEnd(runId)).toMatchObject({ status: 'succeeded' })
      expect([...destination.effects.values()]).toEqual([1, 1])
    },
  )

  it.each(PATHS)(
    'does not hold up a pause: nothing is sent after it (%s)',
    async (_, objectOptions) => {
      const { isWaiting } = await startWaiting()
      const sync = await harness.seedSync({ objectOptions })
      const runId = await harness.enqueue(sync)
      await isWaiting.reached
      await createPerson(database(), harness, sync).pause()
      expect(await harness.waitForEnd(runId)).toMatchObject({
        status: 'failed',
        failureCode: 'attestation_rule_not_active',
      })
      expect(await countIntents()).toBe(0)
      expect(destination.requests).toEqual([])
    },
  )

  it.each(PATHS)(
    'before another try of a call leaves nothing reserved when the run stops (%s)',
    async (_, objectOptions) => {
      destination.script({ kind: 'answer', status: 429, body: '{}' })
      const { engine, isWaiting } = await startWaiting(2)
      const sync = await harness.seedSync({ objectOptions })
      const runId = await harness.enqueue(sync)
      await isWaiting.reached
      await engine.stop()
      expect(await readRun(runId)).toMatchObject({ status: 'queued', spent: 0 })
      expect(await countIntents()).toBe(0)
      await harness.startEngine()
      expect(await harness.waitForEnd(runId)).toMatchObject({
        status: 'succeeded',
        counters: { written: 2, inDoubt: 0 },
      })
      expect([...destination.effects.values()]).toEqual([1, 1])
    },
  )
})
