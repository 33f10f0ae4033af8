/** Requests of the http destination that are signed: whoever receives them knows who sent them, and when. */

import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { createHandClock } from '../support/hand-clock.ts'
import { createLocalClient } from '../support/local-client.ts'
import { openConnection } from '../support/open-connection.ts'
import {
  type RecordedRequest,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { deliver, outgoing, outgoingRecords } from './destination-suite.ts'

const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const client = createLocalClient()
let standIn: RecordingDestination
beforeEach(async () => {
  standIn = await startRecordingDestination()
})
afterEach(() => standIn.close())
afterAll(() => client.close())

function openWriter(
  options: JsonObject = {},
  { clock = systemClock, signingSecret }: { clock?: Clock; signingSecret?: string } = {},
) {
  const connector = createHttpDestination({ client, clock })
  return connector.open({
    ...openConnection({
      config: { baseUrl: standIn.url },
      credentials: signingSecret === undefined ? {} : { bearerToken: 't', signingSecret },
    }),
    object: '/contacts',
    options: connector.objectOptions.parse(options),
  })
}

const signatureOf = (request: RecordedRequest | undefined): Record<string, string> =>
  Object.fromEntries(
    ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [
      name,
      String(request?.headers[name]),
    ]),
  )

describe('a signed request', () => {
  it.each(['RECORD', 'PAGE'])(
    'is verified by the library of the specification (%s)',
    async (path) => {
      const writer = await openWriter({ path }, { signingSecret: SECRET })
      await deliver(writer, outgoingRecords(path === 'PAGE' ? 3 : 1))
      const [request] = standIn.requests
      const verifier = new Webhook(SECRET)
      const signature = signatureOf(request)
      expect(verifier.verify(request?.body ?? '', signature)).toEqual(
        JSON.parse(request?.body ?? ''),
      )
      expect(() => verifier.verify(`${request?.body} `, signature)).toThrow('No matching signature')
      const later = {
        ...signature,
        'webhook-timestamp': String(Number(signature['webhook-timestamp']) + 1),
      }
      expect(() => verifier.verify(request?.body ?? '', later)).toThrow('No matching signature')
      const other = new Webhook(`whsec_${Buffer.alloc(32, 6).toString('base64')}`)
      expect(() => other.verify(request?.body ?? '', signature)).toThrow('No matching signature')
    },
  )

  it('keeps its id when it is tried again, at another time', async () => {
    const clock = createHandClock()
    const writer = await openWriter({}, { clock, signingSecret: SECRET })
    const record = outgoing(7)
    standIn.script({ kind: 'answer', status: 503, body: '{}' })
    await deliver(writer, [record])
    clock.advance(60_000)
    await deliver(writer, [record])
    const [first, second] = standIn.requests.map(signatureOf)
    expect(first?.['webhook-id']).toBe(record.deliveryKey)
    expect(second?.['webhook-id']).toBe(record.deliveryKey)
    expect(Number(second?.['webhook-timestamp'])).toBe(Number(first?.['webhook-timestamp']) + 60)
    expect(second?.['webhook-signature']).not.toBe(first?.['webhook-signature'])
  })

  it('carries the time at which it was written, not at which it was to be', async () => {
    const clock = createHandClock()
    const writer = await openWriter({}, { clock, signingSecret: SECRET })
    await deliver(writer, [outgoing(1)], { beforeSend: () => clock.advance(5_000) })
    const expected = String(createHandClock().now().getTime() / 1_000 + 5)
    expect(standIn.requests[0]?.headers['webhook-timestamp']).toBe(expected)
  })

  it('is not made without a secret', async () => {
    await deliver(await openWriter(), [outgoing(1)])
    expect(standIn.requests[0]?.headers['webhook-signature']).toBeUndefined()
  })
})
