/** The postgres destination keeps the contract of destinations on both of its paths: unknown stays unknown (I12). */
import { describe, expect, it } from 'vitest'
import { ConnectorError } from '../../src/connectors/connector.ts'
import type { DestinationWriter } from '../../src/connectors/destination.ts'
import { createPostgresDestination } from '../../src/connectors/destinations/postgres/postgres-destination.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type PostgresStandIn, startPostgresStandIn } from '../support/postgres-stand-in.ts'
import { usePostgresWorld } from '../support/postgres-world.ts'
import {
  type DestinationWithStandIn,
  deliver,
  describeDestinationWith,
  outcomesOf,
  outgoing,
  outgoingRecords,
} from './destination-suite.ts'

const world = usePostgresWorld()
const connector = createPostgresDestination({ clock: systemClock })

function openWriter(
  object: string,
  options: JsonObject,
  config: JsonObject = world().config,
): Promise<DestinationWriter> {
  return connector.open({
    ...world().connect({ config }),
    object,
    options: connector.objectOptions.parse(options),
  })
}

const openStandIn = (standIn: PostgresStandIn, options: JsonObject = {}) =>
  openWriter(
    `public.${standIn.table}`,
    { keyColumns: ['email'], requestDeadlineMs: 2_000, ...options },
    standIn.config,
  )

const unavailable = { failure: 'provider_unavailable' }
const raises = (code: string, name: string, expected: JsonObject) => ({
  name: `${code}: ${name}`,
  arrange: (standIn: PostgresStandIn) => standIn.raise(code, 'column "secret" is gone'),
  expected,
})

/** Answers that mean the same on both paths. */
const sharedAnswers: DestinationWithStandIn<PostgresStandIn>['answers'] = [
  ...(
    [
      ['40001', 'a conflict with another transaction'],
      ['40P01', 'a deadlock'],
      ['55P03', 'a row that was not to be had'],
      ['57014', 'a statement that took too long'],
      ['53100', 'a full disk'],
      ['57P03', 'a server that starts'],
    ] as const
  ).map(([code, name]) => raises(code, name, { kind: 'retryable', ...unavailable })),
  raises('42501', 'no permission', {
    kind: 'retryable',
    failure: 'node_failed',
    reason: 'The role may not do this: column "secret" is gone (42501).',
  }),
  raises('42703', 'a column that is gone', { kind: 'retryable', failure: 'node_failed' }),
  raises('25006', 'a standby', { kind: 'retryable', failure: 'node_failed' }),
  raises('28P01', 'a password that was changed', {
    kind: 'retryable',
    failure: 'connection_unauthorized',
  }),
  {
    name: 'a connection that the server ends',
    arrange: (standIn) => standIn.terminate(),
    expected: {
      kind: 'unknown',
      ...unavailable,
      reason: 'The connection broke before the answer was complete.',
    },
  },
]

const refusals = [
  ['22003', 'The number is out of the range of the column "a_column" (22003).'],
  ['23502', 'The column "a_column" needs a value (23502).'],
  ['23503', 'A row that it refers to is not there: a_constraint (23503).'],
  ['23505', 'Another row has the same value where only one may: a_constraint (23505).'],
  ['23514', 'A check of the table refuses it: a_constraint (23514).'],
  ['P0001', 'The table refuses it: column "secret" is gone'],
] as const

for (const [path, recordsPerCall] of [
  ['PAGE', 3],
  ['RECORD', 1],
] as const) {
  describeDestinationWith<PostgresStandIn>({
    name: `postgres (${path})`,
    recordsPerCall,
    start: () => startPostgresStandIn(world()),
    open: (standIn) => openStandIn(standIn, { path }),
    remoteIdOf: () => null,
    answers: [
      ...sharedAnswers,
      ...refusals.map(([code, reason]) =>
        raises(code, 'refused', { kind: recordsPerCall > 1 ? 'refused' : 'rejected', reason }),
      ),
    ],
    hang: async (standIn) => (await standIn.hold()).seen,
    unplug: (standIn) => standIn.proxy.close(),
    unreachable: 'The server is out of reach (ECONNREFUSED).',
    sayings: [(standIn, words) => standIn.raise('P0001', words)],
  })
}

async function createTable(columns: string): Promise<string> {
  const table = world().nextName()
  await world().run(`create table ${table} (${columns})`)
  return table
}

const read = async (table: string, what = '*') =>
  (await world().run(`select ${what} from ${table} order by 1`)).map((row) => ({ ...row }))

/** Writes one call and closes the writer. */
async function write(table: string, options: JsonObject, records: readonly JsonObject[]) {
  const writer = await openWriter(`public.${table}`, { keyColumns: ['id'], ...options })
  try {
    return await deliver(
      writer,
      records.map((fields, index) => outgoing(index + 1, fields)),
    )
  } finally {
    await writer.close()
  }
}

const isWritten = expect.objectContaining({ kind: 'written' })

describe('the rows that the postgres destination writes', () => {
  it('hold each value as the column has it, to the last digit', async () => {
    const table = await createTable(
      `id bigint primary key, at timestamptz, amount numeric, tags text[], seen boolean, doc jsonb, note text, day date`,
    )
    const fields = {
      id: '9007199254740993',
      at: '2026-01-01T00:00:00.123456Z',
      amount: '12345678901234567890.123456789',
      tags: ['a', '{b}', null, '"c"'],
      seen: true,
      doc: { price: '10.5', list: [1, '2'] },
      note: '10.5',
      day: '2024-02-29',
    }
    expect(await write(table, {}, [fields])).toMatchObject({ outcomes: [isWritten] })
    const [row] = await read(
      table,
      `id::text, (at at time zone 'UTC')::text as at, amount::text, to_json(tags) as tags, seen, doc::text as doc, note, day::text`,
    )
    expect(row).toEqual({
      ...fields,
      at: '2026-01-01 00:00:00.123456',
      doc: '{"list": [1, "2"], "price": "10.5"}',
    })
  })

  it('keep what a record does not name, and lose what it names as null', async () => {
    const table = await createTable(`id int primary key, a text default 'new', b text`)
    await write(table, {}, [
      { id: 1, a: 'a', b: 'b' },
      { id: 2, b: 'b' },
    ])
    expect(await read(table)).toEqual([
      { id: 1, a: 'a', b: 'b' },
      { id: 2, a: 'new', b: 'b' },
    ])
    await write(table, {}, [{ id: 1, b: null }, { id: 2, a: 'c' }, { id: 3 }])
    expect(await read(table)).toEqual([
      { id: 1, a: 'a', b: null },
      { id: 2, a: 'c', b: 'b' },
      { id: 3, a: 'new', b: null },
    ])
  })

  it('lie in a table whose names are strange, in the right partition, beside generated columns', async () => {
    const schema = `"My ""Schema""; drop table x--"`
    const object = `${schema}."Weird.Name"`
    await world().run(`create schema ${schema}`)
    await world().run(`create table ${object} (
      "Order" int, "sel""ect" text, "a.b" text, "group" text generated always as (upper("sel""ect")) stored,
      primary key ("Order")) partition by range ("Order")`)
    await world().run(`create table part1 partition of ${object} for values from (0) to (10)`)
    expect(connector.describeObjectProblem(object)).toBeNull()
    expect(connector.describeObjectProblem(`"x""."y"`)).toMatch(/^The object must be a table/)
    const writer = await openWriter(object, { keyColumns: ['Order'] })
    const record = outgoing(1, { Order: 1, 'sel"ect': "'; drop table part1; --", 'a.b': 'x' })
    expect(await outcomesOf(deliver(writer, [record]))).toEqual([isWritten])
    await writer.close()
    expect(await read('part1')).toEqual([
      {
        Order: 1,
        'sel"ect': "'; drop table part1; --",
        'a.b': 'x',
        group: "'; DROP TABLE PART1; --",
      },
    ])
  })

  it('are not replaced by older ones where there is a stale guard', async () => {
    const table = await createTable(`id int primary key, name text, at timestamptz`)
    const at = (second: number) => `2026-01-01T00:00:0${second}Z`
    const options = { staleGuard: 'at' }
    await write(table, options, [{ id: 1, name: 'new', at: at(5) }])
    const older = await write(table, options, [{ id: 1, name: 'old', at: at(4) }])
    expect(older).toMatchObject({ outcomes: [isWritten] })
    expect(await read(table, 'name')).toEqual([{ name: 'new' }])
    await write(table, {}, [{ id: 1, name: 'unguarded', at: at(4) }])
    expect(await read(table, 'name')).toEqual([{ name: 'unguarded' }])
  })

  it('have one identity in whatever form their key came', async () => {
    const table = await createTable('id bigint, code uuid, name text, primary key (id, code)')
    const writer = await openWriter(`public.${table}`, { keyColumns: ['id', 'code'] })
    const code = '00000000-0000-7000-8000-00000000000A'
    expect(writer.identityOf({ id: 7, code })).toBe(
      writer.identityOf({ id: '007', code: code.toLowerCase() }),
    )
    expect(writer.identityOf({ id: 7, code })).not.toBe(writer.identityOf({ id: 8, code }))
    expect(writer.identityOf({ id: 7 })).toBeNull()
    expect(writer.describeUnsendable(outgoing(1, { id: 7 }))).toMatch('"code"')
    await writer.close()
  })
})

describe('a value that does not fit', () => {
  const columns = `id int primary key, age int, name varchar(3), at date, amount numeric(3,1), parent int,
    check (age < 200), unique (name) deferrable initially deferred`
  it.each([
    [{ age: 'ada@example.com' }, 'The value has not the form of the column "age" (22P02).'],
    [{ name: 'longer' }, 'The value is longer than the type of the column "name" (22001).'],
    [{ at: '2026-02-30' }, 'The time is out of the range of the column "at" (22008).'],
    [{ amount: 1000 }, 'The number is out of the range of the column "amount" (22003).'],
    [{ age: 300 }, /^A check of the table refuses it: t\d+_age_check \(23514\)\.$/],
    [
      { name: 'abc' },
      /^Another row has the same value where only one may: t\d+_name_key \(23505\)\.$/,
    ],
  ])('rejects its record only: %j', async (bad, reason) => {
    const table = await createTable(columns)
    await write(table, {}, [{ id: 9, name: 'abc' }])
    const good = { id: 1, age: 36 }
    const both = await write(table, {}, [good, { id: 2, ...bad }])
    expect(both).toMatchObject({ kind: 'refused', isTooLarge: false })
    expect(await read(table, 'id')).toEqual([{ id: 9 }])
    const alone = await write(table, {}, [{ id: 2, ...bad }])
    const told = reason instanceof RegExp ? expect.stringMatching(reason) : reason
    expect(alone).toEqual({ kind: 'answered', outcomes: [{ kind: 'rejected', reason: told }] })
    expect(JSON.stringify([both, alone])).not.toContain('ada@')
  })

  it('is told before anything is sent where PostgreSQL could not store the text', async () => {
    const writer = await openWriter(`public.${await createTable('id int primary key, a text')}`, {
      keyColumns: ['id'],
    })
    for (const [a, isUnfit] of [
      ['a\u0000b', true],
      ['\ud800', true],
      ['\\u0000', false],
      ['\u{1F600}', false],
    ] as const) {
      expect(writer.describeUnsendable(outgoing(1, { id: 1, a })) !== null).toBe(isUnfit)
    }
    await writer.close()
  })
})

describe('what the postgres destination says of a table', () => {
  it('names its fields, what they take and which are required', async () => {
    const table =
      await createTable(`id bigint generated always as identity, email text primary key, age int not null,
      at timestamptz not null default now(), doc json, tags text[], up text generated always as (upper(email)) stored`)
    const fields = await connector.listFields({
      ...world().connect(),
      object: `public.${table}`,
      options: connector.objectOptions.parse({ keyColumns: ['email'] }),
    })
    expect(fields).toEqual([
      { name: 'email', types: ['text', 'number', 'boolean', 'date'], isRequired: true },
      { name: 'age', types: ['number', 'text'], isRequired: true },
      { name: 'at', types: ['date', 'text'], isRequired: false },
      { name: 'doc', types: null, isRequired: false },
      { name: 'tags', types: ['list', 'text'], isRequired: false },
    ])
  })

  it.each([
    [
      { keyColumns: ['id'] },
      'keyColumns names "id", which are together neither the primary key nor a unique index of the table (one that is not partial and not deferrable).',
    ],
    [
      { keyColumns: ['nowhere'] },
      'keyColumns names "nowhere", which is no column of the table that can be written.',
    ],
    [
      { keyColumns: ['email'], staleGuard: 'up' },
      'staleGuard names "up", which is no column of the table that can be written.',
    ],
  ])('refuses %j', async (options, reason) => {
    const table = await createTable(
      'id int, email text unique, up text generated always as (upper(email)) stored',
    )
    await world().run(`create unique index on ${table} (id) where id > 0`)
    await expect(openWriter(`public.${table}`, options)).rejects.toThrow(
      new ConnectorError('node_failed', reason),
    )
  })

  it('names a column that the mapping has and the table has not, and writes nothing', async () => {
    const table = await createTable('id int primary key, a text')
    const gone = { kind: 'retryable', failure: 'node_failed', retryAfterMs: null }
    expect(await write(table, {}, [{ id: 1, shoe_size: 44 }])).toMatchObject({
      outcomes: [
        {
          ...gone,
          reason:
            'The table has no column "shoe_size" that can be written; change the mapping or the table.',
        },
      ],
    })
    const writer = await openWriter(`public.${table}`, { keyColumns: ['id'] })
    await world().run(`alter table ${table} drop column a`)
    const [outcome] = await outcomesOf(deliver(writer, [outgoing(1, { id: 1, a: 'x' })]))
    expect(outcome).toMatchObject({ ...gone, reason: expect.stringContaining('column "a"') })
    await writer.close()
    expect(await read(table)).toEqual([])
  })
})

describe('a call of the postgres destination', () => {
  it('splits what has too many different fields for one statement', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `c${index}`)
    const table = await createTable(
      `id int primary key, ${names.map((name) => `${name} int`).join(', ')}`,
    )
    const records = names.map((name, index) => ({ id: index, [name]: 1 }))
    expect(await write(table, {}, records)).toMatchObject({ kind: 'refused', isTooLarge: true })
    expect(await write(table, {}, records.slice(0, 16))).toMatchObject({ kind: 'answered' })
    expect(await read(table, 'id')).toHaveLength(16)
  })

  it.each([
    ['waited too long', 'Another transaction kept a row for too long (55P03).'],
    ['took too long', 'The server did not finish the statement in time (57014).'],
  ])(
    'is over at the server before its deadline: what %s is known as not applied',
    async (why, reason) => {
      const standIn = await startPostgresStandIn(world())
      const writer = await openStandIn(standIn)
      await (why === 'took too long' ? standIn.stall() : standIn.hold())
      expect(await outcomesOf(deliver(writer, outgoingRecords(1)))).toEqual([
        { kind: 'retryable', ...unavailable, reason, retryAfterMs: null },
      ])
      expect(await standIn.written()).toEqual([])
      await writer.close()
      await standIn.close()
    },
  )

  it('is unknown when the way breaks after it was sent, and was written all the same', async () => {
    const standIn = await startPostgresStandIn(world())
    const writer = await openStandIn(standIn)
    const { seen, release } = await standIn.hold()
    const call = deliver(writer, outgoingRecords(2))
    await seen()
    standIn.proxy.freezeOpenConnections()
    await release()
    const told = await outcomesOf(call)
    expect(told).toEqual(
      Array(2).fill({ kind: 'unknown', ...unavailable, reason: 'No answer came within 2 s.' }),
    )
    expect(await standIn.written()).toHaveLength(2)
    await writer.close()
    await standIn.close()
  })

  it('goes over a new connection when the standing one has gone meanwhile', async () => {
    const standIn = await startPostgresStandIn(world())
    const writer = await openStandIn(standIn)
    expect(await outcomesOf(deliver(writer, outgoingRecords(1)))).toEqual([isWritten])
    await world().run(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'tajo-sync'`)
    expect(await outcomesOf(deliver(writer, [outgoing(2, { email: 'b', place: 9 })]))).toEqual([
      isWritten,
    ])
    await writer.close()
    await standIn.close()
  })
})
