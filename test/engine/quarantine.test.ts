/** Records that are rejected run after run: held for ever, or set aside so that their page can close (I8, I17). */
import { inspect } from 'node:util'
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Sealer } from '../../src/runtime/seal.ts'
import type { Database } from '../../src/store/database.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { breaksAt, counts, leftOf, rejecting, timesSent } from '../support/deliveries.ts'
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
  scriptedRows,
} from '../support/scripted-source.ts'
import type { SeededSync } from '../support/store-seed.ts'

const ASIDE = { onRejected: 'QUARANTINE', objectOptions: { path: 'PAGE' } } as const
const REJECTED = 'The destination said: no.'

describe.each(ENGINE_DATABASE_KINDS)('a record that every run rejects, on %s,', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource(scriptedRows(4))
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const email = (identity: string) => `${identity}@example.com`
  const reject = (...identities: readonly string[]) =>
    destination.decide(rejecting((contact) => identities.map(email).includes(contact.email)))
  const sent = (identity: string) => timesSent(destination, email(identity))
  const listed = (sync: SeededSync) => createPerson(database(), harness, sync).listRejected()
  const savedCursor = async ({ syncId }: SeededSync) => {
    const rows = await database().rows<{ saved: string }>(
      sql`select saved_cursor as saved from sync_fence where sync_id = ${syncId}`,
    )
    return rows[0]?.saved
  }

  it('is held under HOLD, however many runs there are', async () => {
    await harness.startEngine()
    const sync = await harness.seedSync({ ...ASIDE, onRejected: 'HOLD', pageSize: 2 })
    reject('r1')
    for (let runs = 1; runs <= 5; runs += 1) {
      const run = await harness.run(sync)
      expect(run.counters).toMatchObject({ rejected: 1, quarantined: 0 })
      expect(await listed(sync)).toMatchObject([{ state: 'held', runs, isKept: false }])
    }
    expect(await savedCursor(sync)).toBe('-1')
    expect(sent('r1')).toBe(5)
  })

  it('is set aside by the third under QUARANTINE, its page closes, and no later run reads or sends it', async () => {
    await harness.startEngine()
    const sync = await harness.seedSync({ ...ASIDE, pageSize: 2 })
    reject('r1')
    const rejected = { status: 'partial', counters: counts({ read: 4, written: 3, rejected: 1 }) }
    expect(await harness.run(sync)).toMatchObject(rejected)
    expect(await harness.run(sync)).toMatchObject({
      status: 'partial',
      counters: counts({ read: 2, replayed: 1, rejected: 1 }),
    })
    expect(await savedCursor(sync)).toBe('-1')
    const third = await harness.run(sync)
    expect(third).toMatchObject({
      status: 'partial',
      counters: counts({ read: 2, replayed: 1, quarantined: 1 }),
    })
    expect(await listed(sync)).toMatchObject([
      { state: 'quarantined', runs: 3, position: 1, isKept: true, lastRunId: third.runId },
    ])
    expect(await savedCursor(sync)).toBe('3')
    expect(await leftOf(database(), sync.syncId)).toMatchObject({ pages: 0, intents: 0 })
    const reads = source.reads.length
    expect(await harness.run(sync)).toMatchObject({ status: 'succeeded', counters: counts({}) })
    expect(source.reads.slice(reads)).toEqual(['3'])
    expect(sent('r1')).toBe(3)
  })

  it('is skipped while another record keeps its page open, and what is set aside later closes it', async () => {
    await harness.startEngine()
    const sync = await harness.seedSync({ ...ASIDE, pageSize: 2 })
    reject('r1', 'late')
    await harness.run(sync)
    source.put(scriptedRow('late', 0.5))
    await harness.run(sync)
    expect(await harness.run(sync)).toMatchObject({
      counters: counts({ read: 3, replayed: 1, rejected: 1, quarantined: 1 }),
    })
    source.put(scriptedRow('r1', 1, 'changed in its place'))
    expect(await harness.run(sync)).toMatchObject({
      status: 'partial',
      counters: counts({ read: 3, replayed: 1, skipped: 1, quarantined: 1 }),
    })
    expect(sent('r1')).toBe(3)
    expect(await leftOf(database(), sync.syncId)).toMatchObject({ pages: 0, intents: 0 })
    expect(await harness.run(sync)).toMatchObject({ status: 'succeeded' })
  })

  it.each([
    ['maps to nothing that may be sent', { fields: { email: 'x', note: 'a\u0000b' } }, true],
    ['is too large', { fields: { email: 'x', note: 'n'.repeat(2_000) } }, true],
    ['cannot be read', { fields: { email: 'x' }, problem: 'line 2 has 1 column' }, false],
  ])('is set aside as well where it %s', async (_, bad, isKept) => {
    source.put({ ...scriptedRow('r1', 1), ...bad })
    await harness.startEngine()
    const sync = await harness.seedSync({
      ...ASIDE,
      objectOptions: { path: 'PAGE', maxBodyBytes: 1_000 },
    })
    for (const disposition of ['rejected', 'rejected', 'quarantined']) {
      expect((await harness.run(sync)).counters).toMatchObject({ [disposition]: 1 })
    }
    expect(await listed(sync)).toMatchObject([{ state: 'quarantined', runs: 3, isKept }])
    expect(await leftOf(database(), sync.syncId)).toMatchObject({ pages: 0 })
  })

  it('is set aside by the next run once its sync says so', async () => {
    await harness.startEngine()
    const sync = await harness.seedSync({ ...ASIDE, onRejected: 'HOLD' })
    reject('r1')
    for (let runs = 0; runs < 4; runs += 1) {
      await harness.run(sync)
    }
    const other = await republish(database(), sync, { onRejected: 'QUARANTINE' })
    expect((await harness.run(other)).counters).toMatchObject({ quarantined: 1 })
    expect(await listed(sync)).toMatchObject([{ state: 'quarantined', runs: 5 }])
  })

  it.each([
    'afterClaim',
    'afterLease',
    'afterReserve',
    'afterSend',
    'afterComplete',
    'beforeCheckpoint',
    'afterCheckpoint',
    'beforeFinish',
  ] as const)(
    'is set aside once, and counted once, where the attempt breaks at %s',
    async (point) => {
      let faults = breaksAt('afterClaim', Number.POSITIVE_INFINITY)
      await harness.startEngine({ faults: (at, runId) => faults(at, runId) })
      const sync = await harness.seedSync({ ...ASIDE, pageSize: 2 })
      reject('r1')
      await harness.run(sync)
      await harness.run(sync)
      faults = breaksAt(point)
      expect(await harness.run(sync)).toMatchObject({
        status: 'partial',
        counters: counts({ read: 2, replayed: 1, quarantined: 1 }),
      })
      expect(await listed(sync)).toMatchObject([{ state: 'quarantined', runs: 3 }])
      expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 1 })
      expect(Math.max(...destination.effects.values())).toBe(1)
      expect(await harness.run(sync)).toMatchObject({ status: 'succeeded', counters: counts({}) })
    },
  )

  it('is not set aside for having waited: only a rejection counts', async () => {
    source.rows.clear()
    source.put({ ...scriptedRow('old', 0), fields: { email: 'x', note: 'old' } })
    source.put({ ...scriptedRow('new', 1), fields: { email: 'x', note: 'new' } })
    let faults = breaksAt('afterSend', 2)
    await harness.startEngine({ faults: (at, runId) => faults(at, runId) })
    const objectOptions = { path: 'PAGE', identityField: 'email' }
    const sync = await harness.seedSync({ ...ASIDE, pageSize: 1, objectOptions })
    destination.decide(rejecting(({ note }) => note === 'old'))
    await harness.run(sync, { attemptAllowance: 1 })
    // While the newer one is in flight the older one waits, run after run.
    for (let runs = 0; runs < 3; runs += 1) {
      faults = breaksAt('afterReserve')
      await harness.run(sync, { attemptAllowance: 1 })
      expect(await listed(sync)).toMatchObject([{ state: 'held', runs: 1 }])
    }
    faults = breaksAt('afterClaim', Number.POSITIVE_INFINITY)
    await harness.run(sync)
    await harness.run(sync)
    expect(destination.applied.at(-1)?.record).toMatchObject({ note: 'new' })
  })

  describe('and what is kept of it', () => {
    const SECRET = 'Mrs-Havisham-1812'

    /** Sets a record aside whose row has the secret, in a field that is mapped and in one that is not. */
    const setAside = async (sealer?: Sealer) => {
      source.put({
        ...scriptedRow('r1', 1),
        fields: { email: email('r1'), note: `${SECRET} mapped`, internal: `${SECRET} not mapped` },
      })
      await harness.startEngine(sealer ? { sealer } : {})
      const sync = await harness.seedSync(ASIDE)
      destination.decide(rejecting(({ note }) => note.includes(SECRET)))
      for (let runs = 0; runs < 3; runs += 1) {
        await harness.run(sync)
      }
      expect(await listed(sync)).toMatchObject([{ state: 'quarantined', isKept: true }])
    }

    it('lies sealed: in no table, log line or list is any of it in clear', async () => {
      await setAside()
      const told = `${await dump(database())} ${inspect(harness.logger.events, { depth: null })}`
      expect(told).toContain('quarantined')
      expect(findSecret(told)).toEqual([])
    })

    it('would be found in clear without the sealing (the control)', async () => {
      const same = (text: string) => text
      const none = { keyId: 'none', knownKeyIds: ['none'], digests: () => [] }
      await setAside({ ...none, seal: same, unseal: same })
      expect(findSecret(await dump(database()))).toContain('as text')
      await database().rows(sql`delete from held_record`)
    })

    /** How the secret shows in a text. */
    const findSecret = (told: string) =>
      Object.entries({
        'as text': SECRET,
        'in base64': Buffer.from(SECRET.slice(0, 15)).toString('base64'),
        'in hexadecimal': Buffer.from(SECRET).toString('hex'),
      }).flatMap(([how, shown]) => (told.includes(shown) ? [how] : []))
  })

  it('has a reason that tells what the destination said', async () => {
    destination.always({
      kind: 'results',
      of: () => ({ status: 'rejected', reason: REJECTED }),
    })
    await harness.startEngine()
    const sync = await harness.seedSync(ASIDE)
    const run = await harness.run(sync)
    expect(run).toMatchObject({ status: 'failed', failureCode: 'destination_rejected' })
    await harness.run(sync)
    await harness.run(sync)
    const entries = await listed(sync)
    expect(entries).toHaveLength(4)
    expect(new Set(entries.map(({ state, reason }) => `${state}: ${reason}`))).toEqual(
      new Set([`quarantined: ${REJECTED}`]),
    )
  })
})

/** Every row of every table, as text. */
async function dump(database: Database): Promise<string> {
  const tables = await database.rows<{ name: string }>(sql`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`)
  expect(tables.length).toBeGreaterThan(15)
  const texts: string[] = []
  for (const { name } of tables) {
    const rows = await database.rows<{ text: string }>(sql`
      select one::text as text from ${sql.identifier(name)} as one`)
    texts.push(name, ...rows.map(({ text }) => text))
  }
  return texts.join('\n')
}
