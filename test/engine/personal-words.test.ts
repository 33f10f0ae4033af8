/**
 * What is kept and logged of a failure names nobody and opens no door, wherever the words came from. Planted are
 * values of every kind; read back is all that the database, the log and a channel could show (I20).
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConnectorError } from '../../src/connectors/connector.ts'
import type { DeliveryAnswer, DestinationConnector } from '../../src/connectors/destination.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createRegistry } from '../../src/connectors/registry.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { scrub } from '../../src/domain/scrub.ts'
import { UNREPEATABLE } from '../../src/engine/scrub-answers.ts'
import { describeError } from '../../src/runtime/logger.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { hurriedClock } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { createLocalClient } from '../support/local-client.ts'
import {
  type Reaction,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createScriptedSource, type ScriptedSource } from '../support/scripted-source.ts'

/** The row of one person, of whom nothing may be told. */
const ROW: JsonObject = {
  email: 'ada.lovelace@example.com',
  name: 'Ada Lovelace',
  nickname: 'lovey',
  phone: '+44 20 7946 0958',
  street: '12 St James Square, London',
  card: '4111 1111 1111 1111',
  born: '1815-12-10',
  customer: 90_210,
  note: 'Asked for the analytical engine in mauve, and to be called after six.',
}
const SECRETS = {
  bearer: 'Bearer hunter2',
  password: 'password=swordfish',
  address:
    'https://root:swordfish@crm.example.net/v1?api_key=hunter2&email=ada.lovelace%40example.com',
  key: 'sk_live_4eC39HqLyjWDarjtT1zdp7dc',
  hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
}
/** None of these in whatever is read back, in whatever case. */
const PLANTED = [
  ...['lovelace', 'lovey', '7946', 'james', '4111', '1815', '90210', 'mauve', 'analytical'],
  ...['hunter2', 'swordfish', 'sk_live', '9f86d081'],
]

/** A sentence as a destination could answer it, with all of it. */
const WORDS = `E1042 email is invalid: ${Object.values(ROW).join('; ')} (${Object.values(SECRETS).join(', ')})`
const PG_WORDS = `duplicate key value violates unique constraint "contact_email"; Key (email, name)=(${ROW['email']}, ${ROW['name']}) already exists.`

const ID_OR_MOMENT = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|2\d{3}-\d\d-\d\dt[\d:.+]+/g

const json = (body: unknown) => JSON.stringify(body)

const BODIES: Readonly<Record<string, string>> = {
  'a JSON message': json({ error: { message: WORDS } }),
  'a list of errors': json({ errors: [{ detail: WORDS, field: 'email' }] }),
  'the whole record': json({ error: 'invalid', received: ROW }),
  'plain text': WORDS,
  'a web page': `<html><body>${WORDS}</body></html>`,
  'a message of PostgreSQL': json({ message: PG_WORDS }),
  'one value': json({ message: `${ROW['name']} is no name` }),
  'a value that is cut': json({ message: `${'x '.repeat(140)}${ROW['name']} and ${ROW['name']}` }),
  'values in capitals': json({ message: WORDS.toUpperCase() }),
  'half a JSON text': `{"message":"${ROW['name']}`,
}

const STATUSES = [200, 202, 207, 301, 400, 401, 404, 409, 413, 422, 429, 500, 503]

describe.each(ENGINE_DATABASE_KINDS)('on %s', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource([{ identity: String(ROW['email']), rank: 0, fields: ROW }])
    destination = await startRecordingDestination()
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const PASS_ON = Object.fromEntries(Object.keys(ROW).map((name) => [name, { $path: name }]))

  const seed = (objectOptions: JsonObject = {}) =>
    harness.seedSync({ mapping: PASS_ON, objectOptions })

  /** Everything that is kept of the run, and all that was logged meanwhile as it is written. */
  const readBack = async (runId: string) => {
    const kept = await database().rows(sql`
      select run.failure_code, run.failure_subject, run.failure_detail,
             (select jsonb_agg(to_jsonb(attempt)) from attempt
              where attempt.run_id = run.id) as attempts,
             (select jsonb_agg(held_record.reason) from held_record
              where held_record.last_run_id = run.id) as reasons
      from run
      where run.id = ${runId}`)
    const logged = harness.logger.events.map(({ event, bindings, cause }) => ({
      event,
      ...bindings,
      ...describeError(cause, scrub),
    }))
    return { kept: JSON.stringify(kept), logged: JSON.stringify(logged) }
  }

  const expectNothingOf = async (runId: string) => {
    const { kept, logged } = await readBack(runId)
    // Ids and moments hold any digits.
    const told = `${kept}\n${logged}`.toLowerCase().replaceAll(ID_OR_MOMENT, '')
    expect(PLANTED.filter((text) => told.includes(text))).toEqual([])
    return kept
  }

  describe.each([
    ['one record a call', { path: 'RECORD' }],
    ['many a call', { path: 'PAGE' }],
    ['one that cannot be sent twice', { path: 'RECORD', deliveryClass: 'NONE' }],
  ])('a destination that is sent %s', (_, options) => {
    it.each(Object.keys(BODIES))('and answers with %s', async (name) => {
      await harness.startEngine({ clock: hurriedClock })
      for (const status of STATUSES) {
        const html = name === 'a web page' ? { 'content-type': 'text/html' } : {}
        destination.always({
          kind: 'answer',
          status,
          body: BODIES[name] ?? '',
          headers: { 'retry-after': '3600', ...html },
        })
        const run = await harness.run(await seed(options), { attemptAllowance: 1 })
        await expectNothingOf(run.runId)
      }
    })
  })

  it.each([
    ['rejected', { status: 'rejected', reason: WORDS }],
    ['rejected in words of PostgreSQL', { status: 'rejected', reason: PG_WORDS }],
    ['to be sent again', { status: 'retry', reason: WORDS, retryAfterMs: 3_600_000 }],
    ['nobody knows what', { status: ROW['name'], reason: WORDS }],
  ])('a result for one record that is %s keeps the code and the field', async (_, result) => {
    await harness.startEngine({ clock: hurriedClock })
    destination.always({ kind: 'results', of: () => result } as Reaction)
    const run = await harness.run(await seed({ path: 'PAGE' }), { attemptAllowance: 1 })
    const kept = await expectNothingOf(run.runId)
    if (result.reason === WORDS && result.status !== ROW['name']) {
      expect(kept).toContain('E1042 email is invalid')
    }
  })

  it('a refusal of many says nothing of any of them', async () => {
    await harness.startEngine({ clock: hurriedClock })
    for (const [rank, name] of ['Grace Hopper', 'Alan Turing', 'Mary Somerville'].entries()) {
      source.put({
        identity: name,
        rank: rank + 1,
        fields: { ...ROW, name, email: `${rank}@example.org` },
      })
    }
    destination.decide(({ body }) => {
      const sent = (JSON.parse(body) as { records: { record: JsonObject }[] }).records
      const names = sent.map(({ record }) => String(record['name']).toUpperCase())
      const words = [...names, ...names.map((name) => name.split(' ').reverse().join(', '))]
      return { kind: 'answer', status: 422, body: json({ message: words.join('; ') }) }
    })
    const run = await harness.run(await seed({ path: 'PAGE' }), { attemptAllowance: 1 })
    const kept = await expectNothingOf(run.runId)
    expect(kept).not.toMatch(/hopper|grace|turing|somerville/i)
    expect(kept).toContain('The destination answered 422')
  })

  it('a row that the mapping rejects is told by its field', async () => {
    await harness.startEngine({ clock: hurriedClock })
    const sync = await harness.seedSync({
      mapping: { age: { $number: { value: { $path: 'name' } } }, email: { $path: 'email' } },
    })
    const run = await harness.run(sync, { attemptAllowance: 1 })
    const kept = await expectNothingOf(run.runId)
    expect(kept).toContain('age:')
  })

  it('a row that the source could not read keeps its line', async () => {
    await harness.startEngine({ clock: hurriedClock })
    const problem = `line 1234567: ${WORDS}`.replaceAll(
      /Ada Lovelace|lovey|12 St James Square, London|90210|Asked.*six\./g,
      '…',
    )
    source.put({ identity: 'broken', rank: 0, fields: {}, problem })
    source.rows.delete(String(ROW['email']))
    const run = await harness.run(await seed(), { attemptAllowance: 1 })
    expect(await expectNothingOf(run.runId)).toContain('line 1234567: E1042 email is invalid')
  })

  it('what is too large says only how large', async () => {
    await harness.startEngine({ clock: hurriedClock })
    source.put({
      identity: 'large',
      rank: 0,
      fields: { ...ROW, note: `${ROW['note']} `.repeat(200) },
    })
    source.rows.delete(String(ROW['email']))
    const run = await harness.run(await seed({ maxBodyBytes: 1_000 }), { attemptAllowance: 1 })
    expect(await expectNothingOf(run.runId)).toContain('takes at most 1000')
  })

  describe('an exception', () => {
    const thrown = () =>
      new TypeError(WORDS, {
        cause: Object.assign(new Error(PG_WORDS), {
          code: '23505',
          detail: PG_WORDS,
          parameters: [ROW],
        }),
      })

    it('of a source keeps its kind and its code', async () => {
      source.failWith(thrown())
      await harness.startEngine({ clock: hurriedClock })
      const run = await harness.run(await seed(), { attemptAllowance: 1 })
      expect(run.failureCode).toBe('unclassified_exception')
      expect(await expectNothingOf(run.runId)).toContain('Error 23505')
    })

    it('of a source in words for people keeps those that name nobody', async () => {
      const detail = `E1042 line 12345678: ${PG_WORDS} ${Object.values(SECRETS).join(' ')} ${ROW['email']} ${ROW['phone']} ${ROW['card']}`
      source.failWith(new ConnectorError('node_failed', detail, { cause: thrown() }))
      await harness.startEngine({ clock: hurriedClock })
      const run = await harness.run(await seed(), { attemptAllowance: 1 })
      expect(run.failureDetail).toContain('E1042 line 12345678: duplicate key value violates')
      await expectNothingOf(run.runId)
    })

    it.each([
      ['no connector should throw', thrown],
      ['in words for people', () => new ConnectorError('node_failed', WORDS, { cause: thrown() })],
    ])('of a destination, %s', async (_, make) => {
      await harness.startEngine({
        registry: createRegistry([source], [breakOff(make)]),
      })
      const run = await harness.run(await seed(), { attemptAllowance: 1 })
      expect(run.status).toBe('failed')
      await expectNothingOf(run.runId)
    })

    it('of a destination that is opened', async () => {
      const http = createHttpDestination({ client })
      const broken: DestinationConnector = { ...http, open: () => Promise.reject(thrown()) }
      await harness.startEngine({ registry: createRegistry([source], [broken]) })
      const run = await harness.run(await seed(), { attemptAllowance: 1 })
      expect(run.failureCode).toBe('unclassified_exception')
      await expectNothingOf(run.runId)
    })
  })

  it('a reason that is none costs nothing of the answer that it came with', async () => {
    source.put({ identity: 'other', rank: 1, fields: { ...ROW, email: 'other@example.com' } })
    const outcomes = [
      { kind: 'rejected', reason: 42 },
      { kind: 'written', remoteId: 'x' },
    ]
    const answered = answering(() => Promise.resolve({ kind: 'answered', outcomes } as never))
    await harness.startEngine({ registry: createRegistry([source], [answered]) })
    const run = await harness.run(await seed({ path: 'PAGE' }), { attemptAllowance: 1 })
    expect(run).toMatchObject({ status: 'partial', counters: { written: 1, rejected: 1 } })
    expect(await expectNothingOf(run.runId)).toContain(UNREPEATABLE)
  })

  const client = createLocalClient()

  /** The http destination, whose calls all end with an exception. */
  const breakOff = (make: () => Error) => answering(() => Promise.reject(make()))

  /** The http destination, with other answers. */
  function answering(deliver: () => Promise<DeliveryAnswer>): DestinationConnector {
    const http = createHttpDestination({ client })
    const open: DestinationConnector['open'] = async (request) => {
      const writer = await http.open(request)
      return {
        ...writer,
        identityOf: (fields) => writer.identityOf(fields),
        describeUnsendable: (record) => writer.describeUnsendable(record),
        takeTurn: (records) => writer.takeTurn(records),
        deliver,
        close: () => writer.close(),
      }
    }
    return { ...http, open }
  }
})
