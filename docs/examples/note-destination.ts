/**
 * The `note` destination: each record is one POST to one address, whose API honours an Idempotency-Key.
 *
 * Invariant: what the answer does not say of the record is unknown, never guessed.
 */

import { FREE_GATE, type OpenGate } from '../../src/connectors/call-gate.ts'
import { ConnectorError } from '../../src/connectors/connector.ts'
import type {
  DeliveryCall,
  DestinationConnector,
  DestinationWriter,
} from '../../src/connectors/destination.ts'
import { readRecordAnswer } from '../../src/connectors/destinations/http-results.ts'
import { classifyResult, classifyStatus } from '../../src/connectors/http-answer.ts'
import type { HttpClient, HttpRequest } from '../../src/connectors/http-client.ts'
import { noSettings, settingsObject, textSetting } from '../../src/connectors/settings.ts'
import type { Outcome } from '../../src/domain/delivery.ts'

const DEADLINE_MS = 30_000
const MAX_BYTES = 1024 * 1024

const connectionConfig = settingsObject({
  url: textSetting('url', 2_000).refine((url) => URL.canParse(url), {
    error: 'url is no address.',
  }),
})

export interface NoteDestinationParts {
  readonly client: HttpClient
  readonly openGate?: OpenGate
}

export function createNoteDestination({
  client,
  openGate = () => FREE_GATE,
}: NoteDestinationParts): DestinationConnector {
  const ask = async (request: Partial<HttpRequest> & Pick<HttpRequest, 'url' | 'signal'>) => {
    const result = await client.send({
      ...{ method: 'GET', headers: {}, body: '', deadlineMs: DEADLINE_MS },
      beforeSend: () => undefined,
      ...request,
    })
    return result.kind === 'response'
      ? { result, verdict: classifyStatus(result, { endpoint: 'the note', isIdempotent: true }) }
      : { result: null, verdict: classifyResult(result) }
  }
  return {
    type: 'note',
    connectionConfig,
    credentials: noSettings,
    objectOptions: noSettings,
    requestDeadlineMs: () => DEADLINE_MS,
    describeObjectProblem: (object) => (object === 'note' ? null : 'The object must be "note".'),
    listFields: async () => null,
    testConnection: async ({ config, signal }) => {
      // Any answer will do, but one that refuses access.
      const { result, verdict } = await ask({
        url: new URL(connectionConfig.parse(config).url),
        signal,
      })
      if (
        'failure' in verdict &&
        (result === null || verdict.failure === 'connection_unauthorized')
      ) {
        throw new ConnectorError(verdict.failure, verdict.reason)
      }
    },
    open: ({ config, connectionId }) => {
      const url = new URL(connectionConfig.parse(config).url)
      const gate = openGate({ connectionId, host: url.host })
      const write = async (call: DeliveryCall): Promise<Outcome> => {
        const [record] = call.records
        const headers = {
          'content-type': 'application/json',
          'idempotency-key': `"${record?.deliveryKey}"`,
        }
        const { signal, beforeSend } = call
        const posted = { method: 'POST', url, headers, body: record?.json ?? '' } as const
        const { result, verdict } = await ask({ ...posted, signal, beforeSend })
        return result !== null && verdict.kind === 'ok'
          ? readRecordAnswer(result)
          : (verdict as Outcome)
      }
      return Promise.resolve<DestinationWriter>({
        ...{ deliveryClass: 'idempotent', settlingMs: 0, requestDeadlineMs: DEADLINE_MS },
        ...{ maxRecordsPerCall: 1, concurrency: 4, lookUp: null, imports: null },
        identityOf: () => null,
        describeUnsendable: ({ json }) =>
          Buffer.byteLength(json) > MAX_BYTES ? 'The record is larger than 1 MiB.' : null,
        takeTurn: () => gate.take([]),
        deliver: async (call) => ({ kind: 'answered', outcomes: [await write(call)] }),
        close: async () => undefined,
      })
    },
  }
}
