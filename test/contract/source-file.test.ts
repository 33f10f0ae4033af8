/** The file source keeps the contract of sources, for any CSV and JSON Lines file, and for files that change. */
import { createHash } from 'node:crypto'
import { appendFile, readFile, rename, truncate } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConnectorError } from '../../src/connectors/connector.ts'
import type { SourceReader } from '../../src/connectors/source.ts'
import { createFileSource } from '../../src/connectors/sources/file/file-source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { createTestDirectory, type TestDirectory } from '../support/files.ts'
import { openConnection } from '../support/open-connection.ts'
import {
  describeSource,
  readPage,
  readPages,
  readRange,
  type StreamUnderTest,
} from './source-suite.ts'

const { signal } = new AbortController()

function openStream(
  rootDirectory: string,
  stream: string,
  options: JsonObject = {},
  chunkBytes = 65_536,
): Promise<SourceReader> {
  const source = createFileSource({ rootDirectory, chunkBytes })
  return source.open({ ...openConnection(), stream, options })
}

async function createStream(
  name: string,
  content: string | Uint8Array,
  options: JsonObject,
  chunkBytes: number,
): Promise<StreamUnderTest> {
  const directory = await createTestDirectory()
  await directory.write(name, content)
  return {
    open: () => openStream(directory.path, name, options, chunkBytes),
    dispose: () => directory.remove(),
  }
}

const lineEnd = fc.constantFrom('\n', '\r\n')
const mark = fc.constantFrom('', '\uFEFF')
/** Down to single bytes: a row must not depend on where the file was cut. */
const chunkBytes = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constant(65_536))
const blankLines = fc.constantFrom('', '', '', '\n', '\r\n\n')
const text = fc.string({
  unit: fc.constantFrom(
    'a',
    'é',
    '😀',
    '"',
    ',',
    ';',
    '\t',
    '|',
    '\n',
    '\r\n',
    ' ',
    '\u2028',
    '\uFEFF',
    '0',
  ),
  maxLength: 6,
})

interface CsvContent {
  readonly mark: string
  readonly delimiter: string
  readonly lineEnd: string
  readonly rows: readonly { readonly values: readonly string[]; readonly before: string }[]
  readonly isTerminated: boolean
  readonly chunkBytes: number
}

const csvContent: fc.Arbitrary<CsvContent> = fc.record({
  mark,
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  lineEnd,
  rows: fc.array(
    fc.record({ values: fc.array(text, { minLength: 1, maxLength: 4 }), before: blankLines }),
    { maxLength: 20 },
  ),
  isTerminated: fc.boolean(),
  chunkBytes,
})

function writeCsv({
  mark: start,
  delimiter,
  lineEnd: end,
  rows,
  isTerminated,
}: CsvContent): string {
  const quote = (value: string): string =>
    value === '' || /["\r\n,;\t|]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
  const lines = rows.map(({ values, before }) => before + values.map(quote).join(delimiter))
  return `${start}${['id', 'b', '"c d"'].join(delimiter)}${end}${lines.join(end)}${isTerminated ? end : ''}`
}

function createCsvStream(content: CsvContent): Promise<StreamUnderTest> {
  const options = { delimiter: content.delimiter }
  return createStream('rows.csv', writeCsv(content), options, content.chunkBytes)
}

describeSource<CsvContent>({
  name: 'file (CSV)',
  content: csvContent,
  count: ({ rows }) => rows.length,
  create: (content) => createCsvStream(content),
})

describeSource<CsvContent & { readonly members: number }>({
  name: 'file (CSV, gzip)',
  content: fc
    .tuple(csvContent, fc.integer({ min: 1, max: 3 }))
    .map(([content, members]) => ({ ...content, members })),
  count: ({ rows }) => rows.length,
  create: (content) => {
    const { delimiter, members, chunkBytes: size } = content
    return createStream('rows.csv.gz', zip(writeCsv(content), members), { delimiter }, size)
  },
})

/** In so many members, cut anywhere, as tools do that append to a gzip file. */
function zip(content: string, members: number): Buffer {
  const bytes = Buffer.from(content)
  const size = Math.ceil(bytes.length / members)
  const parts = Array.from({ length: members }, (_, index) =>
    gzipSync(bytes.subarray(index * size, (index + 1) * size)),
  )
  return Buffer.concat(parts)
}

interface JsonlContent {
  readonly mark: string
  readonly lines: readonly string[]
  readonly isTerminated: boolean
  readonly chunkBytes: number
}

describeSource<JsonlContent>({
  name: 'file (JSONL)',
  content: fc.record({
    mark,
    lines: fc.array(
      fc.oneof(
        fc.record({ id: fc.nat(), name: text }).map((record) => JSON.stringify(record)),
        fc.constantFrom('', '  ', '\r', '{broken', '[1]', '{"n":12345678901234567890}'),
      ),
      { maxLength: 20 },
    ),
    isTerminated: fc.boolean(),
    chunkBytes,
  }),
  count: ({ lines }) => lines.filter((line) => line.trim() !== '').length,
  create: ({ mark: start, lines, isTerminated, chunkBytes: size }) =>
    createStream('rows.jsonl', `${start}${lines.join('\n')}${isTerminated ? '\n' : ''}`, {}, size),
})

describe('a CSV file', () => {
  it('gives back the values that were written, whatever they hold', () =>
    fc.assert(
      fc.asyncProperty(csvContent, async (content) => {
        const stream = await createCsvStream(content)
        const reader = await stream.open()
        const records = (await readPages(reader, [3])).flatMap((page) => page.records)
        await reader.close()
        await stream.dispose()
        expect(records.map(({ fields }) => fields)).toEqual(
          content.rows.map(({ values: [id, b, c, ...more] }) =>
            c === undefined || more.length > 0 ? undefined : { id, b, 'c d': c },
          ),
        )
      }),
      { numRuns: 100 },
    ))
})

describe('a file that changes', () => {
  const header = 'id,name\n'
  const first = `${header}1,Ann\n2,Ben\n3,Cleo\n4,Dan\n`
  let directory: TestDirectory
  let reader: SourceReader

  beforeEach(async () => {
    directory = await createTestDirectory()
    await directory.write('people.csv', first)
    reader = await openStream(directory.path, 'people.csv', { identityField: 'id' })
  })
  afterEach(async () => {
    await reader.close()
    await directory.remove()
  })

  const reopen = async (): Promise<void> => {
    await reader.close()
    reader = await openStream(directory.path, 'people.csv', { identityField: 'id' })
  }
  const namesOf = (page: Awaited<ReturnType<typeof readPage>>) =>
    page?.records.map(({ fields }) => fields?.['name'])
  const path = () => `${directory.path}/people.csv`

  it('goes on with the appended records only', async () => {
    const [page] = await readPages(reader, [10])
    await appendFile(path(), '5,Eve\n')
    expect(namesOf(await readPage(reader, page?.to ?? null, 10))).toEqual(['Eve'])
    await reopen()
    const appended = await readPage(reader, page?.to ?? null, 10)
    expect(namesOf(appended)).toEqual(['Eve'])
    expect(appended?.from).toBe(page?.to)
  })

  it.each([
    ['replaced', async () => rename(await directory.write('new.csv', `${header}9,Zoe\n`), path())],
    ['edited before the cursor', () => directory.write('people.csv', first.replace('Ann', 'Amy'))],
    ['truncated', () => truncate(path(), first.indexOf('3,Cleo'))],
    ['given other columns', () => directory.write('people.csv', first.replace('name', 'nick'))],
  ])('is read from its beginning, in a new generation, when it was %s', async (_, change) => {
    const page = await readPage(reader, null, 3)
    await change()
    await reopen()
    const again = await readPage(reader, page?.to ?? null, 3)
    expect(again?.from).not.toBe(page?.from)
    expect(JSON.parse(again?.from ?? '')).toMatchObject({ generation: 1, record: 0, line: 2 })
    expect(again?.records.length).toBeGreaterThan(0)
  })

  it('says that the range is gone when the file was edited before or in it', async () => {
    const page = await readPage(reader, null, 2)
    const next = await readPage(reader, page?.to ?? null, 2)
    await directory.write('people.csv', first.replace('Cleo', 'Cloe'))
    await reopen()
    expect(page && (await readRange(reader, page))).toMatchObject({ kind: 'page' })
    expect(next && (await readRange(reader, next))).toEqual({
      kind: 'gone',
      reason: 'The file was replaced, truncated or edited since the page was read.',
    })
  })

  it('takes a content that comes back for a new one: A, B, A are three generations', async () => {
    const cursors: (string | null)[] = [null]
    for (const content of [first, first.replace('Ann', 'Amy'), first]) {
      await directory.write('people.csv', content)
      await reopen()
      const page = await readPage(reader, cursors.at(-1) ?? null, 10)
      expect(page?.records).toHaveLength(4)
      cursors.push(page?.to ?? null)
    }
    const generations = cursors.slice(1).map((cursor) => JSON.parse(cursor ?? '').generation)
    expect(generations).toEqual([0, 1, 2])
  })

  it('keeps the cursor when a last line without line feed gets one, and starts over when it goes on', async () => {
    await directory.write('people.csv', `${header}1,Ann\n2,Be`)
    await reopen()
    const page = await readPage(reader, null, 10)
    expect(namesOf(page)).toEqual(['Ann', 'Be'])
    await appendFile(path(), '\r\n3,Cleo\n')
    expect(namesOf(await readPage(reader, page?.to ?? null, 10))).toEqual(['Cleo'])
    await directory.write('people.csv', `${header}1,Ann\n2,Ben\n`)
    const again = await readPage(reader, page?.to ?? null, 10)
    expect(namesOf(again)).toEqual(['Ann', 'Ben'])
  })

  it('does not take half of a CRLF for a value', async () => {
    await directory.write('people.csv', 'id,name\r\n1,Ann\r')
    await reopen()
    const page = await readPage(reader, null, 10)
    expect(namesOf(page)).toEqual(['Ann'])
    await appendFile(path(), '\n2,Ben\r\n')
    expect(namesOf(await readPage(reader, page?.to ?? null, 10))).toEqual(['Ben'])
  })

  it('notices within the same reader that the file was rewritten in place', async () => {
    const page = await readPage(reader, null, 2)
    await directory.write('people.csv', first.replace('Ann', 'Amy'))
    const again = await readPage(reader, page?.to ?? null, 10)
    expect(namesOf(again)).toEqual(['Amy', 'Ben', 'Cleo', 'Dan'])
  })

  it('never calls a file ended that shrank behind the cursor', async () => {
    const page = await readPage(reader, null, 3)
    await truncate(path(), first.indexOf('2,Ben'))
    const again = await readPage(reader, page?.to ?? null, 10)
    expect(namesOf(again)).toEqual(['Ann'])
  })

  it('proves the whole prefix again before it calls a long file that changed ended', async () => {
    const rows = Array.from({ length: 12_000 }, (_, row) => `${row},${'x'.repeat(120)}\n`)
    await directory.write('people.csv', header + rows.join(''))
    await reopen()
    const first10000 = await readPage(reader, null, 10_000)
    await appendFile(path(), '12000,y\n')
    // Proven at more than 1 MiB because of that; so the next change is not looked into at every page.
    const next = await readPage(reader, first10000?.to ?? null, 1_000)
    await directory.write('people.csv', `${header}${rows.join('').replace('x', 'z')}12000,y\n`)
    const rest = await readPages(reader, [10_000], next?.to ?? null)
    expect(rest.map(({ records }) => records.length)).toEqual([1_001, 10_000, 2_001])
    expect(rest.map(({ from }) => JSON.parse(from).generation)).toEqual([0, 1, 1])
  })

  it('vouches in a cursor for the bytes that were read, whatever is written meanwhile', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            at: fc.integer({ min: 8, max: first.length - 1 }),
            size: fc.integer({ min: 1, max: 3 }),
          }),
          { minLength: 1, maxLength: 6 },
        ),
        async (edits) => {
          await directory.write('people.csv', first)
          await reopen()
          let cursor: string | null = null
          for (const { at, size } of edits) {
            const page = await readPage(reader, cursor, size)
            cursor = page?.to ?? cursor
            const changed = `${first.slice(0, at)}x${first.slice(at + 1)}`
            await directory.write('people.csv', changed)
          }
          await reopen()
          const rest = await readPage(reader, cursor, 10)
          const { prefix, offset } = JSON.parse(rest?.from ?? cursor ?? '')
          const bytes = (await readFile(path())).subarray(0, offset)
          expect(prefix).toBe(createHash('sha256').update(bytes).digest('hex'))
        },
      ),
      { numRuns: 40 },
    ))

  it('refuses a cursor that is not one of a file', async () => {
    const read = reader.readPage({ from: 'page-7', to: null, limit: 1, signal })
    await expect(read).rejects.toThrow(ConnectorError)
    await expect(read).rejects.toThrow('The cursor is not one of a file')
  })
})
