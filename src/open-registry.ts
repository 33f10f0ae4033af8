/** Every connector of this deployment, each with what it needs of the others' rooms. */
import type { Config } from './config.ts'
import { createAddressGuard } from './connectors/address-guard.ts'
import type { OpenGate } from './connectors/call-gate.ts'
import { createBrevoDestination } from './connectors/destinations/brevo/brevo-destination.ts'
import { createHttpDestination } from './connectors/destinations/http-destination.ts'
import { createPostgresDestination } from './connectors/destinations/postgres/postgres-destination.ts'
import { createHttpClient } from './connectors/http-client.ts'
import { connectGuarded } from './connectors/postgres-connection.ts'
import { type ConnectorRegistry, createRegistry } from './connectors/registry.ts'
import { createFileSource } from './connectors/sources/file/file-source.ts'
import { createHttpSource } from './connectors/sources/http/http-source.ts'
import { createPostgresSource } from './connectors/sources/postgres/postgres-source.ts'
import { createShopifySource } from './connectors/sources/shopify/shopify-source.ts'
import type { Clock } from './runtime/clock.ts'
import type { Logger } from './runtime/logger.ts'

export interface RegistryParts {
  readonly clock: Clock
  readonly openGate: OpenGate
  readonly logger: Logger
  /** Where the API of a Shopify shop is found; not given: at its domain. */
  readonly baseUrlOfShop: ((shop: string) => string) | undefined
}

export function openRegistry(
  { fileRoot, allowedPrivateRanges }: Config,
  { clock, openGate, logger, baseUrlOfShop }: RegistryParts,
): ConnectorRegistry {
  const guard = createAddressGuard({ allowedRanges: allowedPrivateRanges })
  const client = createHttpClient({ clock, guard })
  const connect = connectGuarded(guard)
  return createRegistry(
    [
      createFileSource({ rootDirectory: fileRoot }),
      createShopifySource({
        ...{ client, clock, openGate, logger },
        ...(baseUrlOfShop && { baseUrlOf: baseUrlOfShop }),
      }),
      createHttpSource({ client, clock, openGate }),
      createPostgresSource({ clock, connect, openGate }),
    ],
    [
      createHttpDestination({ client, clock, openGate }),
      createBrevoDestination({ client, openGate }),
      createPostgresDestination({ clock, connect, openGate }),
    ],
  )
}
