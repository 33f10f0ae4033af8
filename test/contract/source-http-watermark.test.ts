/** What is asked for with a watermark, and what must not be lost by it. */
import { afterEach, describe, expect, it } from 'vitest'
import type { SourceReader } from '../../src/connectors/source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { createHandClock } from '../support/hand-clock.ts'
import {
  BY_NUMBER,
  BY_TOKEN,
  type HttpStream,
  readOn,
  SINCE,
  startHttpStream,
} from '../support/http-stream.ts'
import type { ApiRow, PageAnswer } from '../support/paged-api.ts'

const people = (...ids: readonly number[]) => ids.map((id) => person(id))
const person = (id: number, name = 'a', minute = id) => ({ id, name, at: timeOf(minute) })
const timeOf = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`
const page = (items: readonly ApiRow[], next: unknown = null): PageAnswer => {
  return { kind: 'answer', body: { items, paging: { next } } }
}

let stream: HttpStream
const { signal } = new AbortController()
afterEach(() => stream.close())

const tokenOf = ({ url }: { url: URL }) => url.searchParams.get('cursor')
const readSecond = async (reader: SourceReader, from: string | null) => {
  const first = await readOn(reader, from)
  const second = await readOn(reader, first?.to ?? null)
  return { from: second?.from ?? '', to: second?.to ?? '' }
}

describe('a source with a watermark', () => {
  const options = { ...BY_TOKEN, ...SINCE }

  it('asks from the highest one less the overlap, and gives what is new or changed once', async () => {
    stream = await startHttpStream({ by: 'TOKEN', size: 2 })
    stream.api.rows = people(1, 7, 9)
    const first = await stream.run(options)
    expect(first.read).toEqual(['1', '7', '9'])
    const count = stream.api.asked.length
    expect((await stream.run(options, first.reached)).read).toEqual([])
    expect(stream.api.asked[count]?.url.searchParams.get('since')).toBe('2026-01-01T00:04:00.000Z')
    // Late, tied with the last one, and changed.
    stream.api.rows = [...people(1), person(5), person(7, 'b', 10), person(8, 'a', 9), person(9)]
    const second = await stream.run(options, first.reached)
    expect(second.read).toEqual(['5', '7', '8'])
    expect((await stream.run(options, second.reached)).read).toEqual([])
  })

  it('gives what goes back to an older content', async () => {
    stream = await startHttpStream({ by: 'TOKEN' })
    let reached: string | null = null
    for (const name of ['a', 'b', 'a']) {
      stream.api.rows = [person(1, name, 7), person(2)]
      const run = await stream.run(options, reached)
      expect(run.read).toContain('1')
      reached = run.reached
    }
  })

  it('gives no row twice where the API begins a page with the last row of the one before', async () => {
    stream = await startHttpStream({ by: 'TOKEN' })
    stream.api.decide((asked) =>
      tokenOf(asked) === null ? page(people(1, 2), 'b') : page(people(2, 3)),
    )
    expect((await stream.run(options)).read).toEqual(['1', '2', '3'])
  })

  it('gives within the overlap what a deletion moved away from it', async () => {
    stream = await startHttpStream({ by: 'NUMBER', size: 2 })
    stream.api.rows = people(1, 2, 3, 4)
    stream.api.decide(({ url }) => {
      if (url.searchParams.get('page') === '2') {
        stream.api.rows = people(2, 3, 4)
      }
      return null
    })
    const numbered = { ...BY_NUMBER, ...SINCE }
    const first = await stream.run(numbered)
    expect(first.read).toEqual(['1', '2', '4'])
    expect((await stream.run(numbered, first.reached)).read).toEqual(['3'])
  })

  it.each(['header Date', 'clock'])(
    'asks for what changed behind it while it read on, as the %s tells it',
    async (teller) => {
      const clock = createHandClock()
      stream = await startHttpStream({ by: 'TOKEN', size: 2 }, { clock })
      const at = (minute: number) => {
        stream.api.servedAt = teller === 'clock' ? null : new Date(timeOf(minute))
      }
      clock.advance(teller === 'clock' ? 10 * 60_000 : 59 * 60_000)
      at(10)
      stream.api.rows = people(1, 2, 3)
      stream.api.decide((asked) => {
        if (tokenOf(asked) !== null) {
          at(50)
          stream.api.rows = [person(1, 'b', 12), person(2), person(3, 'b', 45)]
        }
        return null
      })
      const first = await stream.run({ ...options, watermarkOverlap: 60 })
      expect(first.read).toEqual(['1', '2', '3'])
      const second = await stream.run({ ...options, watermarkOverlap: 60 }, first.reached)
      expect(second.read).toEqual(['1'])
      expect(stream.api.asked.at(-1)?.url.searchParams.get('since')).toBe(
        '2026-01-01T00:09:00.000Z',
      )
    },
  )

  it('asks for what changed since, although one record is from the future', async () => {
    const clock = createHandClock()
    stream = await startHttpStream({ by: 'TOKEN' }, { clock })
    const overlapless = { ...options, watermarkOverlap: 0 }
    stream.api.rows = [person(1), { id: 2, name: 'a', at: '2999-01-01T00:00:00Z' }]
    clock.advance(10 * 60_000)
    let { reached } = await stream.run(overlapless)
    for (const id of [12, 22]) {
      stream.api.rows.push(person(id))
      clock.advance(10 * 60_000)
      const run = await stream.run(overlapless, reached)
      expect(run.read).toEqual([String(id)])
      reached = run.reached
    }
  })

  it('asks again from where the first of the ranges did that are gone, also when that fails once', async () => {
    stream = await startHttpStream({ by: 'TOKEN', size: 2 })
    const minutely = { ...options, watermarkOverlap: 60 }
    const reader = await stream.open(minutely)
    stream.api.rows = people(1, 2, 3, 4)
    const old = await readSecond(reader, null)
    stream.api.rows.push(...people(30, 31, 32))
    const newer = await readSecond(await stream.open(minutely), old.to)
    stream.api.rows = people(1, 40)
    stream.api.expireTokens()
    for (const { from, to } of [old, newer]) {
      expect(await reader.readPage({ from, to, limit: 1, signal })).toMatchObject({ kind: 'gone' })
    }
    stream.api.decide(() => ({ kind: 'answer', status: 503, body: {} }))
    await expect(readOn(reader, newer.to)).rejects.toThrow('answered 503')
    stream.api.decide(() => null)
    const next = await readOn(reader, newer.to)
    expect(next?.records.map(({ identity }) => identity)).toEqual(['1', '40'])
    expect(await readOn(reader, next?.to ?? null)).toBeNull()
  })

  it.each([
    ['forward', { range: 0, now: people(0, 1, 2, 3, 4), read: ['0', '1', '2'] }],
    ['back', { range: 1, now: people(2, 3, 4), read: ['4', '3'] }],
    ['nowhere', { range: 1, now: people(1, 2, 4), read: ['4'] }],
    // It comes in the next pass.
    [
      'to another content',
      {
        range: 1,
        now: [...people(1, 2, 4, 5, 6, 7), person(3, 'b', 9)],
        read: ['4', '5', '6', '7'],
      },
    ],
  ])('reads a record of a range that moved %s', async (_, { range, now, read }) => {
    stream = await startHttpStream({ by: 'NUMBER', size: 2 })
    stream.api.rows = people(1, 2, 3, 4)
    const numbered = { ...BY_NUMBER, ...SINCE }
    const reader = await stream.open(numbered)
    const first = await readOn(reader, null)
    const second = await readOn(reader, first?.to ?? null)
    const { from, to } = (range === 0 ? first : second) ?? { from: '', to: '' }
    stream.api.rows = now
    const other = await stream.open(numbered)
    const again = await other.readPage({ from, to, limit: 1, signal })
    const records = again.kind === 'page' ? again.records : []
    expect(records.map(({ identity }) => identity)).toEqual(read)
  })

  it.each<[string, JsonObject, string[]]>([
    ['another query', { query: { kind: 'all' } }, ['1', '30']],
    ['another watermark field', { watermarkField: 'changed' }, ['1', '30']],
    ['another overlap', { watermarkOverlap: 0 }, []],
    ['another size of a page', { sizeParameter: 'size', size: 1 }, []],
  ])('reads by %s what that has not read', async (_, changed, read) => {
    stream = await startHttpStream({ by: 'TOKEN' })
    stream.api.rows = [1, 30].map((id) => ({ ...person(id), changed: timeOf(id) }))
    const { reached } = await stream.run(options)
    expect((await stream.run({ ...options, ...changed }, reached)).read).toEqual(read)
    const reader = await stream.open({ ...options, ...changed })
    const [from, to] = [await readOn(await stream.open(options), null), reached]
    const range = { from: from?.from ?? '', to: to ?? '', limit: 1, signal }
    const kind = read.length > 0 ? 'gone' : 'page'
    expect(await reader.readPage(range)).toMatchObject({ kind })
  })

  it('rejects a record without one, and gives it once', async () => {
    stream = await startHttpStream({ by: 'TOKEN' })
    stream.api.decide(() => page([person(1), { id: 2, at: 'yesterday' }]))
    const reader = await stream.open(options)
    const first = await readOn(reader, null)
    expect(first?.records[1]).toMatchObject({
      problem:
        'record 2 of a page: has neither a time nor a whole number in at, the watermark field',
    })
    expect((await stream.run(options, first?.to)).read).toEqual([])
  })
})
