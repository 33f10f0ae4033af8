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
import { makePartitions } from '../../src/store/partitions.ts'
import type { TestApi } from './app.ts'
import { makeHeldRecords, makeRun, type RunToMake } from './factories.ts'
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

  /** A record that was set aside; its id as the API shows it. */
  async function putAside(workspace: Workspace, sync: MadeSync): Promise<string[]> {
    const runId = uuidOf(await putRun(workspace, sync, { status: 'partial', rejected: 1 }))
    const aside = { state: 'quarantined' as const, ordinal: 1, setAsideAt: new Date(), runs: 3 }
    await makeHeldRecords(
      api().database,
      { syncId: sync.uuid, runId, count: 1 },
      { ...aside, sealedPayload: 'sealed' },
    )
    const rows = await api().database.rows<{ id: string }>(sql`
      select id from held_record where sync_id = ${sync.uuid}`)
    return rows.map(({ id }) => encodeGlobalId('Record', id))
  }

  /** A call that a run left in doubt a while ago. */
  async function putDoubt(workspace: Workspace, sync: MadeSync): Promise<string> {
    await makePartitions(api().database)
    const runId = uuidOf(await putRun(workspace, sync, { status: 'partial', inDoubt: 1 }))
    const intentId = api().parts.ids.next()
    await api().database.rows(sql`
      insert into delivery_intent (id, sync_id, epoch, run_id, connection_id, delivery_class,
        page_digest, positions, record_digests, destination_identities, day, quiet_at, reserved_at)
      values (${intentId}, ${sync.uuid}, 1, ${runId}, ${uuidOf(sync.destinationConnectionId)}, 'none',
        decode(${'aa'.repeat(16)}, 'hex'), '{4}', decode(${'bb'.repeat(12)}, 'hex'),
        decode(${'cc'.repeat(16)}, 'hex'), current_date, now() - interval '60 seconds',
        now() - interval '90 seconds')`)
    return encodeGlobalId('Intent', intentId)
  }

  function idsOf(connection: { edges: readonly { node: { id: string } }[] }): string[] {
    return connection.edges.map(({ node }) => node.id)
  }

  return {
    ...{ makeActive, putRun, putAside, putDoubt, runSync, retryRun, pauseSync, resumeSync },
    ...{ getRun, failRun, idsOf },
  }
}
