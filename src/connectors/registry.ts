/** The connectors this deployment has, by their type. */
import type { DestinationConnector } from './destination.ts'
import type { SourceConnector } from './source.ts'

export interface ConnectorRegistry {
  readonly sources: ReadonlyMap<string, SourceConnector>
  readonly destinations: ReadonlyMap<string, DestinationConnector>
}

export function createRegistry(
  sources: readonly SourceConnector[],
  destinations: readonly DestinationConnector[],
): ConnectorRegistry {
  return {
    sources: new Map(sources.map((source) => [source.type, source])),
    destinations: new Map(destinations.map((destination) => [destination.type, destination])),
  }
}
