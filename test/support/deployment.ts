/**
 * Several processes of the app on one PostgreSQL and one Redis, with a workspace, as a customer has them.
 *
 * The tests and the scripts that restart and kill processes stand on it. Knows nothing of the test runner.
 */
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ApiClient, createApiClient } from '../../src/client/api-client.ts'
import {
  CreateConnectionMutation,
  CreateSyncMutation,
  PublishSyncMutation,
  RunProgressSubscription,
  RunSyncMutation,
} from '../../src/client/documents.ts'
import type { CreateSyncInput } from '../../src/client/gql/graphql.ts'
import { type AppProcess, createWorkspaceToken, startAppProcess } from './processes.ts'

export interface Deployment {
  readonly environment: Readonly<Record<string, string>>
  readonly token: string
  /** By pid; a process that has ended is taken out by {@link Deployment.stop}. */
  readonly apps: ReadonlyMap<number, AppProcess>
  start(settings?: Readonly<Record<string, string>>): Promise<AppProcess>
  /** Sends the signal, and resolves with the exit code. */
  stop(app: AppProcess, signal: NodeJS.Signals): Promise<number | null>
  /** A client of that process, or of any that serves. */
  client(app?: AppProcess): ApiClient
  /** Appends so many new customers to a file; returns their ids. */
  addCustomers(stream: string, count: number): Promise<readonly string[]>
  /** Ends every process and removes the files. */
  close(): Promise<void>
}

export async function createDeployment(options: {
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly settings?: Readonly<Record<string, string>>
}): Promise<Deployment> {
  const directory = await mkdtemp(join(tmpdir(), 'tajo-deployment-'))
  const environment = {
    DATABASE_URL: options.databaseUrl,
    REDIS_URL: options.redisUrl,
    CREDENTIALS_KEY: Buffer.alloc(32, 3).toString('base64'),
    FILE_ROOT: directory,
    LOG_LEVEL: 'warn',
    DATABASE_CONNECTIONS: '5',
    ...options.settings,
  }
  const token = await createWorkspaceToken(environment)
  const apps = new Map<number, AppProcess>()
  const counts = new Map<string, number>()
  return {
    environment,
    token,
    apps,
    start: async (settings = {}) => {
      const app = await startAppProcess({ ...environment, ...settings })
      apps.set(app.pid, app)
      return app
    },
    stop: async (app, signal) => {
      apps.delete(app.pid)
      return await app.kill(signal)
    },
    client: (app) => {
      const [any] = apps.values()
      return createApiClient({ address: (app ?? any)?.address ?? '', token })
    },
    addCustomers: async (stream, count) => {
      const before = counts.get(stream) ?? 0
      counts.set(stream, before + count)
      const ids = Array.from({ length: count }, (_, n) => `${stream}-${before + n}`)
      const lines = ids.map((id) => `${id},${id}@example.com\n`).join('')
      await appendFile(join(directory, stream), before === 0 ? `id,email\n${lines}` : lines)
      return ids
    },
    close: async () => {
      for (const app of apps.values()) {
        await app.kill('SIGKILL')
      }
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A published sync of a file to the destination at `url`. Returns its id. */
export async function makeFileSync(
  client: ApiClient,
  options: {
    readonly stream: string
    readonly url: string
    readonly objectOptions: object
    readonly given?: Partial<CreateSyncInput>
  },
): Promise<string> {
  const { stream, url, objectOptions, given } = options
  const connect = async (type: string, config: Record<string, string>) => {
    const input = { name: `${type} ${stream}`, type, config }
    const { createConnection: made } = await client.request(CreateConnectionMutation, { input })
    if (made.__typename !== 'CreateConnectionPayload') {
      throw new Error(made.message)
    }
    return made.connection.id
  }
  const { createSync } = await client.request(CreateSyncMutation, {
    input: {
      name: stream,
      sourceConnectionId: await connect('file', {}),
      destinationConnectionId: await connect('http', { baseUrl: url }),
      stream,
      streamOptions: { identityField: 'id' },
      object: '/contacts',
      objectOptions,
      mapping: { id: { $path: 'id' }, email: { $path: 'email' } },
      ...given,
    },
  })
  if (createSync.__typename !== 'ChangedSync') {
    throw new Error(createSync.message)
  }
  await client.request(PublishSyncMutation, { syncId: createSync.sync.id })
  return createSync.sync.id
}

/** Starts a run of the sync. Returns its id. */
export async function runNow(client: ApiClient, syncId: string): Promise<string> {
  const { runSync } = await client.request(RunSyncMutation, { syncId })
  if (runSync.__typename !== 'StartedRun') {
    throw new Error(`The run did not start: ${runSync.__typename}.`)
  }
  return runSync.run.id
}

/** Follows the run as a dashboard does, to its terminal event. Null: the stream completed without one. */
export async function followToEnd(client: ApiClient, runId: string) {
  for await (const { runProgress } of client.subscribe(RunProgressSubscription, { runId })) {
    if (runProgress.__typename === 'RunProgress' && runProgress.isTerminal) {
      return runProgress
    }
  }
  return null
}
