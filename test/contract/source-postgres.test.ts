/** The postgres source keeps the contract of sources, and survives what tables do to who reads them. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SourceReader } from '../../src/connectors/source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { idsOf, makeTable, openPostgresStream, TIMED, using } from '../support/postgres-streams.ts'
import { usePostgresWorld } from '../support/postgres-world.ts'
import { describeSource, readPage, readPages, readRange } from './source-suite.ts'

const world = usePostgresWorld()
const openStream = (stream: string, options: JsonObject = {}) =>
  openPostgresStream(world(), stream, options)
const people = (columns: string, rows = '') => makeTable(world(), columns, rows)
const rest = async (reader: SourceReader, from: string | null, size = 100) =>
  (await readPages(reader, [size], from)).flatMap((page) => idsOf(page) ?? [])

/** Few moments, a microsecond apart: most rows are tied, and none can be told from its neighbours in milliseconds. */
const moment = fc.integer({ min: 0, max: 3 }).map((n) => `2026-01-01 00:00:00.12345${n}+00`)
const rows = fc.uniqueArray(
  fc.record({
    id: fc.bigInt({ min: 9_007_199_254_740_990n, max: 9_007_199_254_741_010n }).map(String),
    name: fc.constantFrom('Ann', 'ann', 'Änne', 'a b', '😀', 'zoë', 'Z'),
    at: moment,
  }),
  { maxLength: 14, selector: ({ id, name }) => `${id} ${name}` },
)

type Rows = readonly { readonly id: string; readonly name: string; readonly at: string }[]

async function createTable(content: Rows, order: string): Promise<string> {
  const name = world().nextName()
  await world().run(
    `create table ${name} (id bigint, name text, updated_at timestamptz not null, primary key (${order}));
     insert into ${name} select * from jsonb_to_recordset('${JSON.stringify(content.map(({ at, ...row }) => ({ ...row, updated_at: at })))}') as r(id bigint, name text, updated_at timestamptz)`,
  )
  return name
}

for (const [name, stream] of [
  ['table', (table: string) => openStream(`public.${table}`, {})],
  [
    'query',
    (table: string) =>
      openStream('people', {
        query: `select p.*, id % 2 = 0 as is_even from ${table} p -- all of them`,
        keyColumns: ['name', 'id'],
      }),
  ],
] as const) {
  describeSource<Rows>({
    name: `postgres (${name})`,
    content: rows,
    count: (content) => content.length,
    numRuns: 8,
    create: async (content) => {
      const table = await createTable(content, 'id, name')
      return {
        open: () => stream(table),
        dispose: async () => {
          await world().run(`drop table ${table}`)
        },
      }
    },
  })
}

describe('a postgres source', () => {
  it('gives every type to the last digit, and null as null', async () => {
    const table = await people(
      `id bigint primary key, updated_at timestamptz not null, n numeric, f float8, g float8, ok boolean, small int2,
       local timestamp, day date, doc jsonb, raw bytea, ints int[], bigs bigint[], code uuid, nothing text, late timestamptz, "__proto__" text`,
      `insert into $t values (9007199254740993, '2026-01-01 00:00:00.123456+00', 1234567890.12345678901234567890, 'NaN', 0.1, true, 7,
       '2026-01-01 00:00:00.000001', '2024-02-29', '{"big": 12345678901234567890, "s": "10.5", "x": 1.5}', '\\x00ff', '{1,null,3}', '{9007199254740993}',
       '00000000-0000-7000-8000-00000000000a', null, 'infinity', 'p')`,
    )
    const [record] =
      (await using(openStream(`public.${table}`, {}), (reader) => readPage(reader, null, 9)))
        ?.records ?? []
    expect(record?.identity).toBe('9007199254740993')
    expect(Object.entries(record?.fields ?? {})).toEqual(
      Object.entries({
        id: '9007199254740993',
        updated_at: '2026-01-01T00:00:00.123456Z',
        n: '1234567890.12345678901234567890',
        f: 'NaN',
        g: 0.1,
        ok: true,
        small: 7,
        local: '2026-01-01T00:00:00.000001',
        day: '2024-02-29',
        doc: { s: '10.5', x: 1.5, big: '12345678901234567890' },
        raw: 'AP8=',
        ints: [1, null, 3],
        bigs: ['9007199254740993'],
        code: '00000000-0000-7000-8000-00000000000a',
        nothing: null,
        late: 'infinity',
        ['__proto__']: 'p',
      }),
    )
  })

  it('reads a column without a time zone as of the zone that it is told', async () => {
    const table = await people(
      'id int primary key, at timestamp not null',
      `insert into $t values (1, now() at time zone 'Asia/Tokyo' - interval '2 minutes'), (2, now() at time zone 'Asia/Tokyo' + interval '1 minute')`,
    )
    const options = { cursorColumn: 'at', cursorTimeZone: '+09:00' }
    expect(
      await using(openStream(`public.${table}`, options), (reader) => rest(reader, null)),
    ).toEqual(['1'])
  })

  it.each([
    [
      'id bigserial primary key',
      'id',
      {},
      /is of type bigint, which does not say when a row was written/,
    ],
    [
      TIMED,
      'updated_at',
      { lateCommits: 'XID' },
      /is of type timestamp with time zone; lateCommits XID needs one of type xid8/,
    ],
    [
      'id int primary key, at timestamp not null',
      'at',
      {},
      /cursorTimeZone must say in which one it is written/,
    ],
    [
      TIMED,
      'nowhere',
      {},
      /name "nowhere", which the stream does not have; its columns are "id", "updated_at", "name"\./,
    ],
    [
      TIMED,
      'updated_at',
      { keyColumns: ['name'] },
      /keyColumns names "name", which no primary key and no unique index/,
    ],
    [
      'id int, updated_at timestamptz',
      'updated_at',
      {},
      /has no primary key; keyColumns must name/,
    ],
    [
      TIMED,
      'updated_at',
      { query: 'select 1 as a, 2 as a', keyColumns: ['a'] },
      /two columns that are called "a"/,
    ],
    [TIMED, 'updated_at', { query: 'select 1; drop table x', keyColumns: ['a'] }, /syntax error/],
    [
      TIMED,
      'updated_at',
      { query: 'select * from nowhere', keyColumns: ['id'] },
      /relation "nowhere" does not exist/,
    ],
  ])('refuses %s read by %s with %j', async (columns, cursorColumn, options, reason) => {
    const table = await people(columns)
    await expect(openStream(`public.${table}`, { cursorColumn, ...options })).rejects.toThrow(
      reason,
    )
  })

  it('tells of rows that it could never read, when it begins and before it ends', async () => {
    const table = await people(
      'id int primary key, updated_at timestamptz',
      `insert into $t values (1, now() - interval '1 hour')`,
    )
    await using(openStream(`public.${table}`, {}), async (reader) => {
      expect(await rest(reader, null)).toEqual(['1'])
      await world().run(`insert into ${table} values (2, null), (3, 'infinity')`)
      const told = /^2 rows have no usable value in "updated_at" or the key/
      await expect(rest(reader, null)).rejects.toThrow(told)
      await expect(openStream(`public.${table}`, {})).rejects.toThrow(told)
    })
    const foreign = await people(
      'id int primary key, seen xid8 not null',
      `insert into $t values (1, '99999999999')`,
    )
    await expect(openStream(`public.${foreign}`, { cursorColumn: 'seen' })).rejects.toThrow(
      '1 row has no usable value',
    )
  })

  it('notices a declared key that two rows share, also over the end of a page', async () => {
    const query = `select 1 as id, timestamptz '2026-01-01' as updated_at from generate_series(1, 2)`
    const reader = openStream('twins', { query, keyColumns: ['id'] })
    await expect(using(reader, (open) => rest(open, null, 1))).rejects.toThrow(
      'Two rows have the same values',
    )
  })

  it('orders and compares texts by their bytes, in the order of no country', async () => {
    const names = ['B', 'a', 'É', 'e', 'a b', 'ab', '']
    const table = await people(
      'name text collate "und-x-icu" primary key, updated_at timestamptz not null',
      `insert into $t select v, '2026-01-01' from jsonb_array_elements_text('${JSON.stringify(names)}') v`,
    )
    const read = await using(openStream(`public.${table}`, {}), (reader) => rest(reader, null, 1))
    expect(read).toEqual(['', 'B', 'a', 'a b', 'ab', 'e', 'É'])
  })

  it('writes nothing, whatever its query does: not even when an earlier statement has let down the guard', async () => {
    const table = await people('id int')
    await world().run(`create function sneak() returns int language plpgsql as $$ begin
      if current_setting('sneak.is_armed', true) = 'yes' then
        insert into ${table} values (1);
      else
        perform set_config('sneak.is_armed', 'yes', false);
        perform set_config('default_transaction_read_only', 'off', false);
      end if;
      return 1; end $$`)
    const query = 'select sneak() as id, 1 as n'
    const options = { query, keyColumns: ['id'], cursorColumn: 'n', lateCommits: 'IGNORE' }
    await using(openStream('sneak', options), async (reader) => {
      // It was asked for rows without a place when it was opened.
      await expect(readPage(reader, null, 1)).rejects.toThrow('read-only')
    })
    expect(await world().run(`select * from ${table}`)).toEqual([])
  })

  it('does not let a query read its own literals anew and end the read-only transaction', async () => {
    const table = await people(TIMED, `insert into $t (id) values (1)`)
    // With standard_conforming_strings off, the literal of a backslash goes on to the next quote.
    const query = `select id, updated_at from ${table}
      where set_config('standard_conforming_strings', 'off', false) = 'off'
      and 'x' <> '\\' and '' <> ') as stream; commit; begin read write; delete from ${table}; commit;
        select 1 from (select 1 as id, now() as updated_at --' offset 0`
    const options = { query, keyColumns: ['id'], lateCommits: 'IGNORE' }
    await using(openStream('people', options), async (reader) => {
      await expect(readPage(reader, null, 1)).rejects.toThrow('42601')
    })
    expect(await world().run(`select id from ${table}`)).toHaveLength(1)
  })

  it('starts over, in the next generation, at a cursor of another stream, and says that its ranges are gone', async () => {
    const table = await people(
      TIMED,
      `insert into $t select g, now() - interval '1 hour' from generate_series(1, 3) g`,
    )
    const page = await using(openStream(`public.${table}`, {}), (reader) =>
      readPage(reader, null, 2),
    )
    const query = `select * from ${table}`
    await using(openStream('other', { query, keyColumns: ['id'] }), async (reader) => {
      const again = await readPage(reader, page?.to ?? null, 2)
      expect(idsOf(again)).toEqual(['1', '2'])
      expect(JSON.parse(again?.from ?? '')).toMatchObject({ generation: 1, behind: null })
      expect(page && (await readRange(reader, page))).toMatchObject({ kind: 'gone' })
      await expect(readPage(reader, 'page-7', 1)).rejects.toThrow(
        'The cursor is not one of a PostgreSQL source',
      )
    })
  })

  it('reads on over a new connection when the old one is gone, and gives up in time when nobody answers', async () => {
    const table = await people(
      TIMED,
      `insert into $t select g, now() - interval '1 hour' from generate_series(1, 3) g`,
    )
    await using(openStream(`public.${table}`, {}), async (reader) => {
      const page = await readPage(reader, null, 2)
      await world().run(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'tajo-sync'`,
      )
      expect(await rest(reader, page?.to ?? null)).toEqual(['3'])
    })
    const slow = `select id, updated_at, pg_sleep(case when id > 1 then 30 end)::text as slept from ${table}`
    const reader = openStream('slow', {
      query: slow,
      keyColumns: ['id'],
      statementTimeoutMs: 1_000,
    })
    await expect(using(reader, (open) => readPage(open, null, 3))).rejects.toMatchObject({
      code: 'provider_unavailable',
      message: 'The server did not finish the statement in time (57014).',
    })
  })

  it('ends pages early that are too large for the memory', async () => {
    const table = await people(
      TIMED,
      `insert into $t select g, now() - interval '1 hour', repeat('x', 20000) from generate_series(1, 2000) g`,
    )
    await using(openStream(`public.${table}`, {}), async (reader) => {
      const pages = await readPages(reader, [10_000])
      expect(pages.map(({ records }) => records.length)).toEqual([999, 999, 2])
    })
  })
})
