/**
 * The `http` source: records of a paged HTTP API, read by GET.
 *
 * Invariant: it speaks over the same connection as the `http` destination. How it reads stands in rest-reader.ts, how
 * it asks in rest-api.ts.
 */
import { type Clock, systemClock } from '../../../runtime/clock.ts'
import { FREE_GATE, type OpenGate } from '../../call-gate.ts'
import { createHttpCalls, testHttpConnection } from '../../http-calls.ts'
import type { HttpClient } from '../../http-client.ts'
import {
  describePathProblem,
  joinPath,
  makeHeaders,
  readBaseUrl,
  storedHttpConfig,
  storedHttpCredentials,
} from '../../http-connection.ts'
import { withoutUndefined } from '../../settings.ts'
import type { SourceConnector } from '../../source.ts'
import { RestApi } from './rest-api.ts'
import { RestReader } from './rest-reader.ts'
import { nameStream, restStreamOptions } from './stream-options.ts'

export interface HttpSourceOptions {
  readonly client: HttpClient
  readonly clock?: Clock
  /** Not given: nothing holds a request up. */
  readonly openGate?: OpenGate
}

export function createHttpSource({
  client,
  clock = systemClock,
  openGate = () => FREE_GATE,
}: HttpSourceOptions): SourceConnector {
  return {
    type: 'http',
    connectionConfig: storedHttpConfig,
    credentials: storedHttpCredentials,
    streamOptions: restStreamOptions.transform(withoutUndefined),
    testConnection: (request) =>
      testHttpConnection(createHttpCalls(client, openGate, request), request),
    describeStreamProblem: (stream) => Promise.resolve(describePathProblem('stream', stream)),
    listFields: () => Promise.resolve(null),
    open: ({ connectionId, config, credentials, stream, options: given }) => {
      const options = restStreamOptions.parse(given)
      const url = joinPath(readBaseUrl(config), 'stream', stream)
      const calls = createHttpCalls(client, openGate, { connectionId, config })
      const api = new RestApi({ calls, headers: makeHeaders(credentials), url, options, clock })
      return Promise.resolve(new RestReader({ api, options, stream: nameStream(url, options) }))
    },
  }
}
