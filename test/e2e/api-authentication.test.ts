import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../src/client/api-client.ts'
import { RunProgressSubscription, ViewerQuery } from '../../src/client/documents.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { revokeToken } from '../../src/store/tokens.ts'
import { openSocket, post, subscribeOverSocket } from '../support/api-client.ts'
import { useApi } from '../support/app.ts'
import { makeRun, makeToken } from '../support/factories.ts'
import { makePublishedSync } from '../support/sync-steps.ts'

/** A request without a body is not taken without it. */
const ASKED_FIRST = { 'graphql-require-preflight': '1' }

const api = useApi({ hasGraphiql: true, settings: { keepAliveMs: 50 } })
const UNKNOWN = `tajo_${'x'.repeat(43)}`

async function makeTokens() {
  const workspace = await api().makeWorkspace()
  const { workspaceId } = workspace
  const { database } = api()
  const expired = await makeToken(database, workspaceId, {
    expiresAt: new Date(Date.now() - 1_000),
  })
  const revoked = await makeToken(database, workspaceId)
  await revokeToken(database, workspaceId, revoked.tokenId)
  return { workspace, expired: expired.token, revoked: revoked.token }
}

describe('a token', () => {
  it('opens its workspace and no other', async () => {
    const [mine, other] = [await api().makeWorkspace(), await api().makeWorkspace()]
    const { viewer } = await mine.client.request(ViewerQuery, {})
    expect(viewer).toEqual({
      workspaceId: encodeGlobalId('Workspace', mine.workspaceId),
      workspaceName: mine.name,
      tokenName: 'test',
      role: 'ADMIN',
      isTajo: false,
    })
    expect(viewer.workspaceName).not.toBe(other.name)
  })

  it('is refused with 401 and one clear error when it does not hold', async () => {
    const { expired, revoked } = await makeTokens()
    const cases: readonly [string | undefined, string][] = [
      [undefined, 'A token is needed: send the header "Authorization: Bearer <token>".'],
      [
        'Basic abc',
        'The authorization is not of the form "Bearer <token>" with a token of this product.',
      ],
      [
        'Bearer short',
        'The authorization is not of the form "Bearer <token>" with a token of this product.',
      ],
      [`Bearer ${UNKNOWN}`, 'The token is not known.'],
      [`Bearer ${expired}`, 'The token has expired.'],
      [`Bearer ${revoked}`, 'The token was revoked.'],
    ]
    for (const [authorization, message] of cases) {
      const answer = await post(
        api().address,
        '{ viewer { tokenName } }',
        authorization === undefined ? {} : { authorization },
      )
      expect(answer).toEqual({
        status: 401,
        body: { errors: [{ message, extensions: { code: 'UNAUTHENTICATED' } }] },
      })
    }
  })

  it('is refused in the same words where a stream is asked for', async () => {
    const runId = encodeGlobalId('Run', api().parts.ids.next())
    const stream = api().client(UNKNOWN).subscribe(RunProgressSubscription, { runId })
    const refused = await stream.next().catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ApiError)
    expect(refused).toMatchObject({
      message: 'The token is not known.',
      status: 401,
      code: 'UNAUTHENTICATED',
    })
  })

  it('that does not hold closes a socket with code 4401', async () => {
    const { expired, revoked } = await makeTokens()
    const cases: readonly [string | null, string][] = [
      [null, 'A token is needed: send the header "Authorization: Bearer <token>".'],
      [`Bearer ${UNKNOWN}`, 'The token is not known.'],
      [`Bearer ${expired}`, 'The token has expired.'],
      [`Bearer ${revoked}`, 'The token was revoked.'],
    ]
    for (const [authorization, reason] of cases) {
      const socket = openSocket(api().address, authorization)
      const results = subscribeOverSocket(socket, ViewerQuery, {})
      await expect(results.next()).rejects.toMatchObject({ code: 4401, reason })
      await socket.dispose()
    }
  })

  it('serves a query over a socket', async () => {
    const { token, name } = await api().makeWorkspace()
    const socket = openSocket(api().address, `Bearer ${token}`)
    const { value } = await subscribeOverSocket(socket, ViewerQuery, {}).next()
    expect(value).toMatchObject({ viewer: { workspaceName: name, tokenName: 'test' } })
    await socket.dispose()
  })

  it('that is revoked ends the streams that it opened', async () => {
    const workspace = await api().makeWorkspace()
    const { workspaceId, client, tokenId } = workspace
    const { uuid } = await makePublishedSync(api(), workspace)
    const run = await makeRun(api().database, { workspaceId, syncId: uuid, status: 'running' })
    const stream = client.subscribe(RunProgressSubscription, { runId: encodeGlobalId('Run', run) })
    await stream.next()
    await revokeToken(api().database, workspaceId, tokenId)
    const drain = async () => {
      for await (const event of stream) {
        expect(event.runProgress.__typename).toBe('KeepAlive')
      }
    }
    await expect(drain()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('is kept as a hash only', async () => {
    const { token } = await api().makeWorkspace()
    const rows = await api().database.rows(sql`select access_token::text as text from access_token`)
    expect(JSON.stringify(rows)).not.toContain(token.slice('tajo_'.length))
  })
})

describe('without a token', () => {
  it('health is served, and says when a part is not well', async () => {
    const healthy = await fetch(`${api().address}/health`)
    expect([healthy.status, await healthy.json()]).toEqual([
      200,
      { status: 'healthy', checks: { database: { isHealthy: true, detail: null } } },
    ])
    const checks = { database: { isHealthy: false, detail: 'It does not answer.' } }
    api().setHealth(checks)
    const unhealthy = await fetch(`${api().address}/health`)
    expect([unhealthy.status, await unhealthy.json()]).toEqual([
      503,
      { status: 'unhealthy', checks },
    ])
    const ready = await fetch(`${api().address}/health/ready`)
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'unhealthy', checks }])
    const live = await fetch(`${api().address}/health/live`)
    expect([live.status, await live.json()]).toEqual([200, { status: 'alive' }])
  })

  it('what is wrong with all processes together keeps none of them from its requests', async () => {
    const deadMan = { isHealthy: false, detail: 'The last check is old.', isShared: true } as const
    api().setHealth({ database: { isHealthy: true, detail: null }, deadMan })
    const report = await fetch(`${api().address}/health`)
    expect([report.status, await report.json()]).toMatchObject([503, { checks: { deadMan } }])
    const ready = await fetch(`${api().address}/health/ready`)
    expect([ready.status, await ready.json()]).toMatchObject([200, { checks: { deadMan } }])
  })

  it('the GraphiQL page is served, but no query that comes with the request for it', async () => {
    const url = `${api().address}/graphql?query=${encodeURIComponent('{ viewer { tokenName } }')}`
    const page = await fetch(url, { headers: { accept: 'text/html' } })
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toContain('text/html')
    const html = await page.text()
    const plain = await fetch(`${api().address}/graphql`, { headers: { accept: 'text/html' } })
    // The same page: nothing of the query's answer is in it. And none of its scripts comes from elsewhere.
    expect(html === (await plain.text())).toBe(true)
    expect(/<script[^>]+src=/.test(html)).toBe(false)
  })

  it('nothing else is', async () => {
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/graphql'],
      ['POST', '/health'],
      ['GET', '/health/more'],
      ['OPTIONS', '/graphql'],
      ['GET', '/metrics'],
    ] as const) {
      const response = await fetch(`${api().address}${path}`, { method, headers: ASKED_FIRST })
      expect([method, path, response.status]).toEqual([method, path, 401])
    }
  })

  it('the schema is not told', async () => {
    const { status } = await post(api().address, '{ __schema { types { name } } }')
    expect(status).toBe(401)
  })
})
