/** What a connector is given to speak over, for who opens one by hand. */
import type { KeptCredentials, OpenConnection } from '../../src/connectors/connector.ts'
import type { JsonObject } from '../../src/domain/json.ts'

export function openConnection(given: Partial<OpenConnection> = {}): OpenConnection {
  return {
    connectionId: '7a6f0000-0000-7000-8000-000000000001',
    config: {},
    credentials: {},
    kept: keepInMemory(given.credentials ?? {}),
    signal: new AbortController().signal,
    ...given,
  }
}

/** As the database keeps them, for one process. */
export function keepInMemory(credentials: JsonObject): KeptCredentials {
  let kept = credentials
  return {
    find: () => Promise.resolve(kept),
    replace: (before, after) => {
      const isSame = JSON.stringify(before) === JSON.stringify(kept)
      kept = isSame ? after : kept
      return Promise.resolve(isSame)
    },
  }
}
