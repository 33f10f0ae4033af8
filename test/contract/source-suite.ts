/**
 * What every source promises, stated once. A source brings its own streams and runs it.
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ReadResult, SourceReader } from '../../src/connectors/source.ts'
import type { SourceRecord } from '../../src/domain/page.ts'

export type Page = Extract<ReadResult, { kind: 'page' }>

export interface StreamUnderTest {
  /** A reader that starts with nothing remembered, as a new run has it. */
  open(): Promise<SourceReader>
  dispose(): Promise<void>
}

export interface SourceUnderTest<Content> {
  readonly name: string
  /** Any content that the stream can have. */
  readonly content: fc.Arbitrary<Content>
  /** How many records it holds. */
  count(content: Content): number
  create(content: Content): Promise<StreamUnderTest>
  /** Contents tried a promise; 40 where nothing is said, fewer where each costs a table. */
  readonly numRuns?: number
}

const { signal } = new AbortController()

export async function readPage(
  reader: SourceReader,
  from: string | null,
  limit: number,
): Promise<Page | null> {
  const result = await reader.readPage({ from, limit, to: null, signal })
  expect(result.kind).not.toBe('gone')
  return result.kind === 'page' ? result : null
}

/** Every page from a cursor to the end, the sizes taken in turn. */
export async function readPages(
  reader: SourceReader,
  sizes: readonly number[],
  from: string | null = null,
): Promise<readonly Page[]> {
  const pages: Page[] = []
  for (let cursor = from; ; ) {
    const page = await readPage(reader, cursor, sizes[pages.length % sizes.length] ?? 1)
    if (page === null) {
      return pages
    }
    pages.push(page)
    cursor = page.to
  }
}

export function readRange(reader: SourceReader, page: Pick<Page, 'from' | 'to'>, limit = 1) {
  return reader.readPage({ from: page.from, to: page.to, limit, signal })
}

async function withReader<Result>(
  stream: StreamUnderTest,
  use: (reader: SourceReader) => Promise<Result>,
): Promise<Result> {
  const reader = await stream.open()
  try {
    return await use(reader)
  } finally {
    await reader.close()
  }
}

const recordsOf = (pages: readonly Page[]): readonly SourceRecord[] =>
  pages.flatMap(({ records }) => records)

/** Identities may count within a page, so across page sizes only what was read is compared. */
const readingsOf = (pages: readonly Page[]) =>
  recordsOf(pages).map(({ fields, problem }) => ({ fields, problem }))

const pageSizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 })

export function describeSource<Content>(source: SourceUnderTest<Content>): void {
  const holds = (
    property: (
      stream: StreamUnderTest,
      sizes: readonly number[],
      content: Content,
    ) => Promise<void>,
  ) =>
    fc.assert(
      fc.asyncProperty(source.content, pageSizes, async (content, sizes) => {
        const stream = await source.create(content)
        try {
          await property(stream, sizes, content)
        } finally {
          await stream.dispose()
        }
      }),
      { numRuns: source.numRuns ?? 40 },
    )

  describe(`the ${source.name} source keeps the contract`, () => {
    it('tiles the stream: pages of any sizes, put together, are the whole stream', () =>
      holds(async (stream, sizes, content) => {
        const whole = await withReader(stream, (reader) => readPages(reader, [10_000]))
        const tiled = await withReader(stream, (reader) => readPages(reader, sizes))
        expect(readingsOf(tiled)).toEqual(readingsOf(whole))
        expect(recordsOf(whole)).toHaveLength(source.count(content))
        for (const [index, page] of tiled.entries()) {
          expect(page.records.length).toBeLessThanOrEqual(sizes[index % sizes.length] ?? 1)
          expect(page.from).toBe(tiled[index - 1]?.to ?? page.from)
        }
      }))

    it('resumes: a new reader at any cursor reads on exactly as the first one did', () =>
      holds(async (stream, sizes) => {
        const pages = await withReader(stream, (reader) => readPages(reader, sizes))
        for (const [index, page] of pages.entries()) {
          const rest = await withReader(stream, (reader) => readPages(reader, [10_000], page.to))
          expect(readingsOf(rest)).toEqual(readingsOf(pages.slice(index + 1)))
        }
      }))

    it('reads a range again with the same records and identities, whatever the limit', () =>
      holds(async (stream, sizes) => {
        const pages = await withReader(stream, (reader) => readPages(reader, sizes))
        await withReader(stream, async (reader) => {
          for (const page of [...pages, ...pages.toReversed()]) {
            expect(await readRange(reader, page)).toEqual(page)
          }
        })
      }))

    it('goes on behind a range that was read again', () =>
      holds(async (stream, sizes) => {
        const pages = await withReader(stream, (reader) => readPages(reader, sizes))
        await withReader(stream, async (reader) => {
          for (const [index, page] of pages.entries()) {
            await readRange(reader, page)
            const size = sizes[(index + 1) % sizes.length] ?? 1
            expect(await readPage(reader, page.to, size)).toEqual(pages[index + 1] ?? null)
          }
        })
      }))

    it('stays at its end', () =>
      holds(async (stream, sizes) => {
        await withReader(stream, async (reader) => {
          const pages = await readPages(reader, sizes)
          const end = pages.at(-1)?.to ?? null
          expect(await readPage(reader, end, 1)).toBeNull()
          expect(await readPage(reader, end, 10_000)).toBeNull()
        })
      }))

    it('stops at the signal, and reads the same page when it is asked again', () =>
      holds(async (stream, sizes) => {
        await withReader(stream, async (reader) => {
          const reason = new Error('the run stops')
          const stopped = reader.readPage({
            from: null,
            limit: 1,
            to: null,
            signal: AbortSignal.abort(reason),
          })
          await expect(stopped).rejects.toBe(reason)
          const pages = await readPages(reader, sizes)
          const fresh = await withReader(stream, (other) => readPages(other, sizes))
          expect(pages).toEqual(fresh)
        })
      }))
  })
}
