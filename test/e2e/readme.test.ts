/** The GraphQL of README.md is executed as it is written. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { TypedDocumentString } from '../../src/client/gql/graphql.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { post } from '../support/api-client.ts'
import { useApi } from '../support/app.ts'
import { makeAttempt, makeRun } from '../support/factories.ts'
import { makePublishedSync } from '../support/sync-steps.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const [history = '', retry = '', watch = '', ...others] = [
  ...readme.matchAll(/^```graphql\n([\s\S]*?)^```$/gm),
].map(([, text]) => text)

describe('the examples of README.md', () => {
  const api = useApi()

  it('are three', () => {
    expect([history, retry, watch].filter((text) => text === '')).toEqual([])
    expect(others).toEqual([])
  })

  it('show what ran, retry what failed, and follow the retry', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId, uuid } = await makePublishedSync(api(), workspace)
    const run = { workspaceId: workspace.workspaceId, syncId: uuid, status: 'failed' } as const
    const failed = await makeRun(api().database, { ...run, written: 3 })
    await makeAttempt(api().database, {
      runId: failed,
      number: 1,
      failureCode: 'provider_unavailable',
    })
    const ask = (query: string, variables: object = {}) =>
      post(api().address, query, { authorization: `Bearer ${workspace.token}`, variables })
    const runId = encodeGlobalId('Run', failed)

    const shown = await ask(history)
    expect(shown).toMatchObject({ status: 200 })
    expect(shown.body.errors).toBeUndefined()
    expect(shown.body.data).toMatchObject({
      runs: {
        edges: [
          {
            node: {
              id: runId,
              status: 'FAILED',
              sync: { id: syncId },
              counters: { read: 3, written: 3 },
              attempts: [{ number: 1, outcome: 'POSTPONED' }],
              failure: { code: 'PROVIDER_UNAVAILABLE', owner: 'TAJO' },
            },
          },
        ],
      },
    })

    const retried = await ask(retry, { runId })
    expect(retried.body.errors).toBeUndefined()
    expect(retried.body.data).toMatchObject({
      retryRun: { __typename: 'StartedRun', status: 'STARTED', run: { status: 'QUEUED' } },
    })
    const again = await ask(retry, { runId })
    expect(again.body.errors).toBeUndefined()
    expect(again.body.data).toMatchObject({
      retryRun: { __typename: 'AlreadyRunning', message: 'This sync rule is already running.' },
    })

    const document = new TypedDocumentString<{ runProgress: unknown }, { runId: string }>(watch)
    const events = workspace.client.subscribe(document, { runId: runIdOf(again.body.data) })
    const first = await events.next()
    await events.return?.()
    expect(first.value).toMatchObject({ runProgress: { status: 'QUEUED', isTerminal: false } })
  })
})

function runIdOf(answer: unknown): string {
  const { retryRun } = answer as { retryRun: { runId: string } }
  return retryRun.runId
}
