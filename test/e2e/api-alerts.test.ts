/** Alerts as the API shows them: lists, acknowledging, the stream, and who sees what (I13). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import {
  AcknowledgeAlertMutation,
  AlertsQuery,
  AlertsSubscription,
} from '../../src/client/alert-documents.ts'
import type { ApiClient } from '../../src/client/api-client.ts'
import { NodeQuery, ViewerQuery } from '../../src/client/documents.ts'
import type { AlertFilter, WatchAlertsSubscription } from '../../src/client/gql/graphql.ts'
import { announceAlerts } from '../../src/coordination/announce.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { closeIncident } from '../../src/store/alerts.ts'
import { revokeToken } from '../../src/store/tokens.ts'
import { close, type RaisedAlert, raise } from '../support/alerts.ts'
import { openSocket, subscribeOverSocket } from '../support/api-client.ts'
import { type TestApi, useApi } from '../support/app.ts'
import { DATABASE_KINDS } from '../support/databases.ts'
import { makeRun, makeToken } from '../support/factories.ts'
import { makePublishedSync, type Workspace } from '../support/sync-steps.ts'

const idOf = ({ id }: { readonly id: string }) => encodeGlobalId('Alert', id)

async function makeOperator(api: TestApi): Promise<Workspace> {
  const workspace = await api.makeWorkspace()
  const wanted = { name: 'operator', isTajo: true }
  const { token, tokenId } = await makeToken(api.database, workspace.workspaceId, wanted)
  return { ...workspace, token, tokenId, client: api.client(token) }
}

async function listIds(client: ApiClient, filter: AlertFilter = {}): Promise<string[]> {
  const { alerts } = await client.request(AlertsQuery, { first: 200, filter })
  return alerts.edges.map(({ node }) => node.id)
}

async function countDeeds(api: TestApi, alert: RaisedAlert): Promise<readonly object[]> {
  return await api.database.rows(sql`
    select workspace_id as "workspaceId", actor, action, subject_type as "subjectType"
    from audit_entry
    where subject_id = ${alert.id}`)
}

describe('alerts', () => {
  const api = useApi()

  it('come with all that they tell', async () => {
    const workspace = await api().makeWorkspace()
    const { workspaceId, name } = workspace
    const sync = await makePublishedSync(api(), workspace)
    const run = { workspaceId, syncId: sync.uuid, status: 'failed' as const }
    const runId = await makeRun(api().database, run)
    const alert = await raise(api().database, { workspaceId, syncId: sync.uuid, runId })
    const { alerts } = await workspace.client.request(AlertsQuery, {})
    expect(alerts.edges.map(({ node }) => node)).toEqual([
      {
        ...{ id: idOf(alert), audience: 'WORKSPACE', severity: 'CRITICAL' },
        ...{ kind: 'CIRCUIT_BREAKER_TRIPPED', title: alert.title, message: alert.message },
        ...{ facts: { failedRuns: 5 }, workspaceName: name },
        ...{ sync: { id: sync.syncId }, run: { id: encodeGlobalId('Run', runId) } },
        ...{ isOpen: true, openedAt: expect.any(String), closedAt: null, closing: null },
        ...{ acknowledgedAt: null, acknowledgedBy: null },
      },
    ])
    await close(api().database, alert)
    const { alerts: after } = await workspace.client.request(AlertsQuery, {})
    expect(after.edges[0]?.node).toMatchObject({
      isOpen: false,
      closedAt: expect.any(String),
      closing: 'A run has succeeded.',
    })
    const found = await workspace.client.request(NodeQuery, { id: idOf(alert) })
    expect(found.node).toEqual({ __typename: 'Alert', id: idOf(alert) })
  })

  it('are listed newest first, page by page, and by what is asked for', async () => {
    const { client, workspaceId } = await api().makeWorkspace()
    const made: RaisedAlert[] = []
    for (const severity of ['critical', 'warning', 'critical', 'warning'] as const) {
      made.unshift(await raise(api().database, { workspaceId, severity }))
    }
    const ids = made.map(idOf)
    expect(await listIds(client)).toEqual(ids)
    const first = await client.request(AlertsQuery, { first: 3 })
    expect(first.alerts.edges.map(({ node }) => node.id)).toEqual(ids.slice(0, 3))
    expect(first.alerts.pageInfo.hasNextPage).toBe(true)
    const after = first.alerts.pageInfo.endCursor ?? null
    const second = await client.request(AlertsQuery, { first: 3, after })
    expect(second.alerts.edges.map(({ node }) => node.id)).toEqual(ids.slice(3))
    for (const alert of made.slice(1, 2)) {
      await close(api().database, alert)
    }
    expect(await listIds(client, { isOpen: false })).toEqual([ids[1]])
    expect(await listIds(client, { isOpen: true })).toEqual([ids[0], ids[2], ids[3]])
    expect(await listIds(client, { severity: 'WARNING' })).toEqual([ids[0], ids[2]])
    expect(await listIds(client, { kind: 'WORKSPACE_SILENT' })).toEqual([])
  })

  it('are acknowledged once, by one of many who do so at the same time, and that is audited', async () => {
    const { client, workspaceId } = await api().makeWorkspace()
    const alert = await raise(api().database, { workspaceId })
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        client.request(AcknowledgeAlertMutation, { alertId: idOf(alert) }),
      ),
    )
    const done = answers.map(({ acknowledgeAlert: answer }) =>
      answer.__typename === 'AcknowledgedAlert' ? answer.done : answer.__typename,
    )
    expect(done.toSorted()).toEqual(['DONE', ...Array(9).fill('NOOP')])
    for (const { acknowledgeAlert: answer } of answers) {
      expect(answer).toMatchObject({
        alert: { isOpen: true, acknowledgedAt: expect.any(String), acknowledgedBy: 'test' },
      })
    }
    expect(await countDeeds(api(), alert)).toEqual([
      { workspaceId, actor: 'test', action: 'acknowledgeAlert', subjectType: 'alert' },
    ])
  })

  it('for Tajo are an operator’s to see, of every workspace; those of other workspaces nobody’s', async () => {
    const [one, other] = [await api().makeWorkspace(), await api().makeWorkspace()]
    const operator = await makeOperator(api())
    const put = (workspaceId: string, audience: 'tajo' | 'workspace') =>
      raise(api().database, { workspaceId, audience })
    const [forOne, forTajo] = [
      await put(one.workspaceId, 'workspace'),
      await put(one.workspaceId, 'tajo'),
    ]
    const forOperator = await put(operator.workspaceId, 'workspace')
    expect(await listIds(one.client)).toEqual([idOf(forOne)])
    expect(await listIds(other.client)).toEqual([])
    const seen = await listIds(operator.client)
    expect(seen).toEqual(expect.arrayContaining([idOf(forTajo), idOf(forOperator)]))
    expect(seen).not.toContain(idOf(forOne))
    const { alerts } = await operator.client.request(AlertsQuery, {})
    const shown = alerts.edges.find(({ node }) => node.id === idOf(forTajo))
    expect(shown?.node).toMatchObject({ audience: 'TAJO', workspaceName: one.name, sync: null })

    const acknowledge = async (client: ApiClient, alert: RaisedAlert) => {
      const input = { alertId: idOf(alert) }
      const { acknowledgeAlert } = await client.request(AcknowledgeAlertMutation, input)
      return acknowledgeAlert.__typename
    }
    for (const [client, alert] of [
      [one.client, forTajo],
      [other.client, forOne],
      [operator.client, forOne],
    ] as const) {
      expect(await acknowledge(client, alert)).toBe('NotFound')
      expect(await client.request(NodeQuery, { id: idOf(alert) })).toEqual({ node: null })
      expect(await countDeeds(api(), alert)).toEqual([])
    }
    expect(await acknowledge(operator.client, forTajo)).toBe('AcknowledgedAlert')
    expect(await countDeeds(api(), forTajo)).toMatchObject([
      { workspaceId: operator.workspaceId, actor: 'operator' },
    ])
    expect((await operator.client.request(ViewerQuery, {})).viewer.isTajo).toBe(true)
    expect((await one.client.request(ViewerQuery, {})).viewer.isTajo).toBe(false)
  })
})

type AlertEvent = WatchAlertsSubscription['alerts']

function told(event: AlertEvent | undefined): unknown {
  return event?.__typename === 'AlertUpdate' ? [event.change, event.alert.id] : event?.__typename
}

interface EventStream {
  next(): Promise<unknown>
  leave(): Promise<void>
}

function toStream(
  results: AsyncIterator<WatchAlertsSubscription, unknown, undefined>,
  dispose: () => unknown = () => undefined,
): EventStream {
  return {
    next: async () => {
      const result = await results.next()
      return result.done ? 'the end' : told(result.value.alerts)
    },
    leave: async () => {
      await results.return?.()
      await dispose()
    },
  }
}

const TRANSPORTS = {
  'server-sent events': (_: TestApi, { client }: Workspace) =>
    toStream(client.subscribe(AlertsSubscription, {})),
  'a WebSocket': (api: TestApi, { token }: Workspace) => {
    const socket = openSocket(api.address, `Bearer ${token}`)
    return toStream(subscribeOverSocket(socket, AlertsSubscription, {}), () => socket.dispose())
  },
}

describe.each(Object.entries(TRANSPORTS))('alerts that are watched over %s', (_, watch) => {
  const api = useApi()
  const announce = () => announceAlerts(api().bus)

  it('come as they stand, then as they open, are acknowledged and close', async () => {
    const workspace = await api().makeWorkspace()
    const { workspaceId, client } = workspace
    const put = () => raise(api().database, { workspaceId })
    const [over, first, second] = [await put(), await put(), await put()]
    await close(api().database, over)
    const stream = watch(api(), workspace)
    expect(await stream.next()).toEqual(['OPEN', idOf(first)])
    expect(await stream.next()).toEqual(['OPEN', idOf(second)])
    expect(await stream.next()).toBe('KeepAlive')
    const third = await put()
    await announce()
    expect(await stream.next()).toEqual(['OPENED', idOf(third)])
    await client.request(AcknowledgeAlertMutation, { alertId: idOf(first) })
    expect(await stream.next()).toEqual(['ACKNOWLEDGED', idOf(first)])
    await close(api().database, first)
    await announce()
    expect(await stream.next()).toEqual(['CLOSED', idOf(first)])
    await client.request(AcknowledgeAlertMutation, { alertId: idOf(over) })
    expect(await stream.next()).toEqual(['ACKNOWLEDGED', idOf(over)])
    await stream.leave()
    await api().bus.whenListeners(0)
  })

  it('of which messages were lost are read after the gap, none lost and none twice', async () => {
    const workspace = await api().makeWorkspace()
    const put = () => raise(api().database, { workspaceId: workspace.workspaceId })
    const first = await put()
    const stream = watch(api(), workspace)
    expect(await stream.next()).toEqual(['OPEN', idOf(first)])
    expect(await stream.next()).toBe('KeepAlive')
    api().bus.loseMessages()
    const [second, brief] = [await put(), await put()]
    await close(api().database, first)
    await close(api().database, brief)
    await announce()
    api().bus.recover()
    const events = [await stream.next(), await stream.next(), await stream.next()]
    expect(events).toEqual([
      ['CLOSED', idOf(first)],
      ['OPENED', idOf(second)],
      ['CLOSED', idOf(brief)],
    ])
    await announce()
    expect(await stream.next()).toBe('KeepAlive')
    await stream.leave()
  })

  it.runIf(DATABASE_KINDS[0] === 'postgresql')(
    'are told of when a transaction is committed, however long after its time',
    async () => {
      const workspace = await api().makeWorkspace()
      const alert = await raise(api().database, { workspaceId: workspace.workspaceId })
      const stream = watch(api(), workspace)
      expect([await stream.next(), await stream.next()]).toEqual([
        ['OPEN', idOf(alert)],
        'KeepAlive',
      ])
      await api().database.transaction('test.closeLate', async (tx) => {
        await closeIncident(tx, alert.incident, 'A run has succeeded.')
        for (let looks = 0; looks < 3; looks += 1) {
          await announce()
          expect(await stream.next()).toBe('KeepAlive')
        }
      })
      await announce()
      expect(await stream.next()).toEqual(['CLOSED', idOf(alert)])
      await stream.leave()
    },
  )

  it('are those of who watches, and no others', async () => {
    const [mine, other] = [await api().makeWorkspace(), await api().makeWorkspace()]
    const operator = await makeOperator(api())
    const [stream, operators] = [watch(api(), mine), watch(api(), operator)]
    expect(await stream.next()).toBe('KeepAlive')
    while ((await operators.next()) !== 'KeepAlive') {
      // What other tests left open for Tajo.
    }
    await raise(api().database, { workspaceId: other.workspaceId })
    const forTajo = await raise(api().database, {
      workspaceId: mine.workspaceId,
      audience: 'tajo',
    })
    await announce()
    expect(await operators.next()).toEqual(['OPENED', idOf(forTajo)])
    expect(await stream.next()).toBe('KeepAlive')
    const own = await raise(api().database, { workspaceId: mine.workspaceId })
    await announce()
    expect(await stream.next()).toEqual(['OPENED', idOf(own)])
    await Promise.all([stream.leave(), operators.leave()])
  })
})

describe('a quiet stream of alerts', () => {
  const api = useApi({ settings: { keepAliveMs: 30 } })

  it('sends keep-alives, and notices what nobody told it', async () => {
    const workspace = await api().makeWorkspace()
    const stream = TRANSPORTS['server-sent events'](api(), workspace)
    expect([await stream.next(), await stream.next()]).toEqual(['KeepAlive', 'KeepAlive'])
    const alert = await raise(api().database, { workspaceId: workspace.workspaceId })
    let event = await stream.next()
    while (event === 'KeepAlive') {
      event = await stream.next()
    }
    expect(event).toEqual(['OPENED', idOf(alert)])
    await stream.leave()
  })

  it('ends where there are too many to keep, and says so', async () => {
    const workspace = await api().makeWorkspace()
    const { workspaceId } = workspace
    await api().database.rows(sql`
      insert into alert (id, workspace_id, audience, severity, kind, incident, title, message, facts)
      select gen_random_uuid(), ${workspaceId}::uuid, 'workspace', 'warning', 'workspace_silent',
             'many:' || n, 'Many', 'There are many.', '{}'
      from generate_series(1, 5000) as n`)
    const stream = TRANSPORTS['server-sent events'](api(), workspace)
    await expect(stream.next()).rejects.toThrow('5,000 alerts or more are open')
    await api().database.rows(sql`delete from alert where workspace_id = ${workspaceId}::uuid`)
    await api().bus.whenListeners(0)
  })

  it.each([
    ['token', (test: TestApi) => test.makeWorkspace()],
    ['operator’s token', makeOperator],
  ] as const)('ends when its %s is revoked, which sees nothing any more', async (_, make) => {
    const workspace = await make(api())
    const stream = TRANSPORTS['server-sent events'](api(), workspace)
    await stream.next()
    await revokeToken(api().database, workspace.workspaceId, workspace.tokenId)
    const watching = async () => {
      while ((await stream.next()) === 'KeepAlive') {
        // Until it notices.
      }
    }
    await expect(watching()).rejects.toThrow('The token was revoked or has expired.')
    await expect(listIds(workspace.client)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await api().bus.whenListeners(0)
  })
})
