/**
 * Requests that nobody sends who means well, by hand: known tricks, and what once was one. A request is what goes
 * over the wire; whether the server should take any of it is not this file's to say.
 */
export interface HostileRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD' | 'OPTIONS' | 'PATCH'
  /** From the slash on. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
}

const JSON_TYPE = { 'content-type': 'application/json' }
const ASKED_FIRST = { 'graphql-require-preflight': '1' }

export function postOf(
  body: string | Buffer,
  headers: Record<string, string> = JSON_TYPE,
): HostileRequest {
  return { method: 'POST', path: '/graphql', headers, body: Buffer.from(body) }
}

/** As JSON.stringify writes it, with lone surrogates as they are. */
export const ask = (query: unknown, rest: object = {}) => postOf(JSON.stringify({ query, ...rest }))
const times = (text: string, count: number) => text.repeat(count)

/** Known tricks, and what once was one. `ids` are of another workspace. */
export function listHostileRequests(ids: readonly string[]): HostileRequest[] {
  return [
    ...listDocuments(ids).map((query) => ask(query)),
    ...listVariables(ids),
    ...listBodies(),
    ...listMethods(),
  ]
}

function listDocuments(ids: readonly string[]): string[] {
  const chain = Array.from(
    { length: 60 },
    (_, i) => `fragment F${i} on Query { ...F${i + 1} ...F${i + 1} }`,
  )
  const ring = Array.from(
    { length: 60 },
    (_, i) => `fragment F${i} on Query { ...F${(i + 1) % 60} }`,
  )
  return [
    '',
    ' ',
    '\u0000',
    '{',
    '}',
    '{}',
    '{ viewer }',
    '{ viewer { } }',
    '# only words',
    '"""',
    '{ ... }',
    '\ufeff{ __typename }',
    '{ __typename \u0000 }',
    '{ \ud800 }',
    '{ viewer { \u202etokenName } }',
    '{ ｖiewer }',
    'query ($a: Int = $a) { __typename }',
    'query ($a: [[[[Int]]]]) { __typename }',
    'query A { __typename } query A { __typename }',
    'subscription { runProgress(runId: "x") { __typename } alerts { __typename } }',
    'subscription A { alerts { __typename } } mutation B { __typename } query C { __typename }',
    'type Query { a: Int }',
    'schema { query: Query }',
    'extend type Query { a: Int }',
    'directive @a on FIELD',
    `{ __typename ${times('@skip(if: false) ', 400)} }`,
    `{ __typename ${times('@nothing ', 1_900)} }`,
    `query ${times('@include(if: true) ', 300)} { __typename }`,
    times('{ viewer ', 400) + times('}', 400),
    times('[', 5_000),
    `{ sync(id: ${times('[', 900)}${times(']', 900)}) { id } }`,
    `{ sync(id: ${times('{a:', 600)}1${times('}', 600)}) { id } }`,
    `{ ${Array.from({ length: 600 }, (_, i) => `a${i}: __typename`).join(' ')} }`,
    `{ ...F0 } ${chain.join(' ')} fragment F60 on Query { __typename }`,
    `{ ...F0 } ${ring.join(' ')}`,
    '{ ...F } fragment F on Query { ...F }',
    '{ viewer { ...F } } fragment F on Sync { id }',
    '{ ...Missing }',
    '{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } }',
    '{ __type(name: "Query\\u0000") { name } }',
    '{ __type(name: "__proto__") { name } }',
    '{ __proto__ }',
    '{ constructor }',
    '{ viewer { toString } }',
    '{ __typename __typename: viewer { tokenName } }',
    '{ runs(first: 99999999999999999999) { edges { cursor } } }',
    '{ runs(first: -1) { edges { cursor } } }',
    '{ runs(first: 1e9) { edges { cursor } } }',
    `{ runs(first: ${times('9', 1_000)}) { edges { cursor } } }`,
    '{ runs(after: "\\u0000") { edges { cursor } } }',
    '{ runs(after: "\\uD800") { edges { cursor } } }',
    '{ runs(before: "AAAA", after: "////") { edges { cursor } } }',
    '{ runs(filter: { statuses: [] }) { edges { cursor } } }',
    '{ auditEntries(filter: { actor: "\\u0000" }) { edges { cursor } } }',
    '{ auditEntries(filter: { actor: "\\uDC00x" }) { edges { cursor } } }',
    `{ auditEntries(filter: { actor: "'; drop table run; --" }) { edges { cursor } } }`,
    '{ auditEntries(filter: { from: "0000-01-01T00:00:00Z", to: "9999-12-31T23:59:59Z" }) { edges { cursor } } }',
    '{ schedulePreview(schedule: { expression: "* * * * *", timeZone: "\\u0000" }, after: "2026-01-01T00:00:00Z") }',
    '{ schedulePreview(schedule: { expression: "0 0 30 2 *", timeZone: "UTC" }, after: "2026-01-01T00:00:00Z", first: 100) }',
    '{ schedulePreview(schedule: { everyMs: 1 }, after: "9999-12-31T23:59:59.999Z", first: 100) }',
    `{ schedulePreview(schedule: { expression: "${times('*,', 500)}* * * * *", timeZone: "UTC" }, after: "2026-01-01T00:00:00Z") }`,
    'mutation { createConnection(input: { name: "\\u0000", type: "http", config: {} }) { __typename } }',
    'mutation { createConnection(input: { name: "\\uD800", type: "http", config: { baseUrl: "\\uD800" } }) { __typename } }',
    'mutation { createConnection(input: { name: "x", type: "__proto__", config: { __proto__: 1 } }) { __typename } }',
    `mutation { createConnection(input: { name: "${times('é', 5_000)}", type: "file", config: {} }) { __typename } }`,
    'mutation { createToken(input: { name: "x", role: VIEWER, clientKey: "\\u0000" }) { __typename } }',
    `mutation { createToken(input: { name: "x", role: VIEWER, clientKey: "${times('k', 201)}" }) { __typename } }`,
    'mutation { createToken(input: { name: "x", role: VIEWER, expiresAt: "275760-09-13T00:00:00Z" }) { __typename } }',
    'mutation { createToken(input: { name: "\\uDFFF", role: VIEWER }) { __typename } }',
    ...ids.flatMap((id) => [
      `{ node(id: "${id}") { id __typename } }`,
      `{ sync(id: "${id}") { id name } }`,
      `{ run(id: "${id}") { id requestedBy } }`,
      `{ cursorResetPreview(syncId: "${id}") { recordsToRead } }`,
      `{ runs(filter: { syncId: "${id}" }) { edges { node { id } } } }`,
      `{ auditEntries(filter: { subjectId: "${id}" }) { edges { node { actor } } } }`,
      `{ node(id: "${id}\\u0000") { id } }`,
      `mutation { retryRun(input: { runId: "${id}" }) { __typename ... on Refusal { message } } }`,
      `mutation { pauseSync(input: { syncId: "${id}", reason: "x" }) { __typename ... on Refusal { message } } }`,
      `mutation { revokeToken(input: { tokenId: "${id}", reason: "x" }) { __typename ... on Refusal { message } } }`,
      `mutation { acknowledgeAlert(input: { alertId: "${id}" }) { __typename ... on Refusal { message } } }`,
    ]),
  ]
}

function listVariables(ids: readonly string[]): HostileRequest[] {
  const query = 'query ($v: ID!) { node(id: $v) { id } }'
  const create =
    'mutation ($v: JSON!) { createConnection(input: { name: "x", type: "http", config: $v }) { __typename ... on Refusal { message } } }'
  const values: unknown[] = [
    null,
    1,
    -0,
    1e308,
    true,
    [],
    {},
    [[]],
    { id: 1 },
    '\u0000',
    '\ud800',
    'x'.repeat(100_000),
    ...ids,
  ]
  const deep = (open: string, close: string, count: number) =>
    postOf(
      `{"query":${JSON.stringify(create)},"variables":{"v":${times(open, count)}1${times(close, count)}}}`,
    )
  return [
    ...values.map((v) => ask(query, { variables: { v } })),
    ...values.map((v) => ask(create, { variables: { v } })),
    ...values.map((variables) => ask(query, { variables })),
    ...values.map((operationName) => ask('query A { __typename }', { operationName })),
    ...values.map((extensions) => ask('{ __typename }', { extensions })),
    ...values.map((value) => ask(value)),
    ...[10, 1_000, 50_000, 150_000].flatMap((count) => [
      deep('[', ']', count),
      deep('{"a":', '}', count),
    ]),
    postOf(
      `{"query":${JSON.stringify(create)},"variables":{"v":{"__proto__":{"a":1},"constructor":{"prototype":{}}}}}`,
    ),
    postOf(`{"query":${JSON.stringify(create)},"variables":{"v":{"a":${times('9', 50_000)}}}}`),
    postOf(`{"query":${JSON.stringify(create)},"variables":{"v":[${times('1,', 400_000)}1]}}`),
    ask('{ __typename }', { extensions: { persistedQuery: { version: 1, sha256Hash: 'x' } } }),
    ask('{ __typename }', { unknown: 1 }),
  ]
}

function listBodies(): HostileRequest[] {
  const whole = JSON.stringify({ query: '{ viewer { tokenName } }' })
  const cut = Array.from({ length: whole.length }, (_, length) => postOf(whole.slice(0, length)))
  return [
    ...cut,
    ...[
      'null',
      '[]',
      '1',
      '"x"',
      'true',
      '{}',
      '[null]',
      '[{"query":"{ __typename }"}]',
      '{"query":{}}',
      '\u0000',
      `${whole}${whole}`,
      `\ufeff${whole}`,
      '{"query":"\\ud800"}',
      '{"query":"\\u0000"}',
      "{'query':1}",
      'query=%00',
    ].map((body) => postOf(body)),
    postOf(Buffer.from([0xff, 0xfe, 0x00, 0xc0, 0xaf])),
    postOf(Buffer.from(whole, 'utf16le')),
    ...[
      'application/json; charset=utf-16',
      'application/json; charset=',
      'application/JSON',
      'application/graphql',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'multipart/form-data; boundary=x',
      'text/plain',
      'image/png',
      ';',
      'application/json, text/plain',
    ].flatMap((type) => [
      postOf(whole, { 'content-type': type }),
      postOf(whole, { 'content-type': type, ...ASKED_FIRST }),
    ]),
    postOf(
      '--x\r\nContent-Disposition: form-data; name="operations"\r\n\r\n{"query":"{ __typename }"}\r\n--x--',
      { 'content-type': 'multipart/form-data; boundary=x', ...ASKED_FIRST },
    ),
    ...['text/event-stream', 'multipart/mixed', 'text/html', '*/*;q=0', 'application/xml', ''].map(
      (accept) => postOf(whole, { ...JSON_TYPE, accept }),
    ),
    postOf(whole, { ...JSON_TYPE, 'content-encoding': 'gzip' }),
    postOf(whole, { ...JSON_TYPE, origin: 'null' }),
    postOf(whole, { ...JSON_TYPE, cookie: times('a=b;', 500) }),
  ]
}

function listMethods(): HostileRequest[] {
  const get = (path: string, headers: Record<string, string> = ASKED_FIRST): HostileRequest => ({
    method: 'GET',
    path,
    headers,
    body: null,
  })
  return [
    ...[
      '',
      '?',
      '?query',
      '?query=',
      '?query=%',
      '?query=%00',
      '?query=%ED%A0%80',
      '?query={__typename}&query={viewer{tokenName}}',
      '?query=mutation{__typename}',
      '?query={__typename}&variables=',
      '?query={__typename}&variables=[',
      '?query={__typename}&variables=1',
      '?query={__typename}&operationName=x',
      '?query={__typename}&extensions=x',
      `?query=${times('{a', 3_000)}`,
      `?query={__typename}&x=${times('y', 10_000)}`,
    ].flatMap((query) => [get(`/graphql${query}`), get(`/graphql${query}`, {})]),
    ...[
      '/',
      '//graphql',
      '/graphql/',
      '/graphql/..',
      '/../etc/passwd',
      '/%2e%2e/',
      '/graphql%00',
      '/GRAPHQL',
      '/health/../graphql',
      '*',
    ].map((path) => get(path)),
    ...(['PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'] as const).map(
      (method): HostileRequest => ({ method, path: '/graphql', headers: ASKED_FIRST, body: null }),
    ),
  ]
}
