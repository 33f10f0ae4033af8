/** An unknown outcome at a destination of class NONE is work for a person: no idle connection is risked there (I12). */
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createLocalClient } from '../support/local-client.ts'
import { openConnection } from '../support/open-connection.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { deliver, outgoingRecords } from './destination-suite.ts'

const client = createLocalClient()
const connector = createHttpDestination({ client })
let standIn: RecordingDestination
beforeEach(async () => {
  standIn = await startRecordingDestination()
})
afterEach(() => standIn.close())
afterAll(() => client.close())

it.each([
  ['IDEMPOTENT', 1],
  ['NONE', 3],
])(
  'three calls of class %s, one after the other, take %i connections',
  async (deliveryClass, taken) => {
    const writer = await connector.open({
      ...openConnection({ config: { baseUrl: standIn.url } }),
      object: '/contacts',
      options: connector.objectOptions.parse({ deliveryClass }),
    })
    for (const record of outgoingRecords(3)) {
      await deliver(writer, [record])
    }
    expect(standIn.requests).toHaveLength(3)
    expect(standIn.connections()).toBe(taken)
  },
)
