/** What a run shows of the access to its two connections, and what it does not (I24). */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConnectorError } from '../../src/connectors/connector.ts'
import type { FaultHook } from '../../src/engine/fault-points.ts'
import {
  clearRefusal,
  findConnections,
  markConnected,
  markDisconnected,
  markRefused,
} from '../../src/store/connections.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { createPerson } from '../support/person.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRow,
  scriptedRows,
} from '../support/scripted-source.ts'
import type { SeededSync } from '../support/store-seed.ts'

describe.each(ENGINE_DATABASE_KINDS)('the access to a tool, on %s,', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness
  let sync: SeededSync

  beforeEach(async () => {
    source = createScriptedSource(scriptedRows(2))
    destination = await startRecordingDestination()
    harness = createEngineHarness({ database: database(), source, destination })
    sync = await harness.seedSync()
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const find = async (id: string) => {
    const [found] = await findConnections(database(), sync.workspaceId, [id])
    if (!found) {
      throw new Error('The connection has gone.')
    }
    return found
  }
  const toolOf = (end: 'source' | 'destination') =>
    end === 'source' ? sync.sourceConnectionId : sync.destinationConnectionId
  const isRefused = async (end: 'source' | 'destination') =>
    (await find(toolOf(end))).refusedAt !== null
  const refuseAt = (end: 'source' | 'destination') =>
    end === 'source'
      ? source.failWith(new ConnectorError('connection_unauthorized', 'The token has expired.'))
      : destination.always({ kind: 'answer', status: 401, body: '{"error":"Who are you?"}' })
  const letInAt = () => {
    source.failWith(null)
    destination.always({ kind: 'apply' })
  }
  const mark = async (id: string) => await markRefused(database(), await find(id), 'No.')
  /** Does the work once, at a point of the first run. */
  const once = (at: Parameters<FaultHook>[0], work: () => Promise<unknown>): FaultHook => {
    let isDone = false
    return async (point) => {
      if (point === at && !isDone) {
        isDone = true
        await work()
      }
    }
  }
  const reconnect = (id: string) =>
    database().transaction('test.reconnect', (tx) => markConnected(tx, id, null))

  it.each(['source', 'destination'] as const)(
    'is marked as refused at the %s, and at no other, by the run that was',
    async (end) => {
      refuseAt(end)
      await harness.startEngine()
      const run = await harness.run(sync)
      expect(run.failureCode).toBe('connection_unauthorized')
      const other = end === 'source' ? 'destination' : 'source'
      expect([await isRefused(end), await isRefused(other)]).toEqual([true, false])
      const [row] = await database().rows(sql`
        select refusal_detail as detail from connection where id = ${toolOf(end)}`)
      expect(row?.['detail']).toBe(run.failureDetail)
    },
  )

  it('is marked by a test of a draft as well', async () => {
    refuseAt('source')
    await harness.startEngine()
    const { runId } = await createPerson(database(), harness, sync).test(1)
    await harness.waitForEnd(runId)
    expect(await isRefused('source')).toBe(true)
  })

  it('is not marked by another failure', async () => {
    source.failWith(new ConnectorError('node_failed', 'There is no such file.'))
    await harness.startEngine()
    await harness.run(sync, { attemptAllowance: 1 })
    expect(await isRefused('source')).toBe(false)
  })

  it.each(['source', 'destination'] as const)(
    'is not marked at the %s where it was connected anew in the middle of the run',
    async (end) => {
      refuseAt(end)
      await harness.startEngine({ faults: once('beforeFinish', () => reconnect(toolOf(end))) })
      expect((await harness.run(sync)).failureCode).toBe('connection_unauthorized')
      expect(await isRefused(end)).toBe(false)
    },
  )

  it.each(['source', 'destination'] as const)(
    'is not marked at the %s, refused before, where somebody got through in the middle of the run',
    async (end) => {
      await mark(toolOf(end))
      refuseAt(end)
      const letIn = async () => clearRefusal(database(), await find(toolOf(end)))
      await harness.startEngine({ faults: once('beforeFinish', letIn) })
      expect((await harness.run(sync)).failureCode).toBe('connection_unauthorized')
      expect(await isRefused(end)).toBe(false)
      // The next one sees for itself.
      await harness.run(sync)
      expect(await isRefused(end)).toBe(true)
    },
  )

  it('is good again at both ends by the first run that gets through', async () => {
    await mark(toolOf('source'))
    await mark(toolOf('destination'))
    await harness.startEngine()
    expect((await harness.run(sync)).status).toBe('succeeded')
    expect([await isRefused('source'), await isRefused('destination')]).toEqual([false, false])
  })

  it('stays refused at a destination that the run had nothing to send to', async () => {
    source.rows.clear()
    await mark(toolOf('source'))
    await mark(toolOf('destination'))
    await harness.startEngine()
    expect((await harness.run(sync)).status).toBe('succeeded')
    expect([await isRefused('source'), await isRefused('destination')]).toEqual([false, true])
  })

  it('stays refused where the run that got through had begun before', async () => {
    await harness.startEngine({ faults: once('beforeFinish', () => mark(toolOf('destination'))) })
    expect((await harness.run(sync)).status).toBe('succeeded')
    expect(await isRefused('destination')).toBe(true)
    source.put(scriptedRow('later', 99))
    await harness.run(sync)
    expect(await isRefused('destination')).toBe(false)
  })

  it('stays refused, since the first time, while it is', async () => {
    refuseAt('destination')
    await harness.startEngine()
    await harness.run(sync)
    const { refusedAt } = await find(toolOf('destination'))
    await harness.run(sync)
    expect((await find(toolOf('destination'))).refusedAt).toEqual(refusedAt)
    letInAt()
    await harness.run(sync)
    expect(await isRefused('destination')).toBe(false)
  })

  it('counts for the access only that was seen', async () => {
    const id = toolOf('source')
    const before = await find(id)
    expect(await mark(id)).toBe(true)
    expect(await markRefused(database(), before, 'Late.')).toBe(false)
    expect(await clearRefusal(database(), before)).toBe(false)
    await reconnect(id)
    expect(await isRefused('source')).toBe(false)
    expect(await markRefused(database(), before, 'Later.')).toBe(false)
    const connected = await find(id)
    await database().transaction('test.disconnect', (tx) => markDisconnected(tx, id))
    expect(await markRefused(database(), connected, 'Too late.')).toBe(false)
    expect(await mark(id)).toBe(false)
    expect(await isRefused('source')).toBe(false)
  })
})
