/**
 * Processes that send alerts: one is killed while the receiver has a message and has not answered; another
 * one sends it again, once, and says so.
 */
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createApiClient } from '../../src/client/api-client.ts'
import { ViewerQuery } from '../../src/client/documents.ts'
import type { Database } from '../../src/store/database.ts'
import { close, listNotices, passTime, raise } from '../support/alerts.ts'
import { createTestDatabase, type TestDatabase } from '../support/databases.ts'
import { createDeployment, type Deployment } from '../support/deployment.ts'
import { startScript } from '../support/processes.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

/** A process takes some seconds to start where many run at once. */
const TIMEOUT_MS = 180_000
const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const CLAIM_LIFE_MS = 120_000

describe.runIf(HAS_REDIS)('processes that send alerts', { timeout: TIMEOUT_MS }, () => {
  let test: TestDatabase
  let database: Database
  let deployment: Deployment
  let receiver: WebhookReceiver

  beforeEach(async () => {
    test = await createTestDatabase()
    database = await test.open()
    receiver = await startWebhookReceiver()
    deployment = await createDeployment({
      databaseUrl: test.url,
      redisUrl: redisUrl(),
      settings: {
        ALERT_WEBHOOK_URL: receiver.url,
        ALERT_WEBHOOK_SECRET: SECRET,
        ALERT_POLL_MS: '50',
      },
    })
  }, TIMEOUT_MS)
  afterEach(async () => {
    await deployment.close()
    await receiver.close()
    await test.drop()
  })
  const read = (index: number) => {
    const request = receiver.requests[index]
    if (!request) {
      throw new Error(`Request ${index} has not come.`)
    }
    const { headers, body } = request
    const message = new Webhook(SECRET).verify(body, headers as Record<string, string>)
    return { id: headers['webhook-id'], message }
  }
  const whenRecorded = async (alert: { readonly id: string }, expected: readonly object[]) => {
    await expect
      .poll(() => listNotices(database, alert), { timeout: 20_000 })
      .toMatchObject(expected)
  }
  const whenPosted = async (alert: { readonly id: string }, expected: readonly object[]) => {
    const posted = async () =>
      (await listNotices(database, alert)).filter(({ channel }) => channel === 'webhook')
    await expect.poll(posted, { timeout: 20_000 }).toMatchObject(expected)
  }

  it('of which one is killed between sending and noting it: sent once more, as a repetition, and never again', async () => {
    const killed = await deployment.start({ ROLE: 'worker' })
    receiver.script('hold')
    const alert = await raise(database, {}, ['webhook'])
    await receiver.received(1)
    await deployment.stop(killed, 'SIGKILL')
    await deployment.start({ ROLE: 'api' })
    await deployment.start({ ROLE: 'worker' })
    const later = await raise(database, {}, ['webhook'])
    await receiver.received(2)
    await whenPosted(later, [{ isSent: true }])
    await whenPosted(alert, [{ isSent: false, tries: 1 }])
    await passTime(database, CLAIM_LIFE_MS)
    await receiver.received(3)
    await whenPosted(alert, [{ isSent: true, tries: 2 }])
    expect(read(0)).toMatchObject({ message: { isRepetition: false } })
    expect(read(2)).toEqual({
      id: read(0).id,
      message: { ...(read(0).message as object), isRepetition: true },
    })
    await passTime(database, 10 * CLAIM_LIFE_MS)
    await close(database, alert)
    await receiver.received(4)
    expect(read(3)).toMatchObject({ message: { type: 'alert.closed', isRepetition: false } })
    await whenPosted(alert, [{ isSent: true }, { isSent: true, tries: 1 }])
    expect(receiver.requests).toHaveLength(4)
  })

  it('are as many as one likes: each message is sent once, and logged once', async () => {
    const apps = [
      await deployment.start({ ROLE: 'api' }),
      await deployment.start({ ROLE: 'worker' }),
    ]
    const alerts = await Promise.all(
      Array.from({ length: 12 }, () => raise(database, {}, ['log', 'webhook'])),
    )
    for (const alert of alerts) {
      await whenRecorded(alert, [
        { isSent: true, tries: 1 },
        { isSent: true, tries: 1 },
      ])
      const lines = apps.flatMap((app) =>
        app
          .output()
          .split('\n')
          .filter((line) => line.includes('"alert.opened"') && line.includes(alert.id)),
      )
      expect(lines).toHaveLength(1)
      expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'alert.opened', level: 50 })
    }
    const ids = receiver.requests.map(({ headers }) => headers['webhook-id'])
    expect(ids).toHaveLength(12)
    expect(new Set(ids).size).toBe(12)
  })

  it('write them to the log, that they opened and that they closed, also where it is silent', async () => {
    const app = await deployment.start({ ROLE: 'api', LOG_LEVEL: 'silent' })
    const alert = await raise(database, {}, ['log'])
    await whenPosted(alert, [{ isSent: true }])
    await close(database, alert)
    const events = () =>
      app
        .output()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line).event)
    await expect.poll(events, { timeout: 20_000 }).toEqual(['alert.opened', 'alert.closed'])
  })

  it('makes a workspace for operators at the console', async () => {
    const { environment } = deployment
    const made = startScript('src/main.ts', environment, [
      'create-workspace',
      'Operations',
      '--tajo',
    ])
    const token = await made.find(/Token, shown once: (\S+)/)
    expect(await made.exited).toBe(0)
    const { address } = await deployment.start({ ROLE: 'api' })
    const see = async (who: string) => {
      const { viewer } = await createApiClient({ address, token: who }).request(ViewerQuery, {})
      return viewer
    }
    expect(await see(token)).toMatchObject({ workspaceName: 'Operations', isTajo: true })
    expect(await see(deployment.token)).toMatchObject({ isTajo: false })
    const refused = startScript('src/main.ts', environment, ['create-workspace', '--tajo'])
    expect(await refused.exited).toBe(1)
    expect(refused.output()).toBe('Usage: main.js, or: main.js create-workspace NAME [--tajo].\n')
  })
})
