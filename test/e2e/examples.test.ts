/** The examples of docs/examples, run as people run them, against the running server. */
import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { sql } from 'drizzle-orm'
import { afterEach, describe, expect, it } from 'vitest'
import { RunSyncMutation } from '../../src/client/documents.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { useApi } from '../support/app.ts'
import { makeToken } from '../support/factories.ts'
import { type StartedProcess, startScript } from '../support/processes.ts'
import { runSteps } from '../support/run-steps.ts'
import { getCurl } from '../support/service-binaries.ts'
import { makeDraft, makePublishedSync, uuidOf, type Workspace } from '../support/sync-steps.ts'

/** A process takes some seconds to start where many run at once. */
const TIMEOUT_MS = 90_000

const api = useApi({ settings: { keepAliveMs: 200 } })
const { makeActive, putRun, getRun, failRun } = runSteps(api)

const started: StartedProcess[] = []
afterEach(async () => {
  for (const example of started.splice(0)) {
    await example.kill('SIGKILL')
  }
})

function environmentOf(token: string, scheme = 'http'): Record<string, string> {
  return { TAJO_URL: `${api().address.replace('http', scheme)}/graphql`, TAJO_TOKEN: token }
}

function start(
  name: string,
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): StartedProcess {
  const example = startScript(`docs/examples/${name}`, environment, args)
  started.push(example)
  return example
}

/** Its exit code and all that it printed. */
async function runToEnd(...given: Parameters<typeof start>) {
  const example = start(...given)
  return { code: await example.exited, text: example.output() }
}

async function tokenOf({ workspaceId }: Workspace, role: 'operator' | 'admin' | 'viewer') {
  return (await makeToken(api().database, workspaceId, { name: role, role })).token
}

describe('retry-failures.ts', { timeout: TIMEOUT_MS }, () => {
  it('retries what Tajo owns, tells what became of each, and may be repeated', async () => {
    const { workspace, sync } = await makeActive()
    const ours = await putRun(workspace, sync, {
      ...{ status: 'failed', failureCode: 'provider_unavailable' },
    })
    const theirs = await putRun(workspace, await makePublishedSync(api(), workspace), {
      ...{ status: 'failed', failureCode: 'connection_missing' },
    })
    const environment = environmentOf(await tokenOf(workspace, 'operator'))
    const first = await runToEnd('retry-failures.ts', environment)
    const { retriedBy } = await getRun(workspace, ours)
    expect(first).toEqual({
      ...{ code: 0, text: `${ours} is retried by ${retriedBy?.id}\nFailures on Tajo's side: 1.\n` },
    })
    expect(await getRun(workspace, theirs)).toMatchObject({ retriedBy: null })
    expect(await runToEnd('retry-failures.ts', environment)).toEqual({
      ...{
        code: 0,
        text: `${ours} This sync rule is already running.\nFailures on Tajo's side: 1.\n`,
      },
    })
  })

  it('fails with what the API says where the token may not', async () => {
    const { workspace, sync } = await makeActive()
    await putRun(workspace, sync, { status: 'failed', failureCode: 'provider_unavailable' })
    const environment = environmentOf(await tokenOf(workspace, 'viewer'))
    const { code, text } = await runToEnd('retry-failures.ts', environment)
    expect(code).toBe(1)
    expect(text).toContain('has the role VIEWER, and this needs OPERATOR or more')
  })
})

describe('page-history.ts', { timeout: TIMEOUT_MS }, () => {
  it('writes each run once, newest first, whatever the size of the pages', async () => {
    const { workspace, sync } = await makeActive()
    const made: string[] = []
    for (const status of ['succeeded', 'failed', 'succeeded', 'partial', 'running'] as const) {
      made.unshift(await putRun(workspace, sync, { status }))
    }
    const environment = { ...environmentOf(workspace.token), PAGE_SIZE: '2' }
    const { code, text } = await runToEnd('page-history.ts', environment)
    expect(code).toBe(0)
    const rows = text
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'))
    expect(rows.map(([id]) => id)).toEqual(made)
    expect(rows.map(([, status]) => status)).toEqual([
      ...['RUNNING', 'PARTIAL', 'SUCCEEDED', 'FAILED', 'SUCCEEDED'],
    ])
    expect(rows[3]?.at(-1)).toBe('PROVIDER_UNAVAILABLE')
  })
})

describe('watch-run.ts', { timeout: TIMEOUT_MS }, () => {
  it.each([
    ['succeeded', 0],
    ['failed', 1],
  ] as const)(
    'tells a run that is going on until it has %s, and exits with %i',
    async (how, code) => {
      const { workspace, sync } = await makeActive()
      const runId = await putRun(workspace, sync, { status: 'running' })
      const example = start('watch-run.ts', environmentOf(workspace.token), runId)
      await example.find(/^(RUNNING: read 0, written 0, failed 0)$/m)
      await api().database.rows(sql`
      update run
      set status = ${how}, finished_at = now(), "read" = 7, written = 7,
        failure_code = ${how === 'failed' ? 'lease_lost' : null}
      where id = ${uuidOf(runId)}`)
      expect(await example.exited).toBe(code)
      expect(example.output()).toMatch(
        how === 'failed'
          ? /\nFAILED: read 7, written 7, failed 0 LEASE_LOST\n$/
          : /\nSUCCEEDED: read 7, written 7, failed 0\n$/,
      )
    },
  )
})

describe('watch-workspace.ts', { timeout: TIMEOUT_MS }, () => {
  it('tells the runs that are under way, those that begin and those that end', async () => {
    const workspace = await api().makeWorkspace()
    const first = await makePublishedSync(api(), workspace, { name: 'First' })
    const second = await makePublishedSync(api(), workspace, { name: 'Second' })
    const going = await putRun(workspace, first, { status: 'running' })
    const example = start('watch-workspace.ts', environmentOf(workspace.token, 'ws'))
    await example.find(new RegExp(`^First: (${going}) RUNNING, written 0 of 0$`, 'm'))
    await workspace.client.request(RunSyncMutation, { syncId: second.syncId })
    await example.find(/^Second: (run_\S+) QUEUED, written 0 of 0$/m)
    await failRun(going)
    await example.find(new RegExp(`^First: (${going}) FAILED, written 0 of 0$`, 'm'))
  })
})

describe('approve-publication.sh', { timeout: TIMEOUT_MS }, () => {
  const script = 'docs/examples/approve-publication.sh'

  async function runScript(token: string, ...args: readonly string[]) {
    const path = `${dirname(getCurl())}:${process.env['PATH']}`
    const env = { ...environmentOf(token), PATH: path }
    const { stdout } = await promisify(execFile)('bash', [script, ...args], { env })
    return JSON.parse(stdout) as { readonly data: Record<string, Record<string, unknown>> }
  }

  it('publishes with four eyes: one asks, another approves', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId } = await makeDraft(api(), workspace)
    const operator = await tokenOf(workspace, 'operator')
    const asked = await runScript(operator, 'request', syncId, 'A "new" mapping \\ of names.')
    expect(asked.data).toMatchObject({
      requestPublication: {
        ...{ __typename: 'ChangedPublicationRequest', request: { status: 'OPEN' } },
      },
    })
    const { request } = asked.data['requestPublication'] as { request: { id: string } }
    const refused = await runScript(operator, 'approve', request.id)
    expect(refused.data['approvePublication']).toMatchObject({ __typename: 'Forbidden' })
    const approved = await runScript(await tokenOf(workspace, 'admin'), 'approve', request.id)
    expect(approved.data['approvePublication']).toMatchObject({
      ...{ __typename: 'ChangedPublicationRequest', request: { status: 'APPROVED' } },
    })
    const [kept] = await api().database.rows<{ reason: string }>(sql`
      select reason from publication_request where id = ${uuidOf(request.id)}`)
    expect(kept?.reason).toBe('A "new" mapping \\ of names.')
  })

  it('fails with what the API says where the token does not hold', async () => {
    const syncId = encodeGlobalId('Sync', api().parts.ids.next())
    await expect(runScript('tajo_nothing', 'request', syncId, 'Why.')).rejects.toMatchObject({
      stdout: expect.stringContaining('UNAUTHENTICATED'),
    })
  })
})
