/** The steps by which a person runs syncs, through the API, and the runs that a test puts there itself. */
import { sql } from 'drizzle-orm'
import {
  PauseSyncMutation,
  ResumeSyncMutation,
  RetryRunMutation,
  RunQuery,
  RunSyncMutation,
} from '../../src/client/documents.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import type { TestApi } from './app.ts'
import { makeRun, type RunToMake } from './factories.ts'
import { type MadeSync, makePublishedSync, uuidOf, type Workspace } from './sync-steps.ts'

/** Steps on one API. */
export function runSteps(api: () => TestApi) {
  async function makeActive() {
    const workspace = await api().makeWorkspace()
    return { workspace, sync: await makePublishedSync(api(), workspace) }
  }

  async function putRun(
    { workspaceId }: Workspace,
    { uuid }: MadeSync,
    given: Omit<RunToMake, 'workspaceId' | 'syncId'>,
  ): Promise<string> {
    const id = await makeRun(api().database, { workspaceId, syncId: uuid, ...given })
    return encodeGlobalId('Run', id)
  }

  async function runSync({ client }: Workspace, { syncId }: MadeSync) {
    return (await client.request(RunSyncMutation, { syncId })).runSync
  }

  async function retryRun({ client }: Workspace, runId: string) {
    return (await client.request(RetryRunMutation, { runId })).retryRun
  }

  async function pauseSync({ client }: Workspace, { syncId }: MadeSync, reason = 'Maintenance.') {
    return (await client.request(PauseSyncMutation, { syncId, reason })).pauseSync
  }

  async function resumeSync({ client }: Workspace, { syncId }: MadeSync) {
    return (await client.request(ResumeSyncMutation, { syncId })).resumeSync
  }

  async function getRun({ client }: Workspace, id: string) {
    const { run } = await client.request(RunQuery, { id })
    if (!run) {
      throw new Error(`There is no run ${id}.`)
    }
    return run
  }

  async function failRun(id: string): Promise<void> {
    await api().database.rows(sql`
      update run
      set status = 'failed', finished_at = now(), failure_code = 'provider_unavailable'
      where id = ${uuidOf(id)}`)
  }

  function idsOf(connection: { edges: readonly { node: { id: string } }[] }): string[] {
    return connection.edges.map(({ node }) => node.id)
  }

  return { makeActive, putRun, runSync, retryRun, pauseSync, resumeSync, getRun, failRun, idsOf }
}
