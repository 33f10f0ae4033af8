/** What every command works with, and who it works for. */
import type { ConnectorRegistry } from '../connectors/registry.ts'
import type { Bus } from '../coordination/bus.ts'
import type { Role } from '../domain/role.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { IdSource, Random } from '../runtime/random.ts'
import type { Sealer } from '../runtime/seal.ts'
import type { Database } from '../store/database.ts'
import type { OutsideCalls } from './outside-calls.ts'

export interface CommandContext {
  readonly database: Database
  readonly bus: Bus
  readonly clock: Clock
  readonly logger: Logger
  readonly ids: IdSource
  readonly random: Random
  readonly registry: ConnectorRegistry
  readonly sealer: Sealer
  readonly outsideCalls: OutsideCalls
}

/** The person or script that acts: the token it came with, and the workspace that token opens. */
export interface Actor {
  readonly workspaceId: string
  readonly tokenId: string
  readonly tokenName: string
  /** What it may do there. */
  readonly role: Role
  /** It is of Tajo's operators: it sees the alerts that are meant for them, of all workspaces, and no more. */
  readonly isTajo: boolean
}
