/** Tokens as an admin makes and revokes them. */
import { describe, expect, it } from 'vitest'
import { AuditEntriesQuery } from '../../src/client/audit-documents.ts'
import {
  RunProgressSubscription,
  RunSyncMutation,
  ViewerQuery,
} from '../../src/client/documents.ts'
import type { Role } from '../../src/client/gql/graphql.ts'
import {
  CreateTokenMutation,
  RevokeTokenMutation,
  TokensQuery,
} from '../../src/client/token-documents.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { useApi } from '../support/app.ts'
import { makeRun } from '../support/factories.ts'
import { makePublishedSync, type Workspace } from '../support/sync-steps.ts'

const api = useApi({ settings: { keepAliveMs: 50 } })

async function make(
  { client }: Workspace,
  given: { name: string; role: Role; expiresAt?: string },
) {
  const { createToken: made } = await client.request(CreateTokenMutation, { input: given })
  if (made.__typename !== 'CreatedToken') {
    throw new Error(made.message)
  }
  const secret = made.secret ?? ''
  return { ...made, secret, client: api().client(secret) }
}

const revoke = async ({ client }: Workspace, tokenId: string) =>
  (await client.request(RevokeTokenMutation, { tokenId, reason: 'It leaked.' })).revokeToken

describe('a token that an admin makes', () => {
  it('opens the workspace with its role, and is shown once', async () => {
    const admin = await api().makeWorkspace()
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const script = await make(admin, { name: 'night script', role: 'OPERATOR', expiresAt })
    expect(script).toMatchObject({
      secret: expect.stringMatching(/^tajo_[A-Za-z0-9_-]{43}$/),
      token: { name: 'night script', role: 'OPERATOR', expiresAt },
    })
    expect(await script.client.request(ViewerQuery, {})).toMatchObject({
      viewer: { workspaceName: admin.name, tokenName: 'night script', role: 'OPERATOR' },
    })
    const { tokens } = await admin.client.request(TokensQuery, {})
    expect(tokens.edges.map(({ node }) => node)).toEqual([
      {
        ...script.token,
        ...{ isUsable: true, createdAt: expect.any(String), revokedAt: null },
      },
      expect.objectContaining({ name: 'test', role: 'ADMIN', expiresAt: null }),
    ])
    const shown = JSON.stringify([
      tokens,
      await admin.client.request(AuditEntriesQuery, { first: 50 }),
    ])
    expect(shown).not.toContain(script.secret.slice('tajo_'.length))
  })

  it('is named in the audit trail, with who made it, and shows what is done with it', async () => {
    const admin = await api().makeWorkspace()
    const { syncId } = await makePublishedSync(api(), admin)
    const script = await make(admin, { name: 'night script', role: 'OPERATOR' })
    await script.client.request(RunSyncMutation, { syncId })
    await revoke(admin, script.token.id)
    const audited = async (filter: object) =>
      (await admin.client.request(AuditEntriesQuery, { filter })).auditEntries.edges.map(
        ({ node }) => node,
      )
    expect(await audited({ subjectId: script.token.id })).toMatchObject([
      { action: 'revokeToken', actor: 'test', reason: 'It leaked.', after: { isRevoked: true } },
      {
        ...{ action: 'createToken', actor: 'test', subjectType: 'ACCESS_TOKEN' },
        subject: { __typename: 'AccessToken' },
        after: { name: 'night script', role: 'operator', expiresAt: null, isTajo: false },
      },
    ])
    expect(await audited({ actor: 'night script' })).toMatchObject([{ action: 'runSync' }])
  })

  it('opens nothing once it is revoked, and what it watches ends', async () => {
    const admin = await api().makeWorkspace()
    const { uuid } = await makePublishedSync(api(), admin)
    const { workspaceId } = admin
    const run = await makeRun(api().database, { workspaceId, syncId: uuid, status: 'running' })
    const watcher = await make(admin, { name: 'dashboard', role: 'VIEWER' })
    const runId = encodeGlobalId('Run', run)
    const stream = watcher.client.subscribe(RunProgressSubscription, { runId })
    await stream.next()
    expect(await revoke(admin, watcher.token.id)).toMatchObject({
      ...{ __typename: 'RevokedToken', status: 'DONE' },
      token: { isUsable: false, revokedAt: expect.any(String) },
    })
    const drain = async () => {
      for await (const { runProgress } of stream) {
        expect(runProgress.__typename).toBe('KeepAlive')
      }
    }
    await expect(drain()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await expect(watcher.client.request(ViewerQuery, {})).rejects.toMatchObject({ status: 401 })
    expect(await revoke(admin, watcher.token.id)).toMatchObject({ status: 'NOOP' })
  })

  it('is refused with what is wrong about it', async () => {
    const { client } = await api().makeWorkspace()
    const refused = async (input: object) => {
      const usual = { name: 'it', role: 'VIEWER' } as const
      const answer = await client.request(CreateTokenMutation, { input: { ...usual, ...input } })
      return answer.createToken
    }
    expect(await refused({ name: ' ' })).toMatchObject({
      ...{ __typename: 'InvalidInput', message: 'name: It must not be empty.' },
    })
    expect(await refused({ name: ' Tajo' })).toMatchObject({
      ...{ __typename: 'InvalidInput', message: expect.stringMatching(/^name: .*for Tajo/) },
    })
    expect(await refused({ expiresAt: '2020-01-01T00:00:00Z' })).toMatchObject({
      ...{ __typename: 'InvalidInput', message: 'expiresAt: It must lie in the future.' },
    })
  })

  it('of another workspace does not exist', async () => {
    const [mine, other] = [await api().makeWorkspace(), await api().makeWorkspace()]
    const { token, client } = await make(other, { name: 'theirs', role: 'VIEWER' })
    expect(await revoke(mine, token.id)).toMatchObject({
      ...{
        __typename: 'NotFound',
        message: 'There is no token with the id that is given in tokenId.',
      },
    })
    expect((await client.request(ViewerQuery, {})).viewer.tokenName).toBe('theirs')
  })
})
