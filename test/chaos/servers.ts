/**
 * Private PostgreSQL and Redis, an API process and workspaces: what workers run on that are killed.
 *
 * Invariants: servers are our own, so that scenarios may kill them; an acknowledged commit survives a killed PostgreSQL,
 * as in production.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { withCommandContext } from '../../src/app.ts'
import { type ApiClient, createApiClient } from '../../src/client/api-client.ts'
import { createWorkspace } from '../../src/commands/create-workspace.ts'
import { readConfig } from '../../src/config.ts'
import { type StartedProcess, startAppProcess } from '../support/processes.ts'
import { findBuilt } from '../support/programs.ts'
import { startPostgres, startRedis, type TestService } from '../support/services.ts'

export const SETTINGS = ['fast', 'default'] as const
export type Settings = (typeof SETTINGS)[number]

/** `default` sets nothing: what production runs with. */
const ENVIRONMENTS: Readonly<Record<Settings, Readonly<Record<string, string>>>> = {
  default: {},
  fast: {
    POLL_MS: '200',
    HEARTBEAT_MS: '200',
    HEARTBEAT_TRUST_MS: '1500',
    SILENT_AFTER_MS: '2000',
    FIRST_BACKOFF_MS: '200',
    QUARANTINE_AFTER_RUNS: '2',
  },
}

export interface Servers {
  /** Of a worker. */
  readonly environment: Readonly<Record<string, string>>
  readonly postgres: TestService
  readonly redis: TestService
  readonly sql: postgres.Sql
  /** Where the file source reads. */
  readonly directory: string
  /** Starts an API process, once, and returns a client a workspace. */
  openApi(environment?: Readonly<Record<string, string>>): Promise<readonly ApiClient[]>
  close(): Promise<void>
}

export async function openServers(settings: Settings, workspaces: number): Promise<Servers> {
  const directory = await mkdtemp(join(tmpdir(), 'tajo-chaos-'))
  const server = await startPostgres({ isOwn: true })
  const redis = await startRedis({ isOwn: true })
  // As in the product: a server that goes away while types are asked for would end this process.
  const sql = postgres(server.url, { max: 4, fetch_types: false, onnotice: () => undefined })
  await sql.unsafe('alter database postgres set synchronous_commit = on')
  const environment = {
    DATABASE_URL: server.url,
    REDIS_URL: redis.url,
    CREDENTIALS_KEY: Buffer.alloc(32, 3).toString('base64'),
    FILE_ROOT: directory,
    LOG_LEVEL: 'warn',
    DATABASE_CONNECTIONS: '6',
    PORT: '0',
    ...ENVIRONMENTS[settings],
  }
  const tokens = await makeWorkspaces(environment, directory, workspaces)
  let api: StartedProcess | null = null
  const closeApi = async () => await api?.kill('SIGKILL')
  return {
    environment: { ...environment, ROLE: 'worker' },
    postgres: server,
    redis,
    sql,
    directory,
    openApi: async (given = {}) => {
      const own = { ROLE: 'api', LOG_LEVEL: 'error' }
      const started = await startAppProcess(
        { ...environment, ...given, ...own },
        findBuilt('test/chaos/entry.ts'),
      )
      api = started
      return tokens.map((token) => createApiClient({ address: started.address, token }))
    },
    close: async () => {
      await closeApi()
      await sql.end({ timeout: 5 })
      await Promise.all([server.stop(), redis.stop()])
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function makeWorkspaces(
  environment: Readonly<Record<string, string>>,
  directory: string,
  count: number,
): Promise<readonly string[]> {
  const config = readConfig({ ...environment, DATA_DIR: join(directory, 'own') })
  return await withCommandContext(config, async (context) => {
    const tokens: string[] = []
    for (let n = 0; n < count; n += 1) {
      tokens.push((await createWorkspace(context, { name: `Chaos ${n}` })).token)
    }
    return tokens
  })
}
