/**
 * The database's disk is full for a moment: PostgreSQL itself answers so (SQLSTATE 53100), twice, wherever a
 * run stores something. Nothing is lost, nothing is written twice or left in doubt, the failure says what
 * it was, and no attempt is counted. The destination takes whatever it is sent.
 */
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/domain/json.ts'
import type { Database } from '../../src/store/database.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createScriptedSource, scriptedRows } from '../support/scripted-source.ts'
import { WHOLE, waitForStoredEnd } from '../support/stored-end.ts'

const ROWS = 6
const FULL = 'The database of this installation had no disk, memory or connection left (53100).'

/** Where something is stored: the trigger's event and, where it is told from others, its condition. */
const PLACES = {
  'a run is claimed': { on: 'before insert on attempt', ends: false },
  'a page is stored': { on: 'before insert on open_page', ends: true },
  'a call is reserved': { on: 'before insert on delivery_intent', ends: true },
  'an answer is recorded': { on: 'before insert on delivery', ends: true },
  'the checkpoint is taken': {
    on: 'before update on sync_fence',
    when: 'when (old.epoch = new.epoch)',
    ends: true,
  },
  'the run ends': {
    on: 'before update on run',
    when: `when (new.status = 'succeeded')`,
    ends: false,
  },
} as const
type Place = keyof typeof PLACES

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a disk that is full for a moment', () => {
  let test: TestDatabase
  let database: Database
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeAll(async () => {
    test = await createTestDatabase()
    database = await test.open()
    // A sequence counts also what is rolled back.
    await database.rows(sql`create sequence times_full`)
    await database.rows(sql`
      create function be_full() returns trigger language plpgsql as $$
      begin
        if nextval('times_full') <= 2 then
          raise exception 'could not extend file: No space left on device' using errcode = '53100';
        end if;
        return new;
      end $$`)
  })
  afterAll(() => test.drop())
  beforeEach(async () => {
    await database.rows(sql`alter sequence times_full restart`)
    destination = await startRecordingDestination({ honoursKeys: false })
    const source = createScriptedSource(scriptedRows(ROWS))
    harness = createEngineHarness({ database, source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  /** Runs with a disk that is full at a place; returns how often that was met. */
  async function runFull(place: Place, objectOptions: JsonObject) {
    const { on, when = '' } = { when: '', ...PLACES[place] }
    const table = on.split(' ').at(-1) ?? ''
    const sync = await harness.seedSync({ pageSize: 2, objectOptions })
    await database.rows(
      sql.raw(`create trigger full_disk ${on} for each row ${when} execute function be_full()`),
    )
    try {
      await harness.startEngine()
      return await waitForStoredEnd(database, await harness.enqueue(sync))
    } finally {
      await database.rows(sql.raw(`drop trigger full_disk on ${table}`))
    }
  }

  describe.each([
    ['class NONE, a call a page', { deliveryClass: 'NONE', path: 'PAGE' }],
    ['class NONE, a call a record', { deliveryClass: 'NONE', path: 'RECORD', concurrency: 1 }],
    ['class IDEMPOTENT, a call a page', { deliveryClass: 'IDEMPOTENT', path: 'PAGE' }],
  ])('(%s)', (_, objectOptions) => {
    it.each(Object.keys(PLACES) as Place[])(
      'when %s costs nothing, and its sync is delivered in the end',
      async (place) => {
        const run = await runFull(place, objectOptions)
        const [times] = await database.rows(sql`select last_value > 2 as "isOver" from times_full`)
        expect(times).toEqual({ isOver: true })
        expect(run).toMatchObject({ ...WHOLE, read: ROWS })
        expect(run.outcomes.at(-1)).toBe('completed')
        expect(new Set(run.outcomes.slice(0, -1))).toEqual(
          new Set(PLACES[place].ends ? ['released'] : []),
        )
        expect(run.told).toBe(PLACES[place].ends ? FULL : null)
        expect([...destination.effects.values()]).toEqual(Array(ROWS).fill(1))
      },
    )
  })
})
