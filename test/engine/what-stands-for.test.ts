/**
 * What was delivered once of a place stands for nothing that was sent there later (I4, I11): neither for another
 * content that is held or in doubt, nor does what is in flight stop keeping older records back before it has been
 * sent again.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  breaksAt,
  contactsIn,
  counts,
  hurriedClock,
  leftOf,
  notesOf,
  REFUSED,
  rejecting,
} from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
import { createPerson } from '../support/person.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRow,
} from '../support/scripted-source.ts'

const V2 = { mapping: { email: { $path: 'email' }, note: { $template: '{{note}} v2' } } }

describe.each(ENGINE_DATABASE_KINDS)('what was delivered in a place, on %s,', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness
  let faults = breaksAt('afterClaim', 0)

  const open = async (honoursKeys: boolean) => {
    faults = breaksAt('afterClaim', 0)
    source = createScriptedSource()
    destination = await startRecordingDestination({ honoursKeys })
    harness = createEngineHarness({ database: database(), source, destination })
    await harness.startEngine({ clock: hurriedClock, faults: (point, id) => faults(point, id) })
  }
  beforeEach(() => open(true))
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  it('does not stand for what was rejected there after a reset: that is held, and written in the end', async () => {
    source.put(scriptedRow('r0', 0, 'a'))
    source.put(scriptedRow('r1', 1, 'b'))
    const sync = await harness.seedSync({ pageSize: 2, objectOptions: { path: 'PAGE' } })
    await harness.run(sync)
    const changed = await republish(database(), sync, V2)
    await createPerson(database(), harness, changed).reset()
    destination.decide(rejecting(({ note }) => note === 'a v2'))
    for (let n = 0; n < 3; n += 1) {
      const run = await harness.run(changed)
      expect(run).toMatchObject({ status: 'partial', counters: { read: 2, rejected: 1 } })
    }
    destination.always({ kind: 'apply' })
    expect(await harness.run(changed)).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 2, written: 1, replayed: 1 }),
    })
    expect(notesOf(destination, 'r0@example.com')).toEqual(['a', 'a v2'])
  })

  it('does not stand for what is in doubt there after a reset, nor for what is to be sent again then', async () => {
    source.put(scriptedRow('r0', 0, 'a'))
    const objectOptions = { path: 'PAGE', deliveryClass: 'NONE' }
    const sync = await harness.seedSync({ objectOptions })
    await harness.run(sync)
    const changed = await republish(database(), sync, V2)
    const person = createPerson(database(), harness, changed)
    await person.reset()
    destination.script({ kind: 'reset' })
    for (let n = 0; n < 3; n += 1) {
      expect((await harness.run(changed)).counters).toEqual(counts({ read: 1, inDoubt: 1 }))
    }
    await database().rows(sql`update delivery_intent
      set reserved_at = reserved_at - interval '1 hour', quiet_at = quiet_at - interval '1 hour'
      where sync_id = ${sync.syncId}`)
    await database().rows(sql`update attempt set finished_at = finished_at - interval '1 hour'`)
    const [doubt] = await person.listDoubts()
    const settled = { intentId: doubt?.intentId ?? '', position: null }
    await person.settle({ ...settled, settlement: 'send_again' })
    expect((await harness.run(changed)).counters).toEqual(counts({ read: 1, written: 1 }))
    expect(notesOf(destination, 'r0@example.com')).toEqual(['a', 'a v2'])
  })

  it('in flight it keeps an older one of its identity back until it has been sent again', async () => {
    const put = (identity: string, rank: number, email: string, note: string) =>
      source.put({ ...scriptedRow(identity, rank), fields: { email, note } })
    put('old', 0, 'x', 'old')
    put('page', 1, 'p', 'p')
    put('other', 2, 'q', 'other')
    put('new', 3, 'x', 'new')
    const objectOptions = { identityField: 'email', concurrency: 1 }
    const sync = await harness.seedSync({ pageSize: 2, objectOptions })
    destination.decide((request) => {
      const [{ note } = { note: '' }] = contactsIn(request)
      if (note === 'new') {
        return { kind: 'reset', isApplied: true }
      }
      return note === 'p' ? { kind: 'apply' } : REFUSED
    })
    expect((await harness.run(sync, { attemptAllowance: 1 })).status).toBe('failed')
    destination.always({ kind: 'apply' })
    // The page of the newer one is opened again, and the attempt breaks before that one is reserved.
    faults = breaksAt('afterReserve')
    expect((await harness.run(sync, { attemptAllowance: 1 })).status).toBe('failed')
    faults = breaksAt('afterClaim', 0)
    for (let n = 0; n < 2; n += 1) {
      await harness.run(sync)
    }
    expect(notesOf(destination, 'x')).toEqual(['new'])
    expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
  })
})
