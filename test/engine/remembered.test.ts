/**
 * What has to be remembered of an open page although its records change or leave: which of them were
 * overtaken (I11), and what was in flight when the destination was declared to repeat writes (I12).
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { breaksAt, leftOf, notesOf, rejecting, timesSent } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
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

describe.each(ENGINE_DATABASE_KINDS)('what an open page remembers, on %s', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource()
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const put = (identity: string, rank: number, email: string, note: string) =>
    source.put({ ...scriptedRow(identity, rank), fields: { email, note } })

  it('a record that was overtaken in its page is not sent when the overtaking one has moved on', async () => {
    put('row0', 0, 'x', 'old')
    put('row1', 1, 'x', 'new')
    put('row2', 2, 'z', 'z')
    await harness.startEngine()
    const options = { path: 'PAGE', identityField: 'email' }
    const sync = await harness.seedSync({ pageSize: 3, objectOptions: options })
    destination.decide(rejecting(({ note }) => note === 'old' || note === 'z'))
    expect((await harness.run(sync)).status).toBe('partial')
    put('row1', 9, 'x', 'newest')
    destination.decide(rejecting(({ note }) => note === 'z'))
    await harness.run(sync)
    destination.always({ kind: 'apply' })
    expect((await harness.run(sync)).status).toBe('succeeded')
    expect(notesOf(destination, 'x')).toEqual(['new', 'newest'])
  })

  /** What may become of the overtaking row while nobody has looked at its page again. */
  const CHANGES = {
    'has moved on': () => put('row1', 9, 'x', 'newest'),
    'was deleted': () => source.rows.delete('row1'),
    'has got another name': () => put('row1', 1, 'y', 'new'),
  }

  it.each(
    (['PAGE', 'RECORD'] as const).flatMap((path) =>
      (['afterComplete', 'beforeCheckpoint'] as const).flatMap((point) =>
        (Object.keys(CHANGES) as (keyof typeof CHANGES)[]).map(
          (change) => [change, point, path] as const,
        ),
      ),
    ),
  )(
    'an overtaken record is not sent when the overtaking one %s and the attempt broke at %s (%s)',
    async (change, point, path) => {
      put('row0', 0, 'x', 'old')
      put('row1', 1, 'x', 'new')
      put('row2', 2, 'z', 'z')
      let isBroken = false
      await harness.startEngine({
        faults: (at) => {
          if (at === point && !isBroken && notesOf(destination, 'x').includes('new')) {
            isBroken = true
            CHANGES[change]()
            destination.always({ kind: 'apply' })
            throw new Error(`Broken at ${point}.`)
          }
        },
      })
      destination.decide(rejecting(({ note }) => note === 'old'))
      const objectOptions = { path, identityField: 'email', concurrency: 1 }
      const sync = await harness.seedSync({ pageSize: 3, objectOptions })
      expect((await harness.run(sync)).status).toBe('succeeded')
      expect(isBroken).toBe(true)
      expect(notesOf(destination, 'x')).toEqual(
        change === 'has moved on' ? ['new', 'newest'] : ['new'],
      )
      expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
    },
  )

  it('a record that could not be sent is not sent later when the overtaking one has moved on', async () => {
    put('row0', 0, 'x', 'o'.repeat(2_000))
    put('row1', 1, 'x', 'new')
    await harness.startEngine({
      faults: (at) => {
        if (at === 'afterComplete') {
          put('row1', 9, 'x', 'newest')
          throw new Error(`Broken at ${at}.`)
        }
      },
    })
    const objectOptions = { path: 'PAGE', identityField: 'email' }
    const small = { ...objectOptions, maxBodyBytes: 1_000 }
    const sync = await harness.seedSync({ pageSize: 2, objectOptions: small })
    await harness.run(sync, { attemptAllowance: 1 })
    await harness.close()
    await harness.startEngine()
    const other = await republish(database(), sync, { objectOptions })
    expect((await harness.run(other)).status).toBe('succeeded')
    expect(notesOf(destination, 'x')).toEqual(['new', 'newest'])
  })

  it('what was in flight is in doubt once the destination is declared to repeat writes', async () => {
    for (const row of scriptedRows(2)) {
      source.put(row)
    }
    await harness.startEngine({ faults: breaksAt('afterSend') })
    const idempotent = { path: 'PAGE', requestDeadlineMs: 1_000 }
    const sync = await harness.seedSync({ objectOptions: idempotent })
    const broken = await harness.run(sync, { attemptAllowance: 1 })
    expect(broken.status).toBe('failed')
    const other = await republish(database(), sync, {
      objectOptions: { ...idempotent, deliveryClass: 'NONE' },
    })
    for (let n = 0; n < 2; n += 1) {
      const run = await harness.run(other)
      expect(run).toMatchObject({ status: 'partial', counters: { read: 2, inDoubt: 2 } })
    }
    expect(timesSent(destination, 'r0@example.com')).toBe(1)
  })
})
