/** What the settings of an http destination accept, and how each bad one is named. */
import { afterAll, describe, expect, it } from 'vitest'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createLocalClient } from '../support/local-client.ts'

const client = createLocalClient()
const connector = createHttpDestination({ client })
afterAll(() => client.close())

describe('the settings of an http destination', () => {
  const messagesOf = (shape: typeof connector.objectOptions, settings: unknown) =>
    shape.safeParse(settings).error?.issues.map(({ message }) => message)

  it.each([
    [{}, 'baseUrl must be a text of 1 to 2000 characters.'],
    [
      { baseUrl: 'api.example.com' },
      'baseUrl must be an address that starts with http:// or https://.',
    ],
    [
      { baseUrl: 'ftp://example.com' },
      'baseUrl must be an address that starts with http:// or https://.',
    ],
    [
      { baseUrl: 'https://u:p@example.com' },
      'baseUrl must not contain a user name or password; put them into the credentials.',
    ],
    [{ baseUrl: 'https://example.com/?key=1' }, 'baseUrl must not contain a query or a fragment.'],
    [
      { baseUrl: 'https://example.com', token: 'x' },
      'Unknown field token. It takes baseUrl, maxCallsPerSecond.',
    ],
  ])('refuse the connection %j', (config, message) => {
    expect(messagesOf(connector.connectionConfig, config)).toEqual([message])
  })

  it.each([0, 0.04, 1_001, Number.POSITIVE_INFINITY, '10'])(
    'refuse %j calls a second',
    (maxCallsPerSecond) => {
      const config = { baseUrl: 'https://example.com', maxCallsPerSecond }
      expect(messagesOf(connector.connectionConfig, config)).toEqual([
        'maxCallsPerSecond must be a number from 0.05 to 1000.',
      ])
    },
  )

  it.each<[object, string]>([
    [
      { bearerToken: 'a\r\nb' },
      'bearerToken must consist of printable ASCII characters, without spaces at its ends.',
    ],
    [{ headerName: 'X-Key' }, 'headerName and headerValue must be given together.'],
    [
      { headerName: 'Idempotency-Key', headerValue: 'x' },
      'headerName must not be a header that the connector writes itself.',
    ],
    [
      { headerName: 'Webhook-Signature', headerValue: 'x' },
      'headerName must not be a header that the connector writes itself.',
    ],
    [{ headerName: 'X Key', headerValue: 'x' }, 'headerName must be the name of an HTTP header.'],
    [
      { bearerToken: 'a', headerName: 'X-Key', headerValue: 'b' },
      'bearerToken and headerName must not be given together.',
    ],
    ...['c2VjcmV0', 'whsec_c2hvcnQ=', `whsec_${'é'.repeat(40)}`, `whsec_${'A'.repeat(87)}`].map(
      (signingSecret): [object, string] => [
        { signingSecret },
        'signingSecret must be whsec_ and 24 to 64 bytes in base64.',
      ],
    ),
  ])('refuse the credentials %j', (credentials, message) => {
    expect(messagesOf(connector.credentials, credentials)).toEqual([message])
  })

  it.each<[object, string]>([
    [{ path: 'BULK' }, 'path must be one of "RECORD", "PAGE".'],
    [{ maxRecordsPerCall: 0 }, 'maxRecordsPerCall must be a whole number from 1 to 10000.'],
    [{ concurrency: 1.5 }, 'concurrency must be a whole number from 1 to 32.'],
    [
      { deliveryClass: 'LOOKUP' },
      'lookupObject must be given with the deliveryClass LOOKUP, and only then.',
    ],
    [
      { lookupObject: '/writes/{key}' },
      'lookupObject must be given with the deliveryClass LOOKUP, and only then.',
    ],
    ...['/writes', '/{key}/{key}', 'writes/{key}', '/writes/{key}?x=1', '/../{key}'].map(
      (lookupObject): [object, string] => [
        { deliveryClass: 'LOOKUP', lookupObject },
        'lookupObject must be a path below the base URL with {key} in it once, such as "/writes/{key}".',
      ],
    ),
    [{ importsObject: '/imports' }, 'importsObject must only be given with the path PAGE.'],
    [
      { path: 'PAGE', importsObject: '/imports?x=1' },
      'importsObject must be a path below the base URL, such as "/imports".',
    ],
  ])('refuse the options %j', (options, message) => {
    expect(messagesOf(connector.objectOptions, options)).toEqual([message])
  })

  it.each([
    'contacts',
    'https://example.com/x',
    '//example.com',
    '/a/../b',
    '/a/%2e%2e/b',
    '/a%2fb',
    '/a?b=1',
    '/a#b',
    '/a b',
    '/a//b',
    '/%zz',
    '/',
    `/${'a'.repeat(600)}`,
  ])('refuse the object %s', (object) => {
    expect(connector.describeObjectProblem(object)).toMatch(/^The object must .+\.$/)
  })

  it.each(['/contacts', '/v1/people/', '/lists/a%20b/@me'])('take the object %s', (object) => {
    expect(connector.describeObjectProblem(object)).toBeNull()
  })
})
