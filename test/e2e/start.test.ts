/** What the process says when it starts, and when it cannot: one clear line, exit code 1, nothing half done. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createApiClient } from '../../src/client/api-client.ts'
import { ViewerQuery } from '../../src/client/documents.ts'
import { copyEmbedded } from '../support/databases.ts'
import { type AppProcess, startAppProcess, startScript } from '../support/processes.ts'
import { findBuilt } from '../support/programs.ts'

const MAIN = findBuilt('src/main.ts')

/** A process takes some seconds to start where many run at once. */
const TIMEOUT_MS = 90_000

describe('the process on the embedded default', { timeout: TIMEOUT_MS }, () => {
  let directory: string
  const apps: AppProcess[] = []

  const start = async (given: Readonly<Record<string, string>> = {}, main = MAIN) => {
    const app = await startAppProcess({ DATA_DIR: directory, LOG_LEVEL: 'silent', ...given }, main)
    apps.push(app)
    return app
  }
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tajo-start-'))
  })
  afterEach(async () => {
    for (const app of apps.splice(0)) {
      await app.kill('SIGKILL')
    }
    await rm(directory, { recursive: true, force: true })
  })

  it('makes a workspace and a token that is shown once and kept for its owner alone', async () => {
    // As `npm start` does, in a directory in which nothing is.
    const app = await start({}, 'src/main.ts')
    const shown = await app.find(/token: (tajo_\S+)/)
    const path = join(directory, 'token')
    expect((await readFile(path, 'utf8')).trim()).toBe(shown)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const client = createApiClient({ address: app.address, token: shown })
    const { viewer } = await client.request(ViewerQuery, {})
    expect(viewer.workspaceName).toBe('My workspace')
    expect(await app.kill('SIGTERM')).toBe(0)
    const again = await start()
    expect(again.output()).not.toContain('tajo_')
    const health = await fetch(`${again.address}/health`)
    expect(health.status).toBe(200)
    expect(await health.json()).toMatchObject({ status: 'healthy' })
  })

  it('refuses a data directory that another process has, and leaves that one alone', async () => {
    await copyEmbedded(directory)
    const app = await start()
    const second = startScript(MAIN, { DATA_DIR: directory, PORT: '0' })
    expect(await second.exited).toBe(1)
    expect(second.output()).toBe(
      `The data directory ${directory} is in use by process ${app.pid}. Stop it, or set DATA_DIR to another directory.\n`,
    )
    expect((await fetch(`${app.address}/health`)).status).toBe(200)
  })

  it('takes a data directory over whose process was killed, and clears up after it', async () => {
    await copyEmbedded(directory)
    const temporary = join(directory, 'temporary')
    await mkdir(temporary)
    const listSockets = async () =>
      (await readdir(temporary)).filter((name) => name.startsWith('tajo-'))
    const app = await start({ TMPDIR: temporary })
    const [left, ...more] = await listSockets()
    expect([left, more]).toEqual([expect.any(String), []])
    await app.kill('SIGKILL')
    expect(await listSockets()).toEqual([left])
    const again = await start({ TMPDIR: temporary })
    expect((await fetch(`${again.address}/health`)).status).toBe(200)
    const own = await listSockets()
    expect(own).toHaveLength(1)
    expect(own).not.toEqual([left])
    expect(await again.kill('SIGTERM')).toBe(0)
    expect(await listSockets()).toEqual([])
  })

  it('refuses a port that is taken', async () => {
    const other = await mkdtemp(join(tmpdir(), 'tajo-start-'))
    await Promise.all([directory, other].map(copyEmbedded))
    const app = await start()
    const second = startScript(MAIN, { DATA_DIR: other, PORT: new URL(app.address).port })
    expect(await second.exited).toBe(1)
    expect(second.output().trim().split('\n').at(-1)).toBe(
      'PORT: the port is in use by another process.',
    )
    await rm(other, { recursive: true, force: true })
  })

  it('names every bad value of its environment, a line each, before it touches anything', async () => {
    const started = startScript(MAIN, {
      DATA_DIR: directory,
      PORT: 'eighty',
      ROLE: 'both',
      HEARTBEAT_MS: '-1',
      PROGRESS_STALE_AFTER_MS: 'soon',
    })
    expect(await started.exited).toBe(1)
    const lines = started.output().trim().split('\n')
    expect(lines).toHaveLength(4)
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^PORT: .+\.$/),
        expect.stringMatching(/^ROLE: .+\.$/),
        expect.stringMatching(/^HEARTBEAT_MS: .+\.$/),
        expect.stringMatching(/^PROGRESS_STALE_AFTER_MS: .+\.$/),
      ]),
    )
    expect(await readdir(directory)).toEqual([])
  })

  it.each([
    [{ DATABASE_URL: 'postgres://localhost/x' }, /^DATABASE_URL and REDIS_URL go together/m],
    [{ LEASE_LIFE_MS: '2000', LEASE_RENEWAL_MS: '2000' }, /^LEASE_RENEWAL_MS must be less than/m],
    [{ HEARTBEAT_TRUST_MS: '20000' }, /^HEARTBEAT_TRUST_MS must be less than SILENT_AFTER_MS/m],
    [{ QUEUE_STUCK_AFTER_MS: '5000' }, /^POLL_MS must be less than QUEUE_STUCK_AFTER_MS/m],
    [
      { DEAD_MAN_WINDOW_MS: '3600000', QUEUE_STUCK_AFTER_MS: '3600000' },
      /^QUEUE_STUCK_AFTER_MS must be less than DEAD_MAN_WINDOW_MS/m,
    ],
    [{ DRAIN_NOTICE_MS: '15001' }, /^DRAIN_NOTICE_MS must not be more than DRAIN_DEADLINE_MS/m],
    [{ DRAIN_DEADLINE_MS: '25000' }, /^DRAIN_DEADLINE_MS must be less than PROCESS_DEADLINE_MS/m],
    [{ ALERT_WEBHOOK_URL: 'https://example.com/' }, /^ALERT_WEBHOOK_URL and .+ go together/m],
    [{ ROLE: 'api' }, /^ROLE must be all with the embedded default/m],
  ])('refuses values that contradict each other: %o', async (given, problem) => {
    const started = startScript(MAIN, { DATA_DIR: directory, ...given } as Record<string, string>)
    expect(await started.exited).toBe(1)
    expect(started.output()).toMatch(problem)
  })
})
