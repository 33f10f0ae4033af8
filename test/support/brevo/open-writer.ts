/** Opens the `brevo` destination against its stand-in, and writes contacts through it by hand. */

import type { CallGate } from '../../../src/connectors/call-gate.ts'
import type {
  DeliveryAnswer,
  DestinationWriter,
  OutgoingRecord,
} from '../../../src/connectors/destination.ts'
import { createBrevoDestination } from '../../../src/connectors/destinations/brevo/brevo-destination.ts'
import { canonicalJson, type JsonObject } from '../../../src/domain/json.ts'
import { createLocalClient } from '../local-client.ts'
import { openConnection } from '../open-connection.ts'
import type { BrevoStandIn } from './server.ts'

const client = createLocalClient()

export function closeBrevoClient(): void {
  client.close()
}

export function createBrevo(gate?: CallGate) {
  return createBrevoDestination({ client, ...(gate ? { openGate: () => gate } : {}) })
}

/** What the connector is asked with; a deadline of a second, so that tests of lost answers are short. */
export function brevoRequest(
  standIn: BrevoStandIn,
  options: JsonObject = {},
  given: { readonly apiKey?: string; readonly plan?: string } = {},
) {
  const { apiKey = standIn.apiKey, plan } = given
  return {
    ...openConnection({
      config: { baseUrl: standIn.url, ...(plan === undefined ? {} : { plan }) },
      credentials: { apiKey },
    }),
    object: 'contacts',
    options: createBrevo().objectOptions.parse({ requestDeadlineMs: 1_000, ...options }),
  }
}

export function openBrevo(
  standIn: BrevoStandIn,
  options: JsonObject = {},
  gate?: CallGate,
): Promise<DestinationWriter> {
  return createBrevo(gate).open(brevoRequest(standIn, options))
}

export const IMPORT = { path: 'IMPORT', listIds: [2] } as const

let lastKey = 0

/** Each with a delivery key of its own. */
export function toOutgoing(...contacts: readonly JsonObject[]): readonly OutgoingRecord[] {
  return contacts.map((fields) => {
    lastKey += 1
    const deliveryKey = lastKey.toString(16).padStart(64, '0')
    return { deliveryKey, fields, json: canonicalJson(fields) }
  })
}

export function sendAll(
  writer: DestinationWriter,
  records: readonly OutgoingRecord[],
  given: { readonly signal?: AbortSignal; readonly beforeSend?: () => void } = {},
): Promise<DeliveryAnswer> {
  return writer.deliver({
    records,
    importTag: writer.imports ? 'tag' : null,
    signal: given.signal ?? new AbortController().signal,
    beforeSend: given.beforeSend ?? (() => undefined),
  })
}

/** One contact on its way; its outcome. */
export async function sendOne(writer: DestinationWriter, fields: JsonObject) {
  const answer = await sendAll(writer, toOutgoing(fields))
  return answer.kind === 'answered' ? answer.outcomes[0] : answer
}

/** An import from its call to its end, as the engine follows it. */
export async function importAll(writer: DestinationWriter, records: readonly OutgoingRecord[]) {
  const answer = await sendAll(writer, records)
  if (answer.kind !== 'accepted') {
    return answer
  }
  return await lookAt(writer, answer.jobId, records)
}

export async function lookAt(
  writer: DestinationWriter,
  jobId: string,
  records: readonly OutgoingRecord[],
) {
  return await writer.imports?.check({
    ...{ object: '/processes', jobId, tag: 'tag' },
    deliveryKeys: records.map(({ deliveryKey }) => deliveryKey),
    signal: new AbortController().signal,
  })
}

export async function findOpen(writer: DestinationWriter) {
  const { signal } = new AbortController()
  return await writer.imports?.find({ object: '/processes', tag: 'tag', signal })
}
