/**
 * The API in this process: a real database, the real server on a free port, the real connectors below a
 * temporary directory, the bus of a single process. No engine: runs stand as the test put them.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, inject } from 'vitest'
import { type ApiClient, createApiClient } from '../../src/client/api-client.ts'
import type { CommandContext } from '../../src/commands/context.ts'
import { OutsideCalls } from '../../src/commands/outside-calls.ts'
import type { DestinationConnector } from '../../src/connectors/destination.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createRegistry } from '../../src/connectors/registry.ts'
import type { SourceConnector } from '../../src/connectors/source.ts'
import { createFileSource } from '../../src/connectors/sources/file/file-source.ts'
import type { Bus } from '../../src/coordination/bus.ts'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import { createMemoryRequestLimit } from '../../src/coordination/memory/request-limit.ts'
import { LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import type { ApiSettings } from '../../src/graphql/context.ts'
import type { HealthReport } from '../../src/http/health.ts'
import { type ApiLimits, DEFAULT_LIMITS } from '../../src/http/limits.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createIdSource, systemRandom } from '../../src/runtime/random.ts'
import { createSealer, SEALING_KEY_BYTES, type Sealer } from '../../src/runtime/seal.ts'
import type { Database } from '../../src/store/database.ts'
import { DATABASE_KINDS, useDatabase } from './databases.ts'
import { makeWorkspace, type TestWorkspace } from './factories.ts'
import { createLocalClient } from './local-client.ts'
import { createRecordingLogger, type RecordingLogger } from './recording-logger.ts'
import { type WatchedBus, watchBus } from './watched-bus.ts'

export interface TestApi {
  readonly address: string
  readonly database: Database
  readonly bus: WatchedBus
  readonly logger: RecordingLogger
  readonly parts: CommandContext
  /** A workspace of its own and a client that its token opens. */
  makeWorkspace(): Promise<TestWorkspace & { readonly client: ApiClient }>
  /** `workspaceId`: of another workspace, for a token of Tajo's. */
  client(token: string | null, workspaceId?: string): ApiClient
  /** Writes a file below the root of the file source. */
  writeFile(path: string, content: string): Promise<void>
  setHealth(report: HealthReport): void
  stop(): Promise<void>
}

export interface TestApiOptions {
  readonly settings?: Partial<ApiSettings>
  readonly hasGraphiql?: boolean
  readonly limits?: Partial<ApiLimits>
  /** Requests of a token within 10 s. Default: as many as it likes. */
  readonly maxRequests?: number
  /** Default: one of this process alone. */
  readonly bus?: Bus
  /** Executions of a query before it is compiled. Default: none, or all where the suite is exhaustive. */
  readonly interpretedFirst?: number
  /** Beside the real ones. */
  readonly sources?: readonly SourceConnector[]
  readonly destinations?: readonly DestinationConnector[]
  /** Default: one with a key of its own. */
  readonly sealer?: Sealer
}

/** Long enough that no test sees one it does not ask for. */
const NO_KEEP_ALIVE_MS = 60_000

export async function openApi(database: Database, options: TestApiOptions = {}): Promise<TestApi> {
  const rootDirectory = await mkdtemp(join(tmpdir(), 'tajo-test-files-'))
  const logger = createRecordingLogger()
  const bus = watchBus(options.bus ?? createMemoryBus(logger))
  const httpClient = createLocalClient()
  const parts: CommandContext = {
    database,
    bus,
    clock: systemClock,
    logger,
    ids: createIdSource(systemClock, systemRandom),
    random: systemRandom,
    registry: createRegistry(
      [createFileSource({ rootDirectory }), ...(options.sources ?? [])],
      [createHttpDestination({ client: httpClient }), ...(options.destinations ?? [])],
    ),
    sealer: options.sealer ?? createSealer(systemRandom.bytes(SEALING_KEY_BYTES), systemRandom),
    outsideCalls: new OutsideCalls(systemClock),
  }
  let health: HealthReport = { database: { isHealthy: true, detail: null } }
  const server = createHttpServer({
    host: '127.0.0.1',
    port: 0,
    servesApi: true,
    noticeMs: 0,
    hasGraphiql: options.hasGraphiql ?? false,
    limits: { ...DEFAULT_LIMITS, hasIntrospection: true, allowedOrigins: [], ...options.limits },
    requestLimit: createMemoryRequestLimit({ maxRequests: options.maxRequests ?? 0, windowS: 10 }),
    // Both ways must answer alike: `npm test` compiles every query, `npm run test:exhaustive` none.
    interpretedFirst:
      options.interpretedFirst ?? (inject('isExhaustive') ? Number.POSITIVE_INFINITY : 0),
    commands: parts,
    settings: {
      progressStaleAfterMs: 120_000,
      keepAliveMs: NO_KEEP_ALIVE_MS,
      retentionMs: LEDGER_RETENTION_MS,
      ...options.settings,
    },
    health: () => Promise.resolve(health),
  })
  await server.start()
  const address = server.address()
  const client = (token: string | null, workspaceId?: string) =>
    createApiClient({ address, token, ...(workspaceId === undefined ? {} : { workspaceId }) })
  return {
    address,
    database,
    bus,
    logger,
    parts,
    client,
    makeWorkspace: async () => {
      const made = await makeWorkspace(database)
      return { ...made, client: client(made.token) }
    },
    writeFile: async (path, content) => {
      const file = join(rootDirectory, path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
    },
    setHealth: (report) => {
      health = report
    },
    stop: async () => {
      await server.stop()
      httpClient.close()
      await rm(rootDirectory, { recursive: true, force: true })
    },
  }
}

/** Registers one database and one API for the enclosing suite; tests keep apart by workspace. */
export function useApi(options: TestApiOptions = {}): () => TestApi {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')
  let api: TestApi | null = null
  beforeAll(async () => {
    api = await openApi(database(), options)
  })
  afterAll(async () => {
    await api?.stop()
    api = null
  })
  return () => {
    if (api === null) {
      throw new Error('The API is open only while the tests of its suite run.')
    }
    return api
  }
}
