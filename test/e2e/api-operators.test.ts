/** Tokens of Tajo's: in any workspace, and what they see of all of them. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { AuditEntriesQuery } from '../../src/client/audit-documents.ts'
import {
  RunProgressSubscription,
  RunSyncMutation,
  ViewerQuery,
} from '../../src/client/documents.ts'
import { OperationsQuery } from '../../src/client/operations-documents.ts'
import { CreateTokenMutation } from '../../src/client/token-documents.ts'
import type { Role } from '../../src/domain/role.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { markStopped, registerWorker } from '../../src/store/workers.ts'
import { openSocket, subscribeOverSocket } from '../support/api-client.ts'
import { useApi } from '../support/app.ts'
import { makeRun, makeToken } from '../support/factories.ts'
import { runSteps } from '../support/run-steps.ts'
import { makePublishedSync } from '../support/sync-steps.ts'

const api = useApi()
const { makeActive, putRun } = runSteps(api)

const NO_WORKSPACE = {
  status: 401,
  code: 'UNAUTHENTICATED',
  message: 'The token opens no workspace with the id in the header "Tajo-Workspace".',
}

async function makeOperator(role: Role = 'admin') {
  const own = await api().makeWorkspace()
  const { token } = await makeToken(api().database, own.workspaceId, {
    ...{ name: 'ops', role, isTajo: true },
  })
  return { own, token, client: api().client(token) }
}

const shownId = (workspaceId: string) => encodeGlobalId('Workspace', workspaceId)

describe('a token of Tajo’s in another workspace', () => {
  it('sees and does what its role may, and is audited there as Tajo’s', async () => {
    const { workspace, sync } = await makeActive()
    const { token } = await makeOperator()
    const there = api().client(token, shownId(workspace.workspaceId))
    expect(await there.request(ViewerQuery, {})).toMatchObject({
      viewer: { workspaceName: workspace.name, tokenName: 'tajo: ops', isTajo: true },
    })
    const { runSync } = await there.request(RunSyncMutation, { syncId: sync.syncId })
    expect(runSync).toMatchObject({ __typename: 'StartedRun' })
    const { auditEntries } = await workspace.client.request(AuditEntriesQuery, {
      ...{ first: 1, filter: { action: 'runSync' } },
    })
    expect(auditEntries.edges[0]?.node.actor).toBe('tajo: ops')
  })

  it('may not do more than its role', async () => {
    const { workspace, sync } = await makeActive()
    const { token } = await makeOperator('viewer')
    const there = api().client(token, shownId(workspace.workspaceId))
    expect(await there.request(RunSyncMutation, { syncId: sync.syncId })).toMatchObject({
      runSync: { __typename: 'Forbidden' },
    })
  })

  it('is heard over a stream and over a socket', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'succeeded' })
    const { token } = await makeOperator()
    const id = shownId(workspace.workspaceId)
    const ended = { runProgress: { __typename: 'RunProgress', runId, status: 'SUCCEEDED' } }
    const stream = api().client(token, id).subscribe(RunProgressSubscription, { runId })
    expect((await stream.next()).value).toMatchObject(ended)
    const socket = openSocket(api().address, `Bearer ${token}`, { 'Tajo-Workspace': id })
    const overSocket = subscribeOverSocket(socket, RunProgressSubscription, { runId })
    expect((await overSocket.next()).value).toMatchObject(ended)
    await socket.dispose()
  })

  it('sees its own workspace where it names none, or its own', async () => {
    const { own, token } = await makeOperator()
    for (const client of [api().client(token), api().client(token, shownId(own.workspaceId))]) {
      expect(await client.request(ViewerQuery, {})).toMatchObject({
        viewer: { workspaceName: own.name, tokenName: 'ops' },
      })
    }
  })

  it('opens none that does not exist, nor what is no id', async () => {
    const { own, token } = await makeOperator()
    const unknown = api().parts.ids.next()
    const ids = [shownId(unknown), unknown, `run_${own.workspaceId}`, 'x', '', "' or true --"]
    for (const id of ids) {
      await expect(api().client(token, id).request(ViewerQuery, {})).rejects.toMatchObject(
        NO_WORKSPACE,
      )
    }
  })
})

describe('a token of a workspace', () => {
  it('opens no other one, in the same words as one that does not exist', async () => {
    const [mine, other] = [await api().makeWorkspace(), await api().makeWorkspace()]
    for (const id of [other.workspaceId, api().parts.ids.next()].map(shownId)) {
      const refused = api().client(mine.token, id).request(ViewerQuery, {})
      await expect(refused).rejects.toMatchObject(NO_WORKSPACE)
      const socket = openSocket(api().address, `Bearer ${mine.token}`, { 'tajo-workspace': id })
      await expect(subscribeOverSocket(socket, ViewerQuery, {}).next()).rejects.toMatchObject({
        code: 4401,
        reason: NO_WORKSPACE.message,
      })
      await socket.dispose()
    }
    const own = api().client(mine.token, shownId(mine.workspaceId))
    expect(await own.request(ViewerQuery, {})).toMatchObject({
      viewer: { workspaceName: mine.name, workspaceId: shownId(mine.workspaceId) },
    })
  })

  it.each(['tajo', ' Tajo ', 'tajo: ops', 'TAJO :', 'tajo:', 'tajo\u200b: ops', 'tajo\uff1a ops'])(
    'cannot be called %j, as Tajo’s are in the audit trail',
    async (name) => {
      const { client } = await api().makeWorkspace()
      const input = { name, role: 'VIEWER' as const }
      expect(await client.request(CreateTokenMutation, { input })).toMatchObject({
        createToken: {
          __typename: 'InvalidInput',
          message: 'name: In the audit trail it stands for Tajo: choose another one.',
        },
      })
    },
  )

  it('is told nothing of the installation', async () => {
    const { client } = await api().makeWorkspace()
    await expect(client.request(OperationsQuery, {})).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: 'This is for a token of Tajo\'s operators ("viewer { isTajo }").',
    })
  })
})

describe('what Tajo’s operators see', () => {
  it('is how many runs wait, since when, and how many are under way', async () => {
    const { client } = await makeOperator()
    const { queue: before } = await client.request(OperationsQuery, {})
    const workspace = await api().makeWorkspace()
    const dueAt = new Date(Date.now() - 86_400_000)
    const later = new Date(Date.now() + 3_600_000)
    const runs = [
      { status: 'queued', dueAt } as const,
      { status: 'queued', dueAt: later } as const,
      { status: 'running' } as const,
      { status: 'failed' } as const,
    ]
    for (const given of runs) {
      await putRun(workspace, await makePublishedSync(api(), workspace), given)
    }
    const { queue } = await client.request(OperationsQuery, {})
    expect(queue).toEqual({
      queued: before.queued + 2,
      due: before.due + 1,
      running: before.running + 1,
      oldestDueAt: dueAt.toISOString(),
      waitingWorkspaces: before.waitingWorkspaces + 1,
    })
  })

  it('is which workers there are, what they are at, and which have stopped', async () => {
    const { client } = await makeOperator()
    const { database, parts } = api()
    const [working, stopped] = [parts.ids.next(), parts.ids.next()]
    await registerWorker(database, { id: working, host: 'one', pid: 1 })
    await registerWorker(database, { id: stopped, host: 'two', pid: 2 })
    await markStopped(database, stopped)
    const workspace = await api().makeWorkspace()
    const { workspaceId } = workspace
    const { uuid } = await makePublishedSync(api(), workspace)
    const run = await makeRun(database, { workspaceId, syncId: uuid, status: 'running' })
    await database.rows(sql`update run set worker_id = ${working} where id = ${run}`)
    const told = async (isStopped: boolean | null) => {
      const filter = { isStopped }
      const { workers } = await client.request(OperationsQuery, { first: 2, filter })
      return workers.edges.map(({ node }) => node)
    }
    const one = { workerId: working, host: 'one', pid: 1, stoppedAt: null, runs: 1 }
    const two = { workerId: stopped, host: 'two', pid: 2, stoppedAt: expect.any(String), runs: 0 }
    expect(await told(null)).toMatchObject([two, one])
    expect((await told(false))[0]).toMatchObject(one)
    expect((await told(true))[0]).toMatchObject(two)
    expect((await told(false))[0]?.silentMs).toBeGreaterThanOrEqual(0)
  })

  it('is which workspaces there are, newest first', async () => {
    const { client } = await makeOperator()
    const older = await api().makeWorkspace()
    const newer = await api().makeWorkspace()
    const { workspaces } = await client.request(OperationsQuery, { first: 2 })
    expect(workspaces.edges.map(({ node }) => node)).toMatchObject([
      { id: shownId(newer.workspaceId), name: newer.name },
      { id: shownId(older.workspaceId), name: older.name },
    ])
  })
})
