/**
 * The composition root: builds every part from the configuration, starts them in order, stops them in
 * reverse.
 *
 * Invariants: what was opened is closed, also when a later part fails to start, or to stop. The server is
 * the first service to start and the last to stop (but for the row that tells of its key): nothing is claimed on a port that is taken, and a
 * process that drains still answers. It says at once that it is not ready, so that whoever comes back
 * goes elsewhere.
 */
import { hostname } from 'node:os'
import { createOpenGate } from './call-gates.ts'
import type { CommandContext } from './commands/context.ts'
import { ensureFirstToken } from './commands/ensure-first-token.ts'
import { OutsideCalls } from './commands/outside-calls.ts'
import type { Config } from './config.ts'
import type { OpenGate } from './connectors/call-gate.ts'
import type { Bus } from './coordination/bus.ts'
import type { Leases } from './coordination/lease.ts'
import type { Limiter } from './coordination/limiter.ts'
import { createMemoryBus } from './coordination/memory/bus.ts'
import { createMemoryLeases } from './coordination/memory/leases.ts'
import { createMemoryLimiter } from './coordination/memory/limiter.ts'
import { createMemoryRequestLimit } from './coordination/memory/request-limit.ts'
import { connectRedis } from './coordination/redis/redis.ts'
import type { RequestLimit, RequestLimitSettings } from './coordination/request-limit.ts'
import { scrub } from './domain/scrub.ts'
import { Engine } from './engine/engine.ts'
import { type FaultHook, noFaults } from './engine/fault-points.ts'
import { Heartbeat } from './engine/heartbeat.ts'
import { KEEP_ALIVE_MS } from './graphql/context.ts'
import { createHealth } from './health.ts'
import { createHttpServer } from './http/server.ts'
import { hasFirstToken, keepFirstToken, keepSealingKey, makeDirectories } from './local-files.ts'
import { openRegistry } from './open-registry.ts'
import { type Clock, systemClock } from './runtime/clock.ts'
import { sha256 } from './runtime/hash.ts'
import { createLogger, type Logger } from './runtime/logger.ts'
import { createIdSource, systemRandom } from './runtime/random.ts'
import { createSealer } from './runtime/seal.ts'
import { type Service, stopAll } from './runtime/service.ts'
import type { BreakerSettings } from './store/breaker.ts'
import { type Database, openDatabase } from './store/database.ts'
import { AlertSender } from './watch/alert-sender.ts'
import { openChannels } from './watch/channels/open-channels.ts'
import { ClockWatch } from './watch/clock-watch.ts'
import { DeadMan } from './watch/dead-man.ts'
import { QueueWatch } from './watch/queue-watch.ts'
import { Sweep } from './watch/sweep.ts'

export interface App {
  /** Where the API, or only /health for a process that works, is served. */
  readonly address: string
  /** The token of an embedded installation whose token file was not there; else null. */
  readonly firstToken: string | null
  /** Drains and stops. Resolves when nothing of it runs any more. */
  stop(): Promise<void>
}

/** What a caller may put in the place of the defaults. */
export interface AppParts {
  readonly clock?: Clock
  readonly logger?: Logger
  readonly faults?: FaultHook
  /** Where the API of a Shopify shop is found; by default at its domain. */
  readonly baseUrlOfShop?: (shop: string) => string
  /** What holds calls of connectors up; by default their rates and circuits. */
  readonly openGate?: OpenGate
}

interface Coordination {
  readonly leases: Leases
  readonly bus: Bus
  readonly limiter: Limiter
  limitRequests(settings: RequestLimitSettings): RequestLimit
  isReachable(): Promise<boolean>
  close(): Promise<void>
}

/** Within which the requests of a token are counted: so long at most it is refused. */
const REQUEST_WINDOW_S = 10

/** Starts everything. Throws when a part does not start; then nothing of it is left running. */
export async function startApp(config: Config, parts: AppParts = {}): Promise<App> {
  const clock = parts.clock ?? systemClock
  const logger = parts.logger ?? createLogger(config.logLevel, scrub)
  const closing: Pick<Service, 'name' | 'stop'>[] = []
  const stop = () => stopAll(closing.splice(0), logger)
  try {
    // Alerts are always in the log: where it is silent, nobody might hear them at all.
    const alertLog = parts.logger ?? createLogger('info', scrub)
    const channels = await openChannels(config.alerts, { clock, logger, alertLog })
    await makeDirectories(config)
    const database = await openStore(config)
    closing.push({ name: 'database', stop: () => database.close() })
    const coordination = await openCoordination(config, { clock, logger })
    closing.push({ name: 'coordination', stop: () => coordination.close() })
    const commands = await createCommandContext(config, {
      ...{ database, coordination, clock, logger },
      baseUrlOfShop: parts.baseUrlOfShop,
      openGate: parts.openGate,
    })
    const firstToken = database.isEmbedded ? await makeFirstToken(config, commands) : null
    const workerId = commands.ids.next()
    const { sealer } = commands
    const health = createHealth({ config, database, coordination, clock, workerId, sealer })
    const server = createHttpServer({
      host: config.host,
      port: config.port,
      servesApi: config.role !== 'worker',
      noticeMs: config.role === 'worker' ? 0 : config.drainNoticeMs,
      hasGraphiql: config.graphiql,
      limits: config.apiLimits,
      requestLimit: coordination.limitRequests({
        maxRequests: config.maxRequests,
        windowS: REQUEST_WINDOW_S,
      }),
      commands,
      settings: {
        progressStaleAfterMs: config.progressStaleAfterMs,
        keepAliveMs: KEEP_ALIVE_MS,
        retentionMs: config.ledgerRetentionMs,
      },
      health,
    })
    const engine =
      config.role === 'api'
        ? null
        : createEngine(config, { commands, coordination, workerId, faults: parts.faults })
    const works = engine
      ? [engine, createSweep(config, { commands, coordination, workerId, engine })]
      : []
    const alertSender = new AlertSender({ ...commands, channels, pollMs: config.alerts.pollMs })
    const clocks = new ClockWatch({ database, clock, logger })
    const watchmen = [...createWatchmen(config, commands), alertSender]
    const services: readonly Service[] = [
      ...(config.role === 'worker' ? [] : [createPresence(config, commands)]),
      ...[server, clocks, ...works, ...watchmen],
    ]
    for (const service of services) {
      closing.push(service)
      await service.start()
    }
    return {
      address: server.address(),
      firstToken,
      stop: async () => {
        server.beginDrain()
        engine?.beginDrain()
        await stop()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Opens only what a command at the console needs, hands it over, and closes it again. */
export async function withCommandContext<T>(
  config: Config,
  work: (context: CommandContext) => Promise<T>,
): Promise<T> {
  const logger = createLogger('silent', scrub)
  await makeDirectories(config)
  const database = await openStore(config)
  const coordination = await openCoordination(config, { clock: systemClock, logger })
  try {
    const parts = { database, coordination, clock: systemClock, logger }
    return await work(await createCommandContext(config, parts))
  } finally {
    await coordination.close()
    await database.close()
  }
}

function openStore(config: Config): Promise<Database> {
  const { deployment } = config
  const applicationName = `tajo-sync ${config.role}`
  return deployment.kind === 'embedded'
    ? openDatabase({ at: { directory: config.dataDirectory }, maxConnections: 1, applicationName })
    : openDatabase({
        at: { url: deployment.databaseUrl },
        maxConnections: deployment.databaseConnections,
        applicationName,
      })
}

async function openCoordination(
  config: Config,
  parts: { readonly clock: Clock; readonly logger: Logger },
): Promise<Coordination> {
  if (config.deployment.kind === 'services') {
    return await connectRedis({ url: config.deployment.redisUrl, ...parts })
  }
  return {
    leases: createMemoryLeases(parts.clock),
    bus: createMemoryBus(parts.logger),
    limiter: createMemoryLimiter(parts.clock),
    limitRequests: createMemoryRequestLimit,
    isReachable: () => Promise.resolve(true),
    close: () => Promise.resolve(),
  }
}

async function createCommandContext(
  config: Config,
  parts: {
    readonly database: Database
    readonly coordination: Coordination
    readonly clock: Clock
    readonly logger: Logger
    readonly baseUrlOfShop?: AppParts['baseUrlOfShop']
    readonly openGate?: AppParts['openGate']
  },
): Promise<CommandContext> {
  const { database, coordination, clock, logger } = parts
  const key =
    config.deployment.kind === 'services'
      ? config.deployment.credentialsKey
      : await keepSealingKey(config.dataDirectory, systemRandom)
  const openGate =
    parts.openGate ?? createOpenGate({ limiter: coordination.limiter, clock, random: systemRandom })
  return {
    database,
    bus: coordination.bus,
    clock,
    logger,
    ids: createIdSource(clock, systemRandom),
    random: systemRandom,
    registry: openRegistry(config, { clock, openGate, logger, baseUrlOfShop: parts.baseUrlOfShop }),
    sealer: createSealer(key, systemRandom, config.oldCredentialsKeys),
    outsideCalls: new OutsideCalls(clock),
  }
}

/**
 * A new installation's workspace and token. Where the token's file is missing (the process was killed
 * before it was written, or somebody removed it) the workspace gets another one.
 */
async function makeFirstToken(config: Config, commands: CommandContext): Promise<string | null> {
  if (await hasFirstToken(config.dataDirectory)) {
    return null
  }
  const { token } = await ensureFirstToken(commands, {
    workspaceName: 'My workspace',
    tokenName: 'first token',
  })
  await keepFirstToken(config.dataDirectory, token)
  return token
}

function createEngine(
  config: Config,
  parts: {
    readonly commands: CommandContext
    readonly coordination: Coordination
    readonly workerId: string
    readonly faults: FaultHook | undefined
  },
): Engine {
  const { commands, coordination, workerId } = parts
  return new Engine({
    ...commands,
    leases: coordination.leases,
    hash: sha256,
    faults: parts.faults ?? noFaults,
    workerId,
    host: hostname(),
    pid: process.pid,
    isAlone: commands.database.isEmbedded,
    engine: {
      slots: config.slots,
      pollMs: config.pollMs,
      beatMs: config.heartbeatMs,
      silentAfterMs: config.silentAfterMs,
      drainDeadlineMs: config.drainDeadlineMs,
      schedulerMs: config.schedulerIntervalMs,
    },
    settings: {
      leaseLifeMs: config.leaseLifeMs,
      leaseRenewalMs: config.leaseRenewalMs,
      beatTrustMs: config.heartbeatTrustMs,
      retentionMs: config.ledgerRetentionMs,
      quarantineAfterRuns: config.quarantineAfterRuns,
      retry: { firstBackoffMs: config.firstBackoffMs, backoffFactor: config.backoffFactor },
      breaker: breakerOf(config),
    },
  })
}

/**
 * A row of the API's own, from before its first request to after its last: it seals what people connect, also where no
 * worker runs beside it, or does not run any more.
 */
function createPresence(config: Config, commands: CommandContext): Service {
  return new Heartbeat({
    ...commands,
    workerId: commands.ids.next(),
    host: hostname(),
    pid: process.pid,
    intervalMs: config.heartbeatMs,
    trustMs: config.heartbeatTrustMs,
  })
}

function breakerOf(config: Config): BreakerSettings {
  return { threshold: config.breakerThreshold, channels: config.alertChannels }
}

function createSweep(
  config: Config,
  parts: {
    readonly commands: CommandContext
    readonly coordination: Coordination
    readonly workerId: string
    readonly engine: Engine
  },
): Sweep {
  const { commands, coordination, workerId, engine } = parts
  return new Sweep({
    ...commands,
    breaker: breakerOf(config),
    leases: coordination.leases,
    workerId,
    intervalMs: config.sweepIntervalMs,
    stuckAfterMs: config.stuckAfterMs,
    beatMs: config.heartbeatMs,
    silentAfterMs: config.silentAfterMs,
    ownRunIds: () => engine.runIds,
  })
}

/** In every process, also one that runs no syncs: that no worker has started must not go unnoticed. */
function createWatchmen(config: Config, commands: CommandContext): readonly Service[] {
  const shared = {
    ...commands,
    intervalMs: config.watchIntervalMs,
    channels: config.alertChannels,
  }
  return [
    new DeadMan({ ...shared, windowMs: config.deadManWindowMs, minute: config.deadManMinute }),
    new QueueWatch({ ...shared, stuckAfterMs: config.queueStuckAfterMs }),
  ]
}
