/**
 * Compiled queries against graphql-js and against what the endpoint interprets with: whatever valid query comes, the
 * answers are the same.
 */
import fc from 'fast-check'
import {
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  type GraphQLSchema,
  getOperationAST,
  parse,
  validate,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { compileQuery } from '../../src/graphql/compiled/compiled-query.ts'
import { KeptPlans } from '../../src/graphql/compiled/kept-plans.ts'
import type { ApiContext } from '../../src/graphql/context.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { apiSchema } from '../../src/graphql/schema.ts'
import { countSubscriptions } from '../../src/http/count-subscriptions.ts'
import { NOBODY } from '../../src/http/credentials.ts'
import { createEndpoint } from '../../src/http/graphql-endpoint.ts'
import { DEFAULT_LIMITS } from '../../src/http/limits.ts'
import { useApi } from '../support/app.ts'
import { makeAttempt, makeHeldRecords, makeRun, type TestWorkspace } from '../support/factories.ts'
import { makeFaultySchema } from '../support/faulty-schema.ts'
import { type RandomQuery, randomQueries } from '../support/random-queries.ts'
import { makePublishedSync } from '../support/sync-steps.ts'

const api = useApi()

const SETTINGS = { progressStaleAfterMs: 120_000, retentionMs: 1, keepAliveMs: 1 }

/** What both say; null where the document is not valid, which is nothing that is executed. */
async function askBothWays(schema: GraphQLSchema, query: RandomQuery, makeContext: () => unknown) {
  const document = parse(query.text)
  if (validate(schema, document).length > 0) {
    return null
  }
  const operation = getOperationAST(document)
  const compiled = operation && compileQuery(schema, document, operation, new KeptPlans())
  const given = { contextValue: makeContext(), variableValues: query.variables }
  const text = (await compiled?.execute(given)) ?? null
  const args = { schema, document, variableValues: query.variables }
  const interpreted = await execute({ ...args, contextValue: makeContext() })
  const endpoint = (await interpretByEndpoint({ ...args, contextValue: makeContext() })) as Answer
  return { text, answers: [interpreted, endpoint] }
}

type Answer = Pick<ExecutionResult, 'data' | 'errors'>

/** As the endpoint does what is not compiled. */
async function interpretByEndpoint(args: ExecutionArgs): Promise<unknown> {
  const limits = { ...DEFAULT_LIMITS, hasIntrospection: true, allowedOrigins: [] }
  const endpoint = createEndpoint({
    commands: api().parts,
    settings: SETTINGS,
    limits,
    subscriptions: countSubscriptions(limits, api().logger),
    hasGraphiql: false,
    interpretedFirst: Number.POSITIVE_INFINITY,
  })
  const enveloped = endpoint.getEnveloped({ actor: null, credentials: NOBODY })
  return await enveloped.execute(args)
}

const NONE_SEEN = { whole: 0, left: 0, 'left without need': 0, invalid: 0 }

/** An answer is the interpreter's to the letter, and there is none where that has errors. */
async function expectAlike(
  schema: GraphQLSchema,
  query: RandomQuery,
  makeContext: () => unknown,
): Promise<keyof typeof NONE_SEEN> {
  const asked = await askBothWays(schema, query, makeContext)
  if (asked === null) {
    return 'invalid'
  }
  const { text, answers } = asked
  const [expected = null, byEndpoint = null] = answers.map(({ errors, data }) =>
    errors ? null : JSON.stringify(data),
  )
  // The endpoint's interpreter puts members in the order in which they are resolved, against the specification.
  const read = (written: string | null): unknown => JSON.parse(written ?? 'null')
  expect(read(byEndpoint), query.text).toEqual(read(expected))
  if (text === null) {
    return expected === null ? 'left' : 'left without need'
  }
  expect(text, query.text).toBe(expected)
  return 'whole'
}

describe('a compiled query', () => {
  it('answers any valid query over the API as graphql-js does', async () => {
    const { workspace, ids } = await makeWorkspaceWithHistory()
    const makeContext = () => contextOf(workspace)
    const scalars = {
      ID: [...ids, 'run_nonsense'],
      Int: [1, 2, 3, 201],
      Float: [900_000],
      JSON: [1],
      String: ['nonsense', 'http'],
      Boolean: [true, false],
      DateTime: ['2026-03-01T00:00:00Z', '2030-01-01T00:00:00.001Z'],
    }
    const seen = { ...NONE_SEEN }
    await fc.assert(
      fc.asyncProperty(
        // The preview of a reset tells moments from now on, which differ from one answer to the next.
        randomQueries(apiSchema, { scalars, without: ['cursorResetPreview'] }),
        async (query) => {
          seen[await expectAlike(apiSchema, query, makeContext)] += 1
        },
      ),
      { numRuns: 200 },
    )
    expect(seen.whole).toBeGreaterThan(50)
    expect(seen.left).toBeGreaterThan(0)
    expect(seen['left without need']).toBe(0)
  })

  it('answers as graphql-js does whatever resolvers give, or leaves it to it', async () => {
    const seen = { ...NONE_SEEN }
    const scalars = {
      ID: ['a', 7],
      Int: [1, 2],
      String: ['x"\\\n'],
      Boolean: [true],
      Odd: ['odd'],
    }
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 100_000 }), fc.nat({ max: 12 }), async (seed, faults) => {
        const schema = makeFaultySchema({ seed, faultsPercent: faults })
        const [query] = fc.sample(randomQueries(schema, { scalars }), { seed, numRuns: 1 })
        if (query) {
          seen[await expectAlike(schema, query, () => ({}))] += 1
        }
      }),
      { numRuns: 1_000 },
    )
    expect(seen.whole).toBeGreaterThan(100)
    expect(seen.left).toBeGreaterThan(100)
  })
})

function contextOf({ workspaceId, tokenId }: TestWorkspace): ApiContext {
  return {
    parts: api().parts,
    settings: SETTINGS,
    actor: { workspaceId, tokenId, tokenName: 'test', role: 'admin', isTajo: true },
    isStillAuthenticated: () => Promise.resolve(true),
  }
}

async function makeWorkspaceWithHistory() {
  const workspace = await api().makeWorkspace()
  const { workspaceId } = workspace
  const ids: string[] = []
  for (let n = 0; n < 3; n += 1) {
    const sync = await makePublishedSync(api(), workspace)
    ids.push(sync.syncId, sync.sourceConnectionId)
    let retryOf: string | undefined
    for (const status of ['failed', 'partial', 'succeeded', 'canceled', 'failed'] as const) {
      const written = 3
      const failed = status === 'partial' ? { rejected: 1, inDoubt: 1 } : {}
      const retry = retryOf === undefined ? {} : { retryOf }
      const run = { workspaceId, syncId: sync.uuid, status, written, ...failed, ...retry }
      const runId = await makeRun(api().database, run)
      retryOf = status === 'partial' || status === 'failed' ? runId : undefined
      await makeAttempt(api().database, { runId, number: 1, failureCode: 'node_failed' })
      await makeHeldRecords(api().database, { syncId: sync.uuid, runId, count: 2 })
      ids.push(encodeGlobalId('Run', runId))
    }
  }
  return { workspace, ids }
}
