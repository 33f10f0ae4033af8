/**
 * A postgres source whose table changes while it is read: ties, moments a microsecond apart, rows that move between two
 * pages, and transactions that commit late.
 */
import { describe, expect, it } from 'vitest'
import type { SourceReader } from '../../src/connectors/source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { idsOf, makeTable, openPostgresStream, TIMED, using } from '../support/postgres-streams.ts'
import { usePostgresWorld } from '../support/postgres-world.ts'
import { readPage, readPages, readRange } from './source-suite.ts'

const world = usePostgresWorld()
const openStream = (stream: string, options: JsonObject = {}) =>
  openPostgresStream(world(), stream, options)
const people = (columns: string, rows = '') => makeTable(world(), columns, rows)
const rest = async (reader: SourceReader, from: string | null, size = 100) =>
  (await readPages(reader, [size], from)).flatMap((page) => idsOf(page) ?? [])

describe('a postgres source that changes', () => {
  it('goes on in the middle of a tie, and loses none to a moment that was rounded (microseconds)', async () => {
    const table = await people(
      TIMED,
      `insert into $t select g, '2026-01-01 00:00:00.123456+00'::timestamptz + (g / 4) * interval '1 microsecond' from generate_series(1, 20) g`,
    )
    await using(openStream(`public.${table}`, {}), async (reader) => {
      const pages = await readPages(reader, [3])
      expect(pages.flatMap((page) => idsOf(page) ?? [])).toEqual(
        Array.from({ length: 20 }, (_, n) => `${n + 1}`),
      )
      expect(pages[0]?.to).toContain('2026-01-01 00:00:00.123456+00')
    })
  })

  it('gives a row that moves while it is paged again, where it moved to', async () => {
    const table = await people(
      TIMED,
      `insert into $t select g, now() - interval '1 hour' from generate_series(1, 4) g`,
    )
    await using(openStream(`public.${table}`, {}), async (reader) => {
      const first = await readPage(reader, null, 2)
      await world().run(
        `update ${table} set updated_at = now() - interval '1 minute', name = 'moved' where id in (1, 4)`,
      )
      expect(await rest(reader, first?.to ?? null)).toEqual(['3', '1', '4'])
      const again = first && (await readRange(reader, first))
      expect(again?.kind === 'page' && idsOf(again)).toEqual(['2'])
    })
  })

  it('reads in a range what lies there now, not what its horizon was', async () => {
    const table = await people(
      TIMED,
      `insert into $t select g, now() - interval '1 hour' from generate_series(1, 4) g where g <> 2`,
    )
    await using(openStream(`public.${table}`, {}), async (reader) => {
      const page = await readPage(reader, null, 2)
      await world().run(`insert into ${table} select 2, min(updated_at) from ${table}`)
      const again = page && (await readRange(reader, page))
      expect(again?.kind === 'page' && idsOf(again)).toEqual(['1', '2', '3'])
    })
  })
})

describe('rows of a postgres source that are committed late', () => {
  const xid = `id int primary key, seen xid8 not null default pg_current_xact_id()`

  it.each([
    [
      'LAG: holds at the start of a transaction that has written',
      TIMED,
      { cursorColumn: 'updated_at', lagMs: 0 },
      '',
    ],
    [
      'LAG: holds, for holdMs, at one that has not written yet',
      TIMED,
      { cursorColumn: 'updated_at', lagMs: 0 },
      'late',
    ],
    ['XID: holds at the oldest transaction that is open', xid, { cursorColumn: 'seen' }, ''],
  ])('%s', async (_, columns, options, isLate) => {
    const table = await people(columns)
    const other = await world().sql.reserve()
    try {
      await other.unsafe('begin')
      await other.unsafe(isLate ? 'select now()' : `insert into ${table} (id) values (1)`)
      await world().run(`insert into ${table} (id) values (2)`)
      await using(openStream(`public.${table}`, options), async (reader) => {
        expect(await readPage(reader, null, 10)).toBeNull()
        await other.unsafe(`insert into ${table} (id) values (3)`)
        await other.unsafe('commit')
        await world().othersEnded()
        expect((await rest(reader, null)).sort()).toEqual(isLate ? ['2', '3'] : ['1', '2', '3'])
      })
    } finally {
      await other.unsafe('rollback')
      other.release()
    }
  })

  it('LAG: reads nothing that is younger than lagMs, and does not wait for who thinks longer than holdMs', async () => {
    const table = await people(
      TIMED,
      `insert into $t values (1, now() - interval '1 hour'), (2, now() - interval '10 seconds')`,
    )
    const other = await world().sql.reserve()
    try {
      await using(openStream(`public.${table}`, { lagMs: 60_000 }), async (reader) => {
        expect(await rest(reader, null)).toEqual(['1'])
      })
      await other.unsafe('begin')
      await other.unsafe('select now()')
      await using(openStream(`public.${table}`, { lagMs: 0, holdMs: 0 }), async (reader) => {
        expect(await rest(reader, null)).toEqual(['1', '2'])
      })
    } finally {
      await other.unsafe('rollback')
      other.release()
    }
  })

  it('IGNORE, the control: the row that is committed late is lost for ever', async () => {
    const table = await people(TIMED)
    const other = await world().sql.reserve()
    try {
      await other.unsafe('begin')
      await other.unsafe(`insert into ${table} (id) values (1)`)
      await world().run(
        `insert into ${table} (id, updated_at) values (2, now() + interval '1 second')`,
      )
      await using(openStream(`public.${table}`, { lateCommits: 'IGNORE' }), async (reader) => {
        const page = await readPage(reader, null, 10)
        await other.unsafe('commit')
        expect([idsOf(page), await rest(reader, page?.to ?? null)]).toEqual([['2'], []])
      })
    } finally {
      await other.unsafe('rollback')
      other.release()
    }
  })
})

describe('a postgres source that was restored or failed over', () => {
  it('XID: starts over, in the next generation, behind a transaction that its server has not come to', async () => {
    const table = await people(
      'id int primary key, seen xid8 not null default pg_current_xact_id()',
      'insert into $t values (1)',
    )
    const options = { cursorColumn: 'seen', lateCommits: 'XID' }
    await world().othersEnded()
    await using(openStream(`public.${table}`, options), async (reader) => {
      const page = await readPage(reader, null, 9)
      const { behind, ...cursor } = JSON.parse(page?.to ?? '{}')
      const ahead = JSON.stringify({ ...cursor, behind: ['99999999999', '1'] })
      const again = await readPage(reader, ahead, 9)
      expect(again?.from).toBe(JSON.stringify({ ...cursor, generation: 1, behind: null }))
      expect(idsOf(again)).toEqual(['1'])
      expect(JSON.parse(again?.to ?? '{}')).toEqual({ ...cursor, generation: 1, behind })
      expect(await readPage(reader, again?.to ?? null, 9)).toBeNull()
    })
  })
})
