/** The file source reads gzip as it reads what is in it, and takes nothing broken for the end. */
import { appendFile, readFile, truncate } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SourceReader } from '../../src/connectors/source.ts'
import { createFileSource } from '../../src/connectors/sources/file/file-source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { createTestDirectory, type TestDirectory } from '../support/files.ts'
import { openConnection } from '../support/open-connection.ts'
import { readPage, readPages, readRange } from './source-suite.ts'

const MIB = 1024 * 1024
let directory: TestDirectory
const opened: SourceReader[] = []
beforeEach(async () => {
  directory = await createTestDirectory()
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((reader) => reader.close()))
  await directory.remove()
})

async function openStream(
  name = 'people.csv.gz',
  options: JsonObject = {},
  maxInflatedBytes?: number,
): Promise<SourceReader> {
  const source = createFileSource({
    rootDirectory: directory.path,
    ...(maxInflatedBytes === undefined ? {} : { maxInflatedBytes }),
  })
  const reader = await source.open({ ...openConnection(), stream: name, options })
  opened.push(reader)
  return reader
}

const linesOf = (from: number, to: number, width = 0) =>
  Array.from({ length: to - from }, (_, at) => `${from + at},${'x'.repeat(width)}\n`).join('')
const first = `id,name\n${linesOf(0, 4)}`
const idsOf = (page: Awaited<ReturnType<typeof readPage>>) =>
  page?.records.map(({ fields }) => fields?.['id'])
const write = (content: Uint8Array, name = 'people.csv.gz') => directory.write(name, content)

describe('a gzip file', () => {
  it.each([
    ['people.csv.gz', {}],
    ['PEOPLE.CSV.GZ', {}],
    ['people.gz', { format: 'CSV' }],
    ['people.csv', { compression: 'GZIP' }],
  ])('is known by its name or its option: %s %j', async (name, options) => {
    await write(gzipSync(first), name)
    expect(await readPages(await openStream(name, options), [10])).toHaveLength(1)
  })

  it('is read as it is where its option says so', async () => {
    await directory.write('people.csv.gz', first)
    expect(
      await readPages(await openStream('people.csv.gz', { compression: 'NONE' }), [10]),
    ).toHaveLength(1)
  })

  it('has the cursors of what is in it, however it was compressed', async () => {
    await write(gzipSync(first, { level: 1 }))
    const page = await readPage(await openStream(), null, 2)
    await write(
      Buffer.concat([gzipSync(first.slice(0, 9), { level: 9 }), gzipSync(first.slice(9))]),
    )
    const rest = await readPage(await openStream(), page?.to ?? null, 10)
    expect(rest?.from).toBe(page?.to)
    expect(idsOf(rest)).toEqual(['2', '3'])
  })

  it('goes on with what another member appends, in the same reader and in another one', async () => {
    const path = await write(gzipSync(first))
    const reader = await openStream()
    const [page] = await readPages(reader, [10])
    await appendFile(path, gzipSync(linesOf(4, 6)))
    expect(idsOf(await readPage(reader, page?.to ?? null, 10))).toEqual(['4', '5'])
    expect(idsOf(await readPage(await openStream(), page?.to ?? null, 10))).toEqual(['4', '5'])
  })

  it('is read again as another one when what is in it was edited, and its ranges are gone', async () => {
    await write(gzipSync(first))
    const reader = await openStream()
    const page = await readPage(reader, null, 2)
    await write(gzipSync(first.replace('0,', '9,')))
    expect(page && (await readRange(await openStream(), page))).toMatchObject({ kind: 'gone' })
    const again = await readPage(reader, page?.to ?? null, 10)
    expect(idsOf(again)).toEqual(['9', '1', '2', '3'])
    expect(JSON.parse(again?.from ?? '').generation).toBe(1)
  })

  it('gives ranges again that lie farther back than what is kept of it', async () => {
    await write(gzipSync(`id,name\n${linesOf(0, 6_000, 1_000)}`))
    const reader = await openStream()
    const pages = await readPages(reader, [1_500])
    expect(pages).toHaveLength(4)
    for (const page of pages.toReversed()) {
      expect((await readRange(reader, page)).kind).toBe('page')
    }
    const resumed = await readPages(await openStream(), [10_000], pages[2]?.to)
    expect(resumed.flatMap(({ records }) => records)).toHaveLength(1_500)
  })
})

describe('a gzip file that is broken', () => {
  const whole = gzipSync(`id,name\n${linesOf(0, 20_000, 20)}`)
  const readAll = async () => {
    const reader = await openStream()
    return await readPages(reader, [10_000])
  }

  it.each([
    ['cut short in its content', whole.subarray(0, whole.length / 2), 'is cut short'],
    ['cut short in its checksum', whole.subarray(0, -3), 'is cut short'],
    [
      'cut short in its second member',
      Buffer.concat([whole, whole.subarray(0, 5)]),
      'is cut short',
    ],
    [
      'damaged',
      Buffer.from(whole).fill(0, whole.length - 8, whole.length - 4),
      'is damaged, or is none (Z_DATA_ERROR)',
    ],
    ['followed by something else', Buffer.concat([whole, Buffer.from('id\n')]), 'is damaged'],
    [
      'followed by zeros and something else',
      Buffer.concat([whole, Buffer.alloc(70_000), gzipSync('1,a\n')]),
      'behind its end there is more',
    ],
    ['no gzip at all', Buffer.from(first), 'is damaged, or is none'],
    ['empty', Buffer.alloc(0), 'is cut short'],
  ])('never has an end: %s', async (_, content, message) => {
    await write(content)
    await expect(readAll()).rejects.toMatchObject({
      name: 'ConnectorError',
      code: 'node_failed',
      message: expect.stringContaining(message),
    })
  })

  it('has one behind zeros that fill it up', async () => {
    await write(Buffer.concat([whole, Buffer.alloc(70_000)]))
    expect((await readAll()).flatMap(({ records }) => records)).toHaveLength(20_000)
  })

  it('gives what lies before the cut, and the rest once it is whole', async () => {
    const path = await write(whole)
    await truncate(path, Math.floor(whole.length * 0.9))
    const reader = await openStream()
    const page = await readPage(reader, null, 1_000)
    await expect(readPages(reader, [10_000], page?.to)).rejects.toThrow('is cut short')
    await write(whole)
    const rest = await readPages(reader, [10_000], page?.to)
    expect(rest.flatMap(({ records }) => records)).toHaveLength(19_000)
    expect((await readFile(path)).length).toBe(whole.length)
  })

  it('is refused when a sync is saved, if it does not even begin as one', async () => {
    await write(Buffer.from(first))
    const source = createFileSource({ rootDirectory: directory.path })
    expect(await source.describeStreamProblem('people.csv.gz', {})).toContain(
      'is damaged, or is none',
    )
  })
})

describe('a gzip bomb', () => {
  const blank = gzipSync(Buffer.from(`${' '.repeat(65_535)}\n`.repeat(512)))

  it('of blank lines is not kept in memory', async () => {
    const rows = gzipSync('{"id":1}\n')
    await write(Buffer.concat([rows, ...Array(2).fill(blank), rows]), 'bomb.jsonl.gz')
    const reader = await openStream('bomb.jsonl.gz')
    const page = await readPage(reader, null, 10)
    expect(page?.records).toHaveLength(1)
    await expect(readPage(reader, page?.to ?? null, 10)).rejects.toThrow(
      'the row does not begin within 16 MiB.',
    )
  })

  it('of rows is read in bounded memory', async () => {
    const rows = gzipSync(`${JSON.stringify({ id: 1, text: 'x'.repeat(65_000) })}\n`.repeat(512))
    await write(Buffer.concat(Array(8).fill(rows)), 'bomb.jsonl.gz')
    const reader = await openStream('bomb.jsonl.gz')
    let peak = 0
    let count = 0
    for (let from: string | null = null; ; ) {
      const page = await readPage(reader, from, 100)
      if (page === null) {
        break
      }
      count += page.records.length
      from = page.to
      peak = Math.max(peak, process.memoryUsage().arrayBuffers)
    }
    expect(count).toBe(512 * 8)
    // It holds 256 MiB. What is kept is 4 MiB and a page; the rest waits for the garbage collector.
    expect(peak).toBeLessThan(150 * MIB)
  })

  it('has an end that was set', async () => {
    await write(gzipSync(`id,name\n${linesOf(0, 20_000, 100)}`))
    await expect(readPages(await openStream('people.csv.gz', {}, MIB), [10_000])).rejects.toThrow(
      `The gzip file holds more than ${MIB} bytes; split it.`,
    )
  })

  it('of one line is a broken row', async () => {
    await write(
      gzipSync(Buffer.concat([Buffer.from('id,name\n1,a\n'), Buffer.alloc(64 * MIB, 'x')])),
    )
    await expect(readPages(await openStream(), [1])).rejects.toThrow('does not end within 4 MiB')
  })
})
