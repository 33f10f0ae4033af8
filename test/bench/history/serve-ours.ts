/** The API as the app serves it, in a process without anything else. */

import type { CommandContext } from '../../../src/commands/context.ts'
import { OutsideCalls } from '../../../src/commands/outside-calls.ts'
import { createHttpDestination } from '../../../src/connectors/destinations/http-destination.ts'
import { createRegistry } from '../../../src/connectors/registry.ts'
import { createFileSource } from '../../../src/connectors/sources/file/file-source.ts'
import { createMemoryBus } from '../../../src/coordination/memory/bus.ts'
import { createMemoryRequestLimit } from '../../../src/coordination/memory/request-limit.ts'
import { LEDGER_RETENTION_MS } from '../../../src/domain/delivery.ts'
import { scrub } from '../../../src/domain/scrub.ts'
import { DEFAULT_LIMITS } from '../../../src/http/limits.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createLogger } from '../../../src/runtime/logger.ts'
import { createIdSource, systemRandom } from '../../../src/runtime/random.ts'
import { createSealer, SEALING_KEY_BYTES } from '../../../src/runtime/seal.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { createLocalClient } from '../../support/local-client.ts'

/** Of each of the servers that are compared. */
export const CONNECTIONS = 8

export const SETTINGS = {
  progressStaleAfterMs: 120_000,
  keepAliveMs: 12_000,
  retentionMs: LEDGER_RETENTION_MS,
}

export async function openParts(databaseUrl: string): Promise<CommandContext> {
  const logger = createLogger('warn', scrub)
  return {
    database: await openDatabase({
      at: { url: databaseUrl },
      maxConnections: CONNECTIONS,
      applicationName: 'tajo-sync bench',
    }),
    bus: createMemoryBus(logger),
    clock: systemClock,
    logger,
    ids: createIdSource(systemClock, systemRandom),
    random: systemRandom,
    registry: createRegistry(
      [createFileSource({ rootDirectory: '/nonexistent' })],
      [createHttpDestination({ client: createLocalClient() })],
    ),
    sealer: createSealer(systemRandom.bytes(SEALING_KEY_BYTES), systemRandom),
    outsideCalls: new OutsideCalls(systemClock),
  }
}

export async function serveOurs(
  databaseUrl: string,
  { isCompiled }: { readonly isCompiled: boolean },
): Promise<string> {
  const server = createHttpServer({
    host: '127.0.0.1',
    port: 0,
    servesApi: true,
    noticeMs: 0,
    hasGraphiql: false,
    interpretedFirst: isCompiled ? 2 : Number.POSITIVE_INFINITY,
    commands: await openParts(databaseUrl),
    settings: SETTINGS,
    limits: { ...DEFAULT_LIMITS, hasIntrospection: false, allowedOrigins: [] },
    requestLimit: createMemoryRequestLimit({ maxRequests: 0, windowS: 10 }),
    health: () => Promise.resolve({}),
  })
  await server.start()
  return server.address()
}
