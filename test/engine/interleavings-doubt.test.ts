/**
 * What is in doubt stays in doubt, whatever becomes of its row, its page and its mapping (I16); and of a call
 * for many of which only some were answered for, only the others are (I12).
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SyncConfig } from '../../src/domain/sync.ts'
import { CALM_SETTINGS } from '../support/calm-settings.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  answering,
  breaksAt,
  type Contact,
  contactsIn,
  counts,
  hurriedClock,
  leftOf,
  timesSent,
} from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
import {
  type Reaction,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRow,
  scriptedRows,
} from '../support/scripted-source.ts'

const NONE = { path: 'PAGE', deliveryClass: 'NONE', identityField: 'email' }
const IDEMPOTENT = { path: 'PAGE' }
const DOUBTFUL = 'r2@example.com'

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a record in doubt', () => {
  const { harness, source, destination, database } = useParts()

  /** Six rows in two pages are sent, and of the third of them nobody says what became of it. */
  async function leaveInDoubt() {
    for (const row of scriptedRows(6)) {
      source().put(row)
    }
    await harness().startEngine({ settings: CALM_SETTINGS })
    const sync = await harness().seedSync({ pageSize: 3, objectOptions: NONE })
    destination().script(silentAbout(DOUBTFUL))
    expect(await harness().run(sync)).toMatchObject({
      status: 'partial',
      counters: counts({ read: 6, written: 5, inDoubt: 1 }),
    })
    return sync
  }

  const moveRow = (rank: number) => source().put(scriptedRow('r2', rank, 'changed'))
  const OTHER_MAPPING: Partial<SyncConfig> = {
    mapping: { email: { $path: 'email' }, note: { $template: '{{note}} again' } },
  }
  /** The destination knows it by another name from now on; the source's own name is left. */
  const OTHER_NAME: Partial<SyncConfig> = {
    mapping: { email: { $template: 'x-{{email}}' }, note: { $path: 'note' } },
  }
  const isNamed = (contact: Contact) => contact.email.endsWith(DOUBTFUL)

  const CHANGES: Readonly<
    Record<string, { readonly rows?: () => void; readonly config?: Partial<SyncConfig> }>
  > = {
    'its row is changed in its place': { rows: () => moveRow(2) },
    'its row moves to another page': { rows: () => moveRow(9) },
    'its row moves to the front of its page': { rows: () => moveRow(-0.5) },
    'its row gets another name at the source': {
      rows: () => {
        source().rows.delete('r2')
        source().put({ ...scriptedRow('s2', 2), fields: { email: DOUBTFUL, note: 'renamed' } })
      },
    },
    'the rows before it are deleted': {
      rows: () => {
        source().rows.delete('r0')
        source().rows.delete('r1')
      },
    },
    'its mapping is changed': { config: OTHER_MAPPING },
    'its mapping gives it another name at the destination': { config: OTHER_NAME },
    'the size of its pages is changed to 1': { config: { pageSize: 1 } },
    'the size of its pages is changed to 10': { config: { pageSize: 10 } },
    'all of it happens at once': {
      rows: () => moveRow(9),
      config: { ...OTHER_NAME, pageSize: 2 },
    },
    'its range is gone and the source starts over': {
      rows: () => source().forgetRanges(),
      config: { pageSize: 2 },
    },
  }

  it.each(Object.entries(CHANGES))('is not sent when %s, in no run', async (_, change) => {
    const sync = await leaveInDoubt()
    change.rows?.()
    const changed = change.config ? await republish(database(), sync, change.config) : sync
    for (let runs = 0; runs < 3; runs += 1) {
      const run = await harness().run(changed)
      expect(run.status).toBe('partial')
      expect(run.counters.inDoubt).toBeGreaterThan(0)
    }
    expect(destination().requests.flatMap(contactsIn).filter(isNamed)).toHaveLength(1)
    expect((await leftOf(database(), sync.syncId)).intents).toBe(1)
  })

  it('would be sent again if its intent named nobody (the control)', async () => {
    const sync = await leaveInDoubt()
    await database().rows(sql`delete from delivery_intent where sync_id = ${sync.syncId}`)
    await harness().run(sync)
    expect(timesSent(destination(), DOUBTFUL)).toBe(2)
  })
})

describe.runIf(DATABASE_KINDS.includes('postgresql'))(
  'a call for many that was answered in part',
  () => {
    const { harness, source, destination, database } = useParts()

    const SILENT_ABOUT = ['r1@example.com', 'r3@example.com']

    /** A page of five is sent in one call; two of them get no word. */
    async function answerPartly(
      objectOptions: SyncConfig['objectOptions'],
      given: Parameters<EngineHarness['run']>[1],
    ) {
      for (const row of scriptedRows(5)) {
        source().put(row)
      }
      const sync = await harness().seedSync({ pageSize: 5, objectOptions })
      destination().script(silentAbout(...SILENT_ABOUT))
      return { sync, run: await harness().run(sync, given) }
    }
    const sentIn = (call: number) =>
      destination()
        .requests.slice(call, call + 1)
        .flatMap(contactsIn)
        .map(({ email }) => email)
    const keysOfSilent = () => {
      const [first] = destination().requests
      return [1, 3].map((place) => first?.keys[place])
    }

    it('is made again for the others only, with the same keys, where it may be repeated', async () => {
      await harness().startEngine({ settings: CALM_SETTINGS })
      const { run } = await answerPartly(IDEMPOTENT, {})
      expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 5, written: 5 }) })
      expect(destination().requests).toHaveLength(2)
      expect(sentIn(1)).toEqual(SILENT_ABOUT)
      expect(destination().requests[1]?.keys).toEqual(keysOfSilent())
    })

    it('is made again so by the next attempt, where its worker died after it was recorded', async () => {
      await harness().startEngine({
        settings: CALM_SETTINGS,
        faults: breaksAt('afterComplete'),
        clock: hurriedClock,
      })
      const { run, sync } = await answerPartly(IDEMPOTENT, { attemptAllowance: 1 })
      expect(run.status).toBe('failed')
      expect(await readIntents(sync.syncId)).toEqual([{ positions: [1, 3] }])
      expect(await harness().run(sync)).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: 5, written: 2, replayed: 3 }),
      })
      expect(destination().requests).toHaveLength(2)
      expect(sentIn(1)).toEqual(SILENT_ABOUT)
      expect(destination().requests[1]?.keys).toEqual(keysOfSilent())
    })

    it('leaves the others in doubt, and only these, where it may not', async () => {
      await harness().startEngine({ settings: CALM_SETTINGS })
      const { run, sync } = await answerPartly(NONE, {})
      expect(run).toMatchObject({
        status: 'partial',
        counters: counts({ read: 5, written: 3, inDoubt: 2 }),
      })
      expect(await readIntents(sync.syncId)).toEqual([{ positions: [1, 3] }])
      expect((await harness().run(sync)).counters).toEqual(
        counts({ read: 5, replayed: 3, inDoubt: 2 }),
      )
      expect(destination().requests).toHaveLength(1)
    })

    it('leaves them so too where its worker died after it was recorded', async () => {
      await harness().startEngine({ settings: CALM_SETTINGS, faults: breaksAt('afterComplete') })
      const { sync } = await answerPartly(NONE, { attemptAllowance: 1 })
      expect(await readIntents(sync.syncId)).toEqual([{ positions: [1, 3] }])
      expect((await harness().run(sync)).counters).toEqual(
        counts({ read: 5, replayed: 3, inDoubt: 2 }),
      )
      expect(destination().requests).toHaveLength(1)
    })

    const readIntents = (syncId: string) =>
      database().rows(sql`select positions from delivery_intent where sync_id = ${syncId}`)
  },
)

/** Takes all but these, of which it says nothing. */
function silentAbout(...emails: readonly string[]): Reaction {
  return answering((contact) =>
    emails.includes(contact.email) ? null : { status: 'written', id: contact.email },
  )
}

/** A database for the suite; a source, a destination and a harness for each test. */
function useParts() {
  const database = useDatabase('postgresql')
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
  return {
    database,
    source: () => source,
    destination: () => destination,
    harness: () => harness,
  }
}
