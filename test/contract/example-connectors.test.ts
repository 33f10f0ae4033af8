/** The connectors that docs/connectors.md shows how to write: as they stand there, they keep the contracts. */

import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { createListSource } from '../../docs/examples/list-source.ts'
import { createNoteDestination } from '../../docs/examples/note-destination.ts'
import { createLocalClient } from '../support/local-client.ts'
import { openConnection } from '../support/open-connection.ts'
import { startPagedApi } from '../support/paged-api.ts'
import { describeDestination } from './destination-suite.ts'
import { describeSource, readPage, readRange } from './source-suite.ts'

const client = createLocalClient()
const source = createListSource({ client })
afterAll(() => client.close())

const read = (path: string) => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8')

describe('docs/connectors.md', () => {
  const [, section = ''] = read('connectors.md').split('\n## Writing a connector\n')
  const shown = [...section.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code)

  it('shows the examples as they are run here', () => {
    const examples = ['list-source', 'note-destination'].map((name) => read(`examples/${name}.ts`))
    expect(shown).toEqual(examples)
  })

  it('shows examples of about 100 lines', () => {
    for (const code of shown) {
      expect(code?.split('\n').length).toBeLessThan(140)
    }
  })
})

/** An address that answers with a list. */
async function startList(rows: readonly unknown[]) {
  const api = await startPagedApi({ by: 'LINK' })
  let list = rows
  api.decide(() => ({ kind: 'answer', body: list }))
  return {
    api,
    change: (to: readonly unknown[]) => {
      list = to
    },
    open: () =>
      source.open({
        ...openConnection({ config: { url: api.baseUrl } }),
        ...{ stream: 'all', options: { identityField: 'id' } },
      }),
  }
}

describeSource({
  name: 'list (of the documents)',
  content: fc
    .array(fc.option(fc.record({ name: fc.string({ maxLength: 4 }) }), { freq: 6 }), {
      maxLength: 9,
    })
    .map((rows) => rows.map((row, id) => row && { id, ...row })),
  count: (rows) => rows.length,
  create: async (rows) => {
    const list = await startList(rows)
    return { open: list.open, dispose: () => list.api.close() }
  },
})

describe('the list source', () => {
  it('begins again when the list has changed, and when it has changed back', async () => {
    const rows = [{ id: 1 }, { id: 2 }]
    const list = await startList(rows)
    const reader = await list.open()
    const first = await readPage(reader, null, 10)
    list.change([{ id: 3 }])
    expect(first && (await readRange(reader, first)).kind).toBe('gone')
    const second = await readPage(reader, first?.to ?? null, 10)
    expect(second?.records).toHaveLength(1)
    list.change(rows)
    const third = await readPage(reader, second?.to ?? null, 10)
    expect(third?.records).toEqual(first?.records)
    expect(third?.from).not.toBe(first?.from)
    await list.api.close()
  })

  it.each([
    ['503', { status: 503, body: { message: 'x' } }, 'provider_unavailable'],
    ['401', { status: 401, body: { message: 'x' } }, 'connection_unauthorized'],
    ['no list', { body: { items: [] } }, 'node_failed'],
  ])('does not take %s for the end', async (_, answer, code) => {
    const list = await startList([])
    list.api.decide(() => ({ kind: 'answer', ...answer }))
    await expect(readPage(await list.open(), null, 10)).rejects.toMatchObject({ code })
    await list.api.close()
  })
})

describeDestination({
  name: 'note (of the documents)',
  recordsPerCall: 1,
  open: (standIn) =>
    createNoteDestination({ client }).open({
      ...openConnection({ config: { url: standIn.url } }),
      ...{ object: 'note', options: {} },
    }),
  answers: [
    {
      name: '429 with Retry-After',
      reaction: { kind: 'answer', status: 429, body: '{}', headers: { 'retry-after': '7' } },
      expected: { kind: 'retryable', failure: 'provider_rate_limited', retryAfterMs: 7_000 },
    },
    {
      name: '500',
      reaction: { kind: 'answer', status: 500, body: '{}' },
      expected: { kind: 'unknown', failure: 'provider_unavailable' },
    },
    {
      name: '422',
      reaction: { kind: 'answer', status: 422, body: '{"message":"no name"}' },
      expected: { kind: 'rejected', reason: 'The destination answered 422: no name' },
    },
    {
      name: '200 with an error inside',
      reaction: { kind: 'answer', status: 200, body: '{"error":"full"}' },
      expected: { kind: 'unknown' },
    },
    {
      name: 'half a body',
      reaction: { kind: 'halfBody', isApplied: true },
      expected: { kind: 'unknown' },
    },
  ],
})
