/** A workspace that has something of everything, all of it marked: where a mark appears, something of it has leaked. */
import { randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { encodeGlobalId, type IdType } from '../../src/graphql/global-id.ts'
import { raise } from './alerts.ts'
import type { TestApi } from './app.ts'
import { makeToken } from './factories.ts'
import { changeDraft, requestPublication } from './publication-steps.ts'
import { runSteps } from './run-steps.ts'
import { type MadeSync, makePublishedSync, uuidOf, type Workspace } from './sync-steps.ts'

export interface MarkedWorld {
  readonly workspace: Workspace
  readonly sync: MadeSync
  /** One of each type, as the API shows it. */
  readonly ids: Readonly<Record<IdType, string>>
  /** Of something that was delivered. */
  readonly deliveryKey: string
  /** In every text of the workspace. */
  readonly mark: string
  /** What nobody else may be shown: the mark, and every UUID. */
  readonly secrets: readonly string[]
}

export async function makeMarkedWorld(api: TestApi): Promise<MarkedWorld> {
  const mark = `mark-${randomBytes(6).toString('hex')}`
  const made = await api.makeWorkspace()
  const { workspaceId } = made
  const { token } = await makeToken(api.database, workspaceId, { name: mark })
  const workspace: Workspace = { ...made, token, client: api.client(token) }
  const { putAside, putDoubt, putRun } = runSteps(() => api)
  const sync = await makePublishedSync(api, workspace, { name: mark, object: `/${mark}` })
  const [recordId = ''] = await putAside(workspace, sync)
  const intentId = await putDoubt(workspace, sync)
  const runId = await putRun(workspace, sync, { status: 'failed' })
  const busy = await makePublishedSync(api, workspace, { name: `${mark} busy` })
  await putRun(workspace, busy, { status: 'running' })
  const other = await makeToken(api.database, workspaceId, { name: mark })
  const alert = await raise(api.database, {
    workspaceId,
    syncId: sync.uuid,
    title: mark,
    message: mark,
  })
  await changeDraft(workspace.client, sync.syncId, 7)
  const requestId = await requestPublication(workspace.client, sync.syncId)
  const [published] = await api.database.rows<{ id: string }>(sql`
    select publication_id as id from sync where id = ${sync.uuid}`)
  await markTexts(api, workspaceId, mark)
  const deliveryKey = await putDelivered(api, sync, mark)
  const ids = {
    AccessToken: encodeGlobalId('AccessToken', other.tokenId),
    Alert: encodeGlobalId('Alert', alert.id),
    Connection: sync.destinationConnectionId,
    Intent: intentId,
    Publication: encodeGlobalId('Publication', published?.id ?? ''),
    PublicationRequest: requestId,
    Record: recordId,
    Run: runId,
    Sync: sync.syncId,
    Workspace: encodeGlobalId('Workspace', workspaceId),
  }
  const uuids = [...Object.values(ids), sync.sourceConnectionId].map(uuidOf)
  return { workspace, sync, ids, deliveryKey, mark, secrets: [mark, ...uuids] }
}

/** A page that has ended, and its only record, delivered. */
async function putDelivered({ database }: TestApi, sync: MadeSync, mark: string): Promise<string> {
  const page = randomBytes(16).toString('hex')
  const key = `${page}00000000${'cd'.repeat(12)}`
  await database.rows(sql`
    insert into ended_page (sync_id, page_digest, ordinal, identities, opened_at)
    values (${sync.uuid}, decode(${page}, 'hex'), 1, decode(${'ef'.repeat(16)}, 'hex'),
      now() - interval '1 minute')`)
  await database.rows(sql`
    insert into delivery (key, day, result)
    values (decode(${key}, 'hex'), (now() at time zone 'UTC')::date, ${mark})`)
  return key
}

/** What the steps name by themselves. */
async function markTexts({ database }: TestApi, workspaceId: string, mark: string): Promise<void> {
  await database.rows(sql`update workspace set name = ${mark} where id = ${workspaceId}`)
  await database.rows(sql`
    update connection set name = ${mark} || ' ' || id where workspace_id = ${workspaceId}`)
  await database.rows(
    sql`update run set requested_by = ${mark} where workspace_id = ${workspaceId}`,
  )
  await database.rows(sql`
    update publication_request set reason = ${mark} where workspace_id = ${workspaceId}`)
  await database.rows(sql`
    update held_record set reason = ${mark}
    where sync_id in (select id from sync where workspace_id = ${workspaceId})`)
}

/** Everything that the workspace has, to see whether it was touched. */
export async function readWorld({ database }: TestApi, { workspace }: MarkedWorld) {
  const ofWorkspace = [
    ...(['access_token', 'alert', 'audit_entry', 'connection'] as const),
    ...(['publication_request', 'run', 'sync'] as const),
  ]
  const ofSync = ['delivery_intent', 'held_record', 'publication', 'sync_fence'] as const
  const { workspaceId } = workspace
  const rows = await Promise.all([
    ...ofWorkspace.map((table) =>
      database.rows(sql`
        select ${table} as of, to_jsonb(one)::text as row from ${sql.identifier(table)} one
        where workspace_id = ${workspaceId} order by 2`),
    ),
    ...ofSync.map((table) =>
      database.rows(sql`
        select ${table} as of, to_jsonb(one)::text as row from ${sql.identifier(table)} one
        where sync_id in (select id from sync where workspace_id = ${workspaceId}) order by 2`),
    ),
  ])
  return rows.flat()
}
