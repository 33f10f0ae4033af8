/** The brevo destination keeps the contract of destinations on both of its paths: unknown stays unknown (I12). */
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DestinationWriter } from '../../src/connectors/destination.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import {
  brevoRequest,
  closeBrevoClient,
  createBrevo,
  IMPORT,
  openBrevo,
  sendAll,
  toOutgoing,
} from '../support/brevo/open-writer.ts'
import { type BrevoFault, type BrevoStandIn, startBrevo } from '../support/brevo/server.ts'

afterAll(closeBrevoClient)

const unavailable = { kind: 'unknown', failure: 'provider_unavailable' }
const notJson = { kind: 'html', status: 502 } as const

/** Answers that mean the same on both paths. */
const answers: readonly (readonly [string, BrevoFault, JsonObject])[] = [
  ['a reset before the write was applied', { kind: 'resetBeforeCommit' }, unavailable],
  ['a reset after the write was applied', { kind: 'resetAfterCommit' }, unavailable],
  ['no answer until the deadline', { kind: 'hang', isApplied: true }, unavailable],
  ['a web page for an error', { ...notJson, isApplied: true }, unavailable],
  ['a web page for a success', { ...notJson, status: 200, isApplied: true }, unavailable],
  ['half a JSON text', { kind: 'truncated' }, unavailable],
  ...[408, 500, 502, 504].map(
    (status) =>
      [`${status}`, { kind: 'answer', status, body: { message: 'No.' } }, unavailable] as const,
  ),
  [
    'a success of another form',
    { kind: 'answer', status: 200, body: [] },
    { kind: 'unknown', failure: 'node_failed' },
  ],
  [
    'a success without a body that is none of those it may be',
    { kind: 'answer', status: 200 },
    { kind: 'unknown' },
  ],
  ...[425, 429].map(
    (status) =>
      [
        `${status}`,
        { kind: 'answer', status, body: { code: 'too_many', message: 'Slow down.' } },
        { kind: 'retryable', failure: 'provider_rate_limited', retryAfterMs: 1_000 },
      ] as const,
  ),
  [
    '503 of the API',
    { kind: 'answer', status: 503, body: { message: 'Maintenance.' } },
    { kind: 'retryable', failure: 'provider_unavailable' },
  ],
  ['503 of a proxy', { ...notJson, status: 503 }, unavailable],
  ...[401, 403].map(
    (status) =>
      [
        `${status}`,
        { kind: 'answer', status, body: { code: 'unauthorized', message: 'Key not found' } },
        { kind: 'retryable', failure: 'connection_unauthorized' },
      ] as const,
  ),
  ...[402, 404, 405].map(
    (status) =>
      [
        `${status}: the account or the address is wrong, no record is`,
        { kind: 'answer', status, body: { code: 'not_enough_credits', message: 'No credits.' } },
        { kind: 'retryable', failure: 'node_failed' },
      ] as const,
  ),
  [
    'an account that is busy',
    { kind: 'answer', status: 400, body: { code: 'account_in_process', message: 'Busy.' } },
    { kind: 'retryable', failure: 'provider_unavailable' },
  ],
]

describe.each([
  ['RECORD', {}, '/contacts'],
  ['IMPORT', IMPORT, '/contacts/import'],
] as const)('the brevo destination (%s)', (path, options, endpoint) => {
  let standIn: BrevoStandIn
  let writer: DestinationWriter
  const records = toOutgoing(
    ...['p1@example.com', 'p2@example.com']
      .slice(0, path === 'RECORD' ? 1 : 2)
      .map((email) => ({ email, attributes: { FIRSTNAME: 'Ada' } })),
  )

  beforeEach(async () => {
    standIn = await startBrevo()
    writer = await openBrevo(standIn, options)
  })
  afterEach(async () => {
    await writer.close()
    await standIn.close()
  })

  const sent = () => standIn.sent('POST', endpoint)

  it('sends the same bytes when a call is repeated, and the contacts are as after the first', async () => {
    const first = await sendAll(writer, records)
    standIn.processes.look()
    const before = [...standIn.account.contacts.values()].map(({ attributes }) => [...attributes])
    const second = await sendAll(writer, records)
    standIn.processes.look()
    const isKnown = path === 'RECORD'
    const taken = isKnown ? { outcomes: [{ kind: 'written' }] } : { kind: 'accepted' }
    expect([first, second]).toMatchObject([taken, taken])
    expect(sent().map(({ body }) => body)).toEqual([sent()[0]?.body, sent()[0]?.body])
    expect(before).toHaveLength(records.length)
    expect([...standIn.account.contacts.values()].map(({ attributes }) => [...attributes])).toEqual(
      before,
    )
  })

  it('asks for leave before each request, and sends nothing when it is refused', async () => {
    const refusal = new Error('the lease is lost')
    for (const requests of [0, 1]) {
      const call = sendAll(writer, records, {
        beforeSend: () => {
          throw refusal
        },
      })
      await expect(call).rejects.toBe(refusal)
      expect(sent()).toHaveLength(requests)
      await sendAll(writer, records)
    }
  })

  it('sends nothing once the signal is aborted, and rejects with its reason', async () => {
    const reason = new Error('the run drains')
    const call = sendAll(writer, records, { signal: AbortSignal.abort(reason) })
    await expect(call).rejects.toBe(reason)
    expect(sent()).toEqual([])
  })

  it('calls a write unknown when the run stops before its answer', async () => {
    const stop = new AbortController()
    standIn.decide(() => {
      queueMicrotask(() => stop.abort(new Error('the run drains')))
      return { kind: 'hang', isApplied: true }
    })
    expect(await sendAll(writer, records, { signal: stop.signal })).toMatchObject({
      outcomes: records.map(() => unavailable),
    })
  })

  it('knows that nothing was applied when no connection can be made', async () => {
    // An idle connection would be taken to have carried the call.
    closeBrevoClient()
    await standIn.close()
    expect(await sendAll(writer, records)).toMatchObject({
      outcomes: records.map(() => ({ kind: 'retryable', failure: 'provider_unavailable' })),
    })
    standIn = await startBrevo()
  })

  it.each(answers)('understands %s', async (_, fault, expected) => {
    standIn.script(fault)
    const answer = await sendAll(writer, records)
    expect(answer).toMatchObject({ kind: 'answered', outcomes: records.map(() => expected) })
    expect(sent()).toHaveLength(1)
  })

  it('quotes no address, no person and no secret in a reason', async () => {
    const message = `p1@example.com +49 30 1234567 sk_live_4eC39HqLyjWDarjtT1zdp7dc ${'x '.repeat(500)}`
    standIn.script({ kind: 'answer', status: 400, body: { code: 'invalid_parameter', message } })
    const answer = JSON.stringify(await sendAll(writer, records))
    expect(answer).toContain('[e-mail] [number] [token]')
    expect(answer).not.toMatch(/p1@example|1234567|sk_live/)
  })

  it('declares how it may be called', () => {
    expect(writer).toMatchObject({
      ...{ deliveryClass: 'idempotent', requestDeadlineMs: 1_000, lookUp: null },
      ...(path === 'RECORD'
        ? { settlingMs: 30_000, maxRecordsPerCall: 1, concurrency: 8, imports: null }
        : { settlingMs: 60_000, maxRecordsPerCall: 2_000, concurrency: 1 }),
    })
  })
})

describe('a connection to Brevo', () => {
  let standIn: BrevoStandIn
  beforeEach(async () => {
    standIn = await startBrevo()
  })
  afterEach(() => standIn.close())

  it('is tested by a question for the account', async () => {
    const brevo = createBrevo()
    await brevo.testConnection(brevoRequest(standIn))
    expect(standIn.requests.map(({ path }) => path)).toEqual(['/account'])
    await expect(
      brevo.testConnection(brevoRequest(standIn, {}, { apiKey: 'x' })),
    ).rejects.toMatchObject({
      code: 'connection_unauthorized',
      message: expect.stringContaining('Key not found'),
    })
  })

  it('whose address is not let in says what to do, which another key does not mend', async () => {
    standIn.isAddressAllowed = false
    const opening = createBrevo().open(brevoRequest(standIn))
    await expect(opening).rejects.toMatchObject({
      code: 'connection_unauthorized',
      message: expect.stringContaining('add the address of this installation'),
    })
  })

  it.each([
    ['a web page', { kind: 'html', status: 200 }, 'provider_unavailable'],
    ['429', { kind: 'answer', status: 429 }, 'provider_rate_limited'],
    ['no list', { kind: 'answer', status: 200, body: { attributes: 'none' } }, 'node_failed'],
    ['404', { kind: 'answer', status: 404, body: { message: 'No.' } }, 'node_failed'],
  ] as const)('does not open where its attributes are answered with %s', async (_, fault, code) => {
    standIn.decide(() => fault)
    await expect(createBrevo().open(brevoRequest(standIn))).rejects.toMatchObject({ code })
  })

  it('lists the fields that a mapping may name, with their types', async () => {
    const { attributes } = standIn.account
    attributes.push(
      { name: 'BORN', category: 'normal', type: 'date' },
      { name: 'TAGS', category: 'normal', type: 'multiple-choice' },
      { name: 'SPENT', category: 'calculated', type: 'float' },
      { name: 'EMAIL', category: 'normal', type: 'text' },
    )
    const brevo = createBrevo()
    const fields = async (options: JsonObject) =>
      (await brevo.listFields(brevoRequest(standIn, options)))?.map(
        ({ name, types, isRequired }) => `${name}${isRequired ? '!' : ''}: ${types?.join(' ')}`,
      )
    const own = ['FIRSTNAME: text', 'LASTNAME: text'].map((text) => `attributes.${text}`)
    const phones = ['attributes.SMS: text', 'attributes.WHATSAPP: text']
    const born = 'attributes.BORN: date'
    expect(await fields(IMPORT)).toEqual(['email!: text', ...own, born])
    const rest = ['listIds: list', 'emailBlacklisted: boolean', 'smsBlacklisted: boolean']
    expect(await fields({ identifiedBy: 'EXT_ID' })).toEqual([
      ...['extId!: text number', ...rest, ...own, ...phones, born, 'attributes.TAGS: list'],
    ])
  })

  it.each([
    [
      { baseUrl: 'http://api.brevo.com/v3' },
      'baseUrl must be an address that starts with https://',
    ],
    [{ plan: 'FREE' }, 'plan must be one of'],
    [{ region: 'eu' }, 'Unknown field region'],
  ])('with %j is refused', (config, words) => {
    const parsed = createBrevo().connectionConfig.safeParse(config)
    expect(parsed.error?.issues[0]?.message).toContain(words)
  })

  it.each([
    [{ path: 'IMPORT' }, 'listIds must name a list'],
    [{ ...IMPORT, identifiedBy: 'SMS' }, 'identifiedBy must be EMAIL'],
    [{ phoneCountry: 'XX' }, 'phoneCountry must be a country'],
    [{ importPollMs: 1_000 }, 'importPollMs must be a whole number from 60000'],
  ])('and a sync with %j is refused', (options, words) => {
    const parsed = createBrevo().objectOptions.safeParse(options)
    expect(parsed.error?.issues[0]?.message).toContain(words)
    expect(createBrevo().describeObjectProblem('companies')).toContain('contacts')
    expect(createBrevo().describeObjectProblem('contacts')).toBeNull()
  })
})
