/** What the test of a connection to an HTTP API takes for an answer, and what it says of the others. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ConnectorError } from '../../src/connectors/connector.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createLocalClient } from '../support/local-client.ts'
import { openConnection } from '../support/open-connection.ts'
import {
  type Reaction,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'

const client = createLocalClient()
const connector = createHttpDestination({ client })

describe('the test of an HTTP connection', () => {
  let standIn: RecordingDestination
  beforeEach(async () => {
    standIn = await startRecordingDestination()
  })
  afterEach(() => standIn.close())

  const told = async (reaction: Reaction): Promise<string | null> => {
    standIn.decideQuestion(() => reaction)
    standIn.always(reaction)
    return await connector
      .testConnection(openConnection({ config: { baseUrl: standIn.url } }))
      .then(
        () => null,
        (error: ConnectorError) => error.code,
      )
  }
  const json = { 'content-type': 'application/json' }
  const answer = (status: number, body = '{}', headers: Record<string, string> = json) =>
    ({ kind: 'answer', status, body, headers }) as const

  it.each([200, 204, 400, 404, 405, 422])('takes a %i for an API that is there', async (status) => {
    expect(await told(answer(status))).toBeNull()
  })

  it.each<[string, Reaction, string]>([
    ['a 401', answer(401), 'connection_unauthorized'],
    ['a 403', answer(403), 'connection_unauthorized'],
    ['a 402', answer(402), 'node_failed'],
    ['a redirect', answer(301, '', { location: 'https://example.com/' }), 'node_failed'],
    ['a 429', answer(429), 'provider_rate_limited'],
    ['a 500', answer(500), 'provider_unavailable'],
    ['a 503', answer(503), 'provider_unavailable'],
    ['a web page', answer(200, '<html>Sign in</html>'), 'provider_unavailable'],
    ['a web page that is not found', answer(404, '<html>404</html>'), 'node_failed'],
    ['no answer', { kind: 'reset' }, 'provider_unavailable'],
  ])('does not take %s for one', async (_, reaction, code) => {
    expect(await told(reaction)).toBe(code)
  })
})
