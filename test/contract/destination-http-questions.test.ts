/** What an http destination is asked, and what its answers mean: only its own words count (I12). */
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DestinationWriter } from '../../src/connectors/destination.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { assert } from '../../src/runtime/assert.ts'
import { createLocalClient } from '../support/local-client.ts'
import { openConnection } from '../support/open-connection.ts'
import {
  type Reaction,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { outgoingRecords } from './destination-suite.ts'

const client = createLocalClient()
const connector = createHttpDestination({ client })
afterAll(() => client.close())

const LOOKUP = { deliveryClass: 'LOOKUP', lookupObject: '/writes/{key}' }
const IMPORTS = { path: 'PAGE', importsObject: '/imports', importPollMs: 100 }
const { signal } = new AbortController()
const TAG = '0192a000-0000-7000-8000-000000000001'
const OTHER_TAG = '0192a000-0000-7000-8000-000000000002'
const MARK = { object: '/imports', tag: TAG }

const answer = (status: number, body: string, headers = {}): Reaction => ({
  ...{ kind: 'answer', status, body, headers },
})
const HTML = { 'content-type': 'text/html' }

/** Answers to a question that say nothing of what was asked. */
const SILENT: readonly (readonly [string, Reaction, string])[] = [
  ['500', answer(500, '{"error":"oops"}'), 'provider_unavailable'],
  ['503 of the API', answer(503, '{"error":"maintenance"}'), 'provider_unavailable'],
  ['429', answer(429, '{"error":"slow down"}'), 'provider_rate_limited'],
  ['401', answer(401, '{"error":"no"}'), 'connection_unauthorized'],
  ['404 of a proxy', answer(404, '<html>nginx</html>', HTML), 'node_failed'],
  ['400', answer(400, '{"error":"no such parameter"}'), 'node_failed'],
  ['422', answer(422, '{"error":"no such parameter"}'), 'node_failed'],
  ['half a JSON text', answer(200, '{"status":"run'), 'provider_unavailable'],
  ['JSON of another form', answer(200, '[1]'), 'node_failed'],
  ['a redirect', answer(302, '', { location: '/login' }), 'node_failed'],
  ['200 with a web page', answer(200, '<html>login</html>', HTML), 'provider_unavailable'],
  ['a reset', { kind: 'reset' }, 'provider_unavailable'],
  ['half a body', { kind: 'halfBody' }, 'provider_unavailable'],
  ['nothing until the deadline', { kind: 'hang' }, 'provider_unavailable'],
]

describe('an http destination that can be asked', () => {
  let standIn: RecordingDestination
  beforeEach(async () => {
    standIn = await startRecordingDestination()
  })
  afterEach(() => standIn.close())

  const open = (options: JsonObject): Promise<DestinationWriter> =>
    connector.open({
      ...openConnection({
        config: { baseUrl: `${standIn.url}/v1/` },
        credentials: { bearerToken: 'secret-token' },
      }),
      object: '/contacts',
      options: connector.objectOptions.parse({ requestDeadlineMs: 1_000, ...options }),
    })
  const deliver = (writer: DestinationWriter, count: number) =>
    writer.deliver({
      records: outgoingRecords(count),
      ...{ importTag: TAG, signal, beforeSend: () => undefined },
    })
  const keys = outgoingRecords(3).map(({ deliveryKey }) => deliveryKey)

  describe('for a write', () => {
    const lookUp = async (deliveryKeys = keys) => {
      const writer = await open(LOOKUP)
      assert(writer.lookUp !== null, 'A writer of class lookup looks up.')
      return await writer.lookUp.ask({ deliveryKeys, signal })
    }

    it('says for each key whether it is there, in their order, with its id', async () => {
      const writer = await open({ ...LOOKUP, path: 'PAGE' })
      await writer.deliver({
        records: outgoingRecords(3).slice(1, 2),
        ...{ importTag: null, signal, beforeSend: () => undefined },
      })
      expect(await lookUp()).toEqual([
        { kind: 'absent' },
        { kind: 'found', remoteId: `r-${keys[1]?.slice(0, 12)}` },
        { kind: 'absent' },
      ])
      expect(standIn.questions.map(({ path }) => path).sort()).toEqual(
        keys.map((key) => `/v1/writes/${key}`).sort(),
      )
    })

    it('is believed when it answers without a body', async () => {
      standIn.decideQuestion(() => answer(204, ''))
      expect(await lookUp([keys[0] ?? ''])).toEqual([{ kind: 'found', remoteId: null }])
    })

    it.each([
      ...SILENT,
      ['an error inside of a success', answer(200, '{"error":"no"}'), 'provider_unavailable'],
    ] as const)('knows nothing after %s', async (_, reaction, failure) => {
      standIn.decideQuestion(() => reaction)
      expect(await lookUp([keys[0] ?? ''])).toMatchObject([{ kind: 'unknown', failure }])
    })
  })

  describe('for an import', () => {
    const openImports = async () => {
      const { imports } = await open(IMPORTS)
      assert(imports !== null, 'A writer with importsObject has imports.')
      return imports
    }
    const check = async (deliveryKeys: readonly string[] = keys) =>
      await (await openImports()).check({ ...MARK, jobId: 'job 1', deliveryKeys, signal })

    it('takes a call in under its tag, and is asked for it by its id or the tag', async () => {
      standIn.always({ kind: 'accept' })
      standIn.imports.takesMs = null
      const accepted = await deliver(await open(IMPORTS), 3)
      const [jobId = ''] = standIn.imports.ids
      expect(accepted).toEqual({ kind: 'accepted', jobId })
      expect(standIn.requests[0]?.headers['import-tag']).toBe(TAG)
      const imports = await openImports()
      expect(await imports.find({ ...MARK, signal })).toEqual({ kind: 'found', jobId })
      expect(await imports.find({ ...MARK, tag: OTHER_TAG, signal })).toEqual({ kind: 'absent' })
      const look = { ...MARK, jobId, deliveryKeys: keys, signal }
      expect(await imports.check(look)).toEqual({ kind: 'running' })
      standIn.imports.finish(jobId)
      expect(await imports.check(look)).toMatchObject({
        kind: 'finished',
        outcomes: [{ kind: 'written' }, { kind: 'written' }, { kind: 'written' }],
      })
    })

    it.each([
      ['202 without an id', answer(202, '{}'), 'unknown'],
      ['202 with a web page', answer(202, '<html>', HTML), 'unknown'],
      ['200', answer(200, '{}'), 'unknown'],
      ['429', answer(429, '{}'), 'retryable'],
      ['a reset', { kind: 'reset' }, 'unknown'],
    ] as const)('was not taken in for all that is known after %s', async (_, reaction, kind) => {
      standIn.script(reaction)
      const told = await deliver(await open(IMPORTS), 2)
      expect(told).toMatchObject({ kind: 'answered', outcomes: [{ kind }, { kind }] })
    })

    it.each([
      ['running', '{"status":"running"}', { kind: 'running' }],
      ['queued', '{"status":"queued"}', { kind: 'running' }],
      [
        'failed',
        '{"status":"failed","reason":"Bad file."}',
        { kind: 'finished', outcomes: [{ kind: 'retryable' }, { kind: 'retryable' }, {}] },
      ],
      [
        'failed, with a word for one of three',
        `{"status":"failed","results":[{"key":"${keys[1]}","status":"written"}]}`,
        {
          kind: 'finished',
          outcomes: [{ kind: 'unknown' }, { kind: 'written' }, { kind: 'unknown' }],
        },
      ],
      [
        'finished, with a word for one of three',
        `{"status":"finished","results":[{"key":"${keys[1]}","status":"written"}]}`,
        {
          kind: 'finished',
          outcomes: [{ kind: 'unknown' }, { kind: 'written' }, { kind: 'unknown' }],
        },
      ],
      [
        'finished, without a word',
        '{"status":"finished"}',
        { kind: 'finished', outcomes: [{ kind: 'unknown' }, {}, {}] },
      ],
      ['in a state that it cannot be in', '{"status":"done"}', { kind: 'unknown' }],
    ])('is %s', async (_, body, expected) => {
      standIn.decideQuestion(() => answer(200, body))
      expect(await check()).toMatchObject(expected)
      expect(standIn.questions[0]?.path).toBe('/v1/imports/job%201')
    })

    it('is lost when the API does not know it any more', async () => {
      expect(await check()).toMatchObject({ kind: 'lost' })
    })

    it('is not lost where the API lists it, and does not show it yet', async () => {
      standIn.decideQuestion(({ path }) =>
        path.includes('?tag=')
          ? answer(200, '{"imports":[{"id":"job 1"}]}')
          : answer(404, '{"error":"not found"}'),
      )
      expect(await check()).toEqual({
        ...{ kind: 'unknown', failure: 'node_failed' },
        reason: 'GET /imports lists the import, and does not show it.',
      })
    })

    it('is not lost where the API lists no imports either: there the path leads nowhere', async () => {
      standIn.decideQuestion(() => answer(404, '{"error":"not found"}'))
      expect(await check()).toEqual({
        ...{ kind: 'unknown', failure: 'node_failed' },
        reason: 'To GET /imports: The destination answered 404: not found',
      })
    })

    it('is asked about where it was begun', async () => {
      const imports = await openImports()
      expect(imports.object).toBe('/imports')
      const elsewhere = { ...MARK, object: '/old/imports', signal }
      await imports.check({ ...elsewhere, jobId: '7', deliveryKeys: keys })
      await imports.find(elsewhere)
      expect(standIn.questions.map(({ path }) => path)).toEqual([
        '/v1/old/imports/7',
        `/v1/old/imports?tag=${TAG}`,
        `/v1/old/imports?tag=${TAG}`,
      ])
    })

    it.each(SILENT)('knows nothing after %s', async (_, reaction, failure) => {
      standIn.decideQuestion(() => reaction)
      expect(await check()).toMatchObject({ kind: 'unknown', failure })
      const imports = await openImports()
      expect(await imports.find({ ...MARK, signal })).toMatchObject({ kind: 'unknown', failure })
    })

    it.each([
      ['404', answer(404, '{"error":"not found"}')],
      ['no list', answer(200, '{}')],
      ['an import without an id', answer(200, '{"imports":[{}]}')],
    ])('is not taken for absent after %s to the question for its tag', async (_, reaction) => {
      standIn.decideQuestion(() => reaction)
      const imports = await openImports()
      expect(await imports.find({ ...MARK, signal })).toMatchObject({ kind: 'unknown' })
    })
  })
})
