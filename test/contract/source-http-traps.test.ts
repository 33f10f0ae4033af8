/** What APIs do while they are paged, each by its name. */
import { afterEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/domain/json.ts'
import {
  BY_LINK,
  BY_NUMBER,
  BY_TOKEN,
  type HttpStream,
  readOn,
  startHttpStream,
} from '../support/http-stream.ts'
import type { ApiRow, PageAnswer } from '../support/paged-api.ts'

const people = (...ids: readonly number[]) => ids.map((id) => person(id))
const person = (id: number, name = 'a', minute = id) => ({ id, name, at: timeOf(minute) })
const timeOf = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`
const page = (items: readonly ApiRow[], next: unknown = null): PageAnswer => {
  return { kind: 'answer', body: { items, paging: { next } } }
}
const linked = (link: string): PageAnswer => {
  return { kind: 'answer', body: people(1), headers: { link } }
}

let stream: HttpStream
const { signal } = new AbortController()
afterEach(() => stream.close())

const tokenOf = ({ url }: { url: URL }) => url.searchParams.get('cursor')
const failsToRead = async (options: JsonObject, message: string | RegExp, code = 'node_failed') => {
  const read = stream.run(options)
  await expect(read).rejects.toThrow(message)
  await expect(read).rejects.toMatchObject({ name: 'ConnectorError', code })
}

describe('a source that is paged by tokens', () => {
  it('goes on behind an empty page with a token', async () => {
    stream = await startHttpStream({ by: 'TOKEN' })
    stream.api.decide((asked) => {
      const pages: Record<string, PageAnswer> = {
        '': page(people(1), 'b'),
        b: page([], 'c'),
        c: page(people(2)),
      }
      return pages[tokenOf(asked) ?? ''] ?? null
    })
    expect((await stream.run(BY_TOKEN)).read).toEqual(['1', '2'])
  })

  it('follows the token of the last page, and ends behind it', async () => {
    stream = await startHttpStream({ by: 'TOKEN', isTokenOnLastPage: true })
    stream.api.rows = people(1, 2, 3, 4)
    const { read, reached } = await stream.run(BY_TOKEN)
    expect(read).toEqual(['1', '2', '3', '4'])
    expect(JSON.parse(reached ?? '')).toMatchObject({ isEnd: true, at: null })
  })

  it.each([
    ['a repeated token', ['a', 'a']],
    ['a circle A, B, A', ['a', 'b', 'a', 'b', 'a', 'b', 'a', 'b']],
    ['a long circle', [...'abcdefghijk', ...'defghijk', ...'defghijk', ...'defghijk']],
  ])('refuses %s, also when each page is read by another process', async (_, tokens) => {
    stream = await startHttpStream({ by: 'TOKEN' })
    let id = 0
    stream.api.decide(() => {
      id += 1
      return page(people(id), tokens[id - 1] ?? null)
    })
    const readByOthers = async () => {
      for (let from: string | null = null; ; ) {
        const reader = await stream.open(BY_TOKEN)
        const next = await readOn(reader, from)
        await reader.close()
        id -= 1
        if (next === null) {
          return
        }
        from = next.to
      }
    }
    await expect(readByOthers()).rejects.toThrow('leads in a circle')
  })

  it('reads no more than maxPages pages', async () => {
    stream = await startHttpStream({ by: 'TOKEN', size: 1 })
    stream.api.rows = people(1, 2, 3, 4)
    await failsToRead({ ...BY_TOKEN, maxPages: 3 }, 'gives more than maxPages (3) pages')
    expect((await stream.run({ ...BY_TOKEN, maxPages: 4 })).read).toHaveLength(4)
  })

  it('asks hasMorePath whether there is more, and believes it', async () => {
    stream = await startHttpStream({ by: 'TOKEN' })
    const options = { ...BY_TOKEN, hasMorePath: 'more' }
    const body = (more: unknown, next: string | null): PageAnswer => {
      return { kind: 'answer', body: { items: people(1), paging: { next }, more } }
    }
    stream.api.decide(() => body(false, 'x'))
    expect((await stream.run(options)).read).toEqual(['1'])
    stream.api.decide(() => body(true, null))
    await failsToRead(options, 'the word that there is more at more, and no next page')
    stream.api.decide(() => body(undefined, null))
    await failsToRead(options, 'neither true nor false at more')
  })

  it('begins a pass again whose token has expired', async () => {
    stream = await startHttpStream({ by: 'TOKEN', size: 2 })
    stream.api.rows = people(1, 2, 3, 4)
    const first = await readOn(await stream.open(BY_TOKEN), null)
    stream.api.expireTokens()
    const { read } = await stream.run(BY_TOKEN, first?.to)
    expect(read).toEqual(['1', '2', '3', '4'])
  })

  it('finds a range again whose token has expired, and tells one that is gone', async () => {
    stream = await startHttpStream({ by: 'TOKEN', size: 2 })
    stream.api.rows = people(1, 2, 3, 4, 5)
    const reader = await stream.open(BY_TOKEN)
    const first = await readOn(reader, null)
    const second = await readOn(reader, first?.to ?? null)
    stream.api.expireTokens()
    const range = { from: second?.from ?? '', to: second?.to ?? '', limit: 1, signal }
    expect(await reader.readPage(range)).toEqual(second)
    stream.api.rows = people(1)
    const other = await stream.open(BY_TOKEN)
    expect(await other.readPage(range)).toMatchObject({ kind: 'gone' })
    const next = await readOn(other, second?.to ?? null)
    expect(next?.records.map(({ identity }) => identity)).toEqual(['1'])
  })
})

describe('a source that is paged by numbers', () => {
  it('counts records, of which the API may give fewer than it was asked for', async () => {
    stream = await startHttpStream({ by: 'NUMBER', size: 2 })
    stream.api.rows = people(1, 2, 3, 4, 5)
    const options = { ...BY_NUMBER, pageParameter: 'offset', counting: 'RECORDS' }
    expect((await stream.run(options)).read).toHaveLength(5)
  })

  it('refuses an API that does not heed the number', async () => {
    stream = await startHttpStream({ by: 'NUMBER' })
    stream.api.rows = people(1, 2, 3)
    await failsToRead({ ...BY_NUMBER, pageParameter: 'p' }, 'does not heed the parameter p')
  })

  it('does not give a row twice that an insert moved to the next page', async () => {
    stream = await startHttpStream({ by: 'NUMBER', size: 2 })
    stream.api.rows = people(1, 2, 3, 4)
    stream.api.decide(({ url }) => {
      if (url.searchParams.get('page') === '2') {
        stream.api.rows = people(9, 1, 2, 3, 4)
      }
      return null
    })
    const { read, reached } = await stream.run(BY_NUMBER)
    expect(read).toEqual(['1', '2', '3', '4'])
    stream.api.decide(() => null)
    expect((await stream.run(BY_NUMBER, reached)).read).toEqual(['9', '1', '2', '3', '4'])
  })

  it('gives a row that a deletion moved away from it at the next run', async () => {
    stream = await startHttpStream({ by: 'NUMBER', size: 2 })
    stream.api.rows = people(1, 2, 3, 4)
    stream.api.decide(({ url }) => {
      if (url.searchParams.get('page') === '2') {
        stream.api.rows = people(2, 3, 4)
      }
      return null
    })
    const first = await stream.run(BY_NUMBER)
    expect(first.read).toEqual(['1', '2', '4'])
    expect((await stream.run(BY_NUMBER, first.reached)).read).toEqual(['2', '3', '4'])
  })
})

describe('a source that is paged by links', () => {
  it.each([
    ['an absolute path', '</v1/people?page=2>; rel=next'],
    ['a query alone', '<?page=2>; rel="next"'],
    [
      'several links and relations',
      '<?page=1>; rel=first, <?page=2>; rel="last NEXT"; title="a, b"',
    ],
  ])('follows %s', async (_, link) => {
    stream = await startHttpStream({ by: 'LINK' })
    stream.api.decide(({ url }) => (url.searchParams.has('page') ? null : linked(link)))
    stream.api.rows = people(1, 2, 3, 4)
    expect((await stream.run(BY_LINK)).read).toEqual(['1', '4'])
  })

  it('follows an address in the body', async () => {
    stream = await startHttpStream({ by: 'LINK' })
    const options = { ...BY_LINK, recordsPath: 'items', nextPath: 'paging.next' }
    stream.api.decide(({ url }) =>
      url.search === '' ? page(people(1), `${stream.api.baseUrl}/people?page=2`) : page(people(2)),
    )
    expect((await stream.run(options)).read).toEqual(['1', '2'])
  })

  it.each([
    ['another port', (port: string) => `http://127.0.0.1:${Number(port) + 1}/v1/people`],
    ['another scheme', (port: string) => `https://127.0.0.1:${port}/v1/people`],
    ['another host', () => '//evil.example/v1/people'],
    ['a login', (port: string) => `http://u:p@127.0.0.1:${port}/v1/people`],
  ])('does not follow a link to %s', async (_, target) => {
    stream = await startHttpStream({ by: 'LINK' })
    const { port } = new URL(stream.api.baseUrl)
    stream.api.decide(() => linked(`<${target(port)}>; rel=next`))
    await failsToRead(BY_LINK, 'lies at another host, port or scheme than the base URL')
    expect(stream.api.asked).toHaveLength(1)
  })

  it('keeps a path that looks like a host on its own host', async () => {
    stream = await startHttpStream({ by: 'LINK' })
    const next = `<${new URL(stream.api.baseUrl).origin}//evil.example/x>; rel=next`
    stream.api.decide(({ url }) => (url.pathname === '/v1/people' ? linked(next) : null))
    await stream.run(BY_LINK)
    expect(stream.api.asked.map(({ url }) => url.pathname)).toContain('//evil.example/x')
  })

  it.each([
    ['that is broken', '<?page=2; rel=next', 'a header Link that cannot be read'],
    ['whose relation is hidden', '<?page=2>; x; rel=next', 'a header Link that cannot be read'],
    ['with two next pages', '<?p=2>; rel=next, <?p=3>; rel=next', 'with two next pages'],
  ])('does not take a header Link %s for the end', async (_, link, message) => {
    stream = await startHttpStream({ by: 'LINK' })
    stream.api.decide(() => linked(link))
    await failsToRead(BY_LINK, message)
  })
})

describe('a source that is read again without a watermark', () => {
  it('has nothing new while nothing has changed, and then gives all of it', async () => {
    stream = await startHttpStream({ by: 'TOKEN', size: 2 })
    stream.api.rows = people(1, 2, 3)
    const first = await stream.run(BY_TOKEN)
    expect(await stream.run(BY_TOKEN, first.reached)).toEqual({ read: [], reached: first.reached })
    stream.api.rows = [person(1), person(2, 'b'), person(3)]
    const second = await stream.run(BY_TOKEN, first.reached)
    expect(second.read).toEqual(['1', '2', '3'])
    stream.api.rows = people(1, 2, 3)
    const third = await stream.run(BY_TOKEN, second.reached)
    expect(third.read).toEqual(['1', '2', '3'])
    const passes = [first, second, third].map(({ reached }) => JSON.parse(reached ?? '').pass)
    expect(passes).toEqual([0, 1, 2])
  })
})
