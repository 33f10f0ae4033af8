/** An address that must not be reached is mended by whoever gave it: the attempt fails with `node_failed`, and nothing is in doubt. */
import { expect, it } from 'vitest'
import { createAddressGuard } from '../../src/connectors/address-guard.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createHttpClient } from '../../src/connectors/http-client.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { openConnection } from '../support/open-connection.ts'
import { startRecordingDestination } from '../support/recording-destination.ts'
import { deliver, outgoingRecords } from './destination-suite.ts'

it('refuses records, questions and the test of a connection alike, without a connection', async () => {
  const standIn = await startRecordingDestination()
  const guard = createAddressGuard({ allowedRanges: [] })
  const client = createHttpClient({ clock: systemClock, guard })
  const connector = createHttpDestination({ client })
  const connection = openConnection({ config: { baseUrl: standIn.url } })
  const options = { deliveryClass: 'LOOKUP', lookupObject: '/writes/{key}' }
  const writer = await connector.open({
    ...{ ...connection, object: '/contacts' },
    options: connector.objectOptions.parse(options),
  })
  const reason = expect.stringContaining('The host 127.0.0.1 lies in a network')
  expect(await deliver(writer, outgoingRecords(1))).toEqual({
    kind: 'answered',
    outcomes: [{ kind: 'retryable', failure: 'node_failed', reason, retryAfterMs: null }],
  })
  const { signal } = connection
  const asked = await writer.lookUp?.ask({ deliveryKeys: ['a'.repeat(64)], signal })
  expect(asked).toEqual([{ kind: 'unknown', failure: 'node_failed', reason }])
  await expect(connector.testConnection(connection)).rejects.toMatchObject({
    code: 'node_failed',
    message: reason,
  })
  expect(standIn.connections()).toBe(0)
  client.close()
  await standIn.close()
})
