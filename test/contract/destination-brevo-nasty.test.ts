/**
 * What is known to go wrong with Brevo, each by its name: behaviours that were seen, and answers that mean an error. A
 * behaviour without a test is a type error here.
 */
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/domain/json.ts'
import {
  brevoRequest,
  closeBrevoClient,
  createBrevo,
  findOpen,
  IMPORT,
  importAll,
  openBrevo,
  sendAll,
  sendOne,
  toOutgoing,
} from '../support/brevo/open-writer.ts'
import { type BrevoStandIn, startBrevo } from '../support/brevo/server.ts'

afterAll(closeBrevoClient)

const NASTY = [
  'one colliding phone number rejects the whole contact',
  'one malformed phone number rejects the whole contact',
  'the code of a conflict has changed',
  'attribute EMAIL is refused beside the address',
  'a batch is refused as a whole',
  'an import of JSON ignores a boolean false',
  'an import by ids alone is refused',
  'attributes vanish when their name is missing or mis-cased',
  'adding to a list that already has everybody is an error',
  'the time until a rate is reset comes in no known unit',
  'rate headers are missing',
  '204 has no body',
  'a finished import says nothing of its rows',
  'imports that run beside each other get stuck, and a merge deletes a contact',
] as const

let standIn: BrevoStandIn
beforeEach(async () => {
  standIn = await startBrevo()
  standIn.account.attributes.push(
    { name: 'VIP', category: 'normal', type: 'boolean' },
    { name: 'SPENT', category: 'normal', type: 'float' },
  )
})
afterEach(() => standIn.close())

const email = 'ada@example.com'
const MOBILE = '+491701234567'
const ownerOfMobile = { email: 'first@example.com', attributes: { SMS: MOBILE } }
const collides = { email, attributes: { FIRSTNAME: 'Ada', SMS: MOBILE } }
const sent = () => standIn.sent('POST', '/contacts')
const attributesOf = (address: string) =>
  Object.fromEntries(standIn.account.find({ email: address })?.attributes ?? [])

/** Sends until it has its outcome, as the engine does. */
async function sendUntilKnown(options: JsonObject, fields: JsonObject) {
  const writer = await openBrevo(standIn, options)
  const records = toOutgoing(fields)
  for (;;) {
    const answer = await sendAll(writer, records)
    if (answer.kind !== 'answered' || answer.outcomes[0]?.kind !== 'retryable') {
      return answer.kind === 'answered' ? answer.outcomes[0] : answer
    }
  }
}

const tests: Readonly<Record<(typeof NASTY)[number], () => Promise<void>>> = {
  'one colliding phone number rejects the whole contact': async () => {
    await sendOne(await openBrevo(standIn), ownerOfMobile)
    const strict = await sendOne(await openBrevo(standIn), collides)
    expect(strict).toMatchObject({
      kind: 'rejected',
      reason: expect.stringContaining('SMS is already associated with another Contact'),
    })
    expect(standIn.account.find({ email })).toBeNull()
    const before = sent().length
    const outcome = await sendUntilKnown({ onPhoneProblem: 'OMIT' }, collides)
    expect(outcome).toEqual({ kind: 'written', remoteId: '2 without SMS' })
    expect(sent().length - before).toBe(2)
    expect(attributesOf(email)).toEqual({ FIRSTNAME: 'Ada' })
    expect(attributesOf('first@example.com')).toEqual({ SMS: MOBILE })
  },

  'one malformed phone number rejects the whole contact': async () => {
    const writer = await openBrevo(standIn, { phoneCountry: 'DE' })
    for (const SMS of ['0170 1234567', '0049 170 1234567', '+49 (170) 123-4567', MOBILE]) {
      expect(await sendOne(writer, { email, attributes: { SMS } })).toMatchObject({
        kind: 'written',
      })
      expect(attributesOf(email)).toEqual({ SMS: MOBILE })
    }
    const [broken] = toOutgoing({ email, attributes: { FIRSTNAME: 'Ada', SMS: 'call me' } })
    expect(broken && writer.describeUnsendable(broken)).toBe(
      'attributes.SMS cannot be read as one phone number.',
    )
    expect(
      (await openBrevo(standIn)).describeUnsendable({
        fields: { email, attributes: { SMS: '0170 1234567' } },
        json: '',
      }),
    ).toContain('Without phoneCountry it needs its country code')
    const outcome = await sendUntilKnown({ onPhoneProblem: 'OMIT' }, broken?.fields ?? {})
    expect(outcome).toEqual({ kind: 'written', remoteId: 'without SMS' })
    // What looks well here and not to Brevo.
    standIn.script({
      ...{ kind: 'answer', status: 400 },
      body: { code: 'invalid_parameter', message: 'Invalid phone number' },
    })
    expect(await sendUntilKnown({ onPhoneProblem: 'OMIT' }, collides)).toEqual({
      ...{ kind: 'written', remoteId: 'without SMS' },
    })
    standIn.script({
      ...{ kind: 'answer', status: 400 },
      body: { code: 'invalid_parameter', message: 'Invalid phone number' },
    })
    expect(await sendUntilKnown({}, collides)).toMatchObject({ kind: 'rejected' })
  },

  'the code of a conflict has changed': async () => {
    standIn.account.conflictCode = 'invalid_parameter'
    await sendOne(await openBrevo(standIn), ownerOfMobile)
    expect(await sendUntilKnown({ onPhoneProblem: 'OMIT' }, collides)).toMatchObject({
      kind: 'written',
    })
    // Older answers have no metadata; and what is about more than the phone is not mended without it.
    const say = (message: string) =>
      standIn.script({ kind: 'answer', status: 400, body: { code: 'invalid_parameter', message } })
    say('Unable to update contact, SMS is already associated with another Contact')
    expect(await sendUntilKnown({ onPhoneProblem: 'OMIT' }, collides)).toMatchObject({
      kind: 'written',
    })
    say('SMS or EXT_ID are already associated with another Contact')
    expect(await sendUntilKnown({ onPhoneProblem: 'OMIT' }, collides)).toMatchObject({
      kind: 'rejected',
    })
  },

  'attribute EMAIL is refused beside the address': async () => {
    const writer = await openBrevo(standIn)
    expect(await sendOne(writer, { email, attributes: { EMAIL: email } })).toMatchObject({
      ...{ kind: 'retryable', failure: 'node_failed' },
      reason: 'attributes.EMAIL must be left out: it is the field email.',
    })
    expect(sent()).toEqual([])
    const fields = (await createBrevo().listFields(brevoRequest(standIn))) ?? []
    expect(fields.map(({ name }) => name)).not.toContain('attributes.EMAIL')
  },

  'a batch is refused as a whole': async () => {
    const writer = await openBrevo(standIn)
    await sendOne(writer, { email })
    await importAll(await openBrevo(standIn, IMPORT), toOutgoing({ email }))
    expect(standIn.requests.filter(({ path }) => path.startsWith('/contacts/batch'))).toEqual([])
  },

  'an import of JSON ignores a boolean false': async () => {
    const writer = await openBrevo(standIn, IMPORT)
    await importAll(writer, toOutgoing({ email, attributes: { VIP: true } }))
    await importAll(writer, toOutgoing({ email, attributes: { VIP: false } }))
    expect(attributesOf(email)).toEqual({ VIP: false })
  },

  'an import by ids alone is refused': async () => {
    const writer = await openBrevo(standIn, IMPORT)
    await importAll(writer, toOutgoing({ email }))
    const body = JSON.parse(standIn.sent('POST', '/contacts/import')[0]?.body ?? '')
    expect(body.fileBody).toBe(`EMAIL\n${email}\n`)
    expect(writer.describeUnsendable({ fields: { extId: '7' }, json: '' })).toBe(
      'The record has no value for email, by which Brevo knows it.',
    )
    const message = 'could not find any valid email or SMS or Contact ID'
    standIn.script({ kind: 'answer', status: 400, body: { code: 'invalid_parameter', message } })
    expect(await importAll(writer, toOutgoing({ email }))).toMatchObject({
      outcomes: [{ kind: 'rejected' }],
    })
  },

  'attributes vanish when their name is missing or mis-cased': async () => {
    const writer = await openBrevo(standIn)
    for (const [name, hint] of [
      ['PRENOM', 'without a word.'],
      ['Firstname', 'Its name is FIRSTNAME.'],
    ] as const) {
      expect(await sendOne(writer, { email, attributes: { [name]: 'Ada' } })).toMatchObject({
        ...{ kind: 'retryable', failure: 'node_failed' },
        reason: expect.stringMatching(new RegExp(`no attribute ${name} .*${hint}$`)),
      })
    }
    expect(sent()).toEqual([])
    const wrong = { VIP: 'yes', SPENT: '12', FIRSTNAME: 5 }
    for (const [name, value] of Object.entries(wrong)) {
      const fields = { email, attributes: { [name]: value } }
      expect(writer.describeUnsendable({ fields, json: '' })).toContain(
        `attributes.${name} must be`,
      )
    }
  },

  'adding to a list that already has everybody is an error': async () => {
    const writer = await openBrevo(standIn, { listIds: [2] })
    for (let n = 0; n < 2; n += 1) {
      expect(await sendOne(writer, { email })).toMatchObject({ kind: 'written' })
    }
    expect(standIn.account.find({ email })?.listIds).toEqual(new Set([2]))
    expect(standIn.requests.filter(({ path }) => path.includes('/lists/'))).toEqual([])
  },

  'the time until a rate is reset comes in no known unit': async () => {
    standIn.limits.isOn = true
    const writer = await openBrevo(standIn)
    const fill = async () => {
      for (let n = 0; n < 10; n += 1) {
        await sendOne(writer, { email })
      }
      return await sendOne(writer, { email })
    }
    expect(await fill()).toMatchObject({ kind: 'retryable', retryAfterMs: 1_000 })
    standIn.limits.advance(1_000)
    standIn.limits.resetUnit = 'ms' // 1000: as seconds, a quarter of an hour
    expect(await fill()).toMatchObject({ kind: 'retryable', retryAfterMs: 30_000 })
  },

  'rate headers are missing': async () => {
    standIn.limits.isOn = true
    standIn.limits.hasHeaders = false
    const writer = await openBrevo(standIn)
    for (let n = 0; n < 9; n += 1) {
      expect(await sendOne(writer, { email })).toMatchObject({ kind: 'written' })
    }
    expect(await sendOne(writer, { email })).toMatchObject({
      ...{ kind: 'retryable', failure: 'provider_rate_limited', retryAfterMs: 1_000 },
    })
  },

  '204 has no body': async () => {
    const writer = await openBrevo(standIn)
    expect(await sendOne(writer, { email })).toEqual({ kind: 'written', remoteId: '1' })
    expect(await sendOne(writer, { email })).toEqual({ kind: 'written', remoteId: null })
  },

  'a finished import says nothing of its rows': async () => {
    standIn.processes.telling = 'nothing'
    const writer = await openBrevo(standIn, IMPORT)
    // Both may be there from before: that says nothing of this import.
    const records = () => toOutgoing({ email }, { email: 'bob@example.com' })
    const silent = { kind: 'unknown', reason: expect.stringContaining('path RECORD') }
    expect(await importAll(writer, records())).toMatchObject({ outcomes: [silent, silent] })
    standIn.processes.disliked.add(email)
    expect(await importAll(writer, records())).toMatchObject({ outcomes: [silent, silent] })
  },

  'imports that run beside each other get stuck, and a merge deletes a contact': async () => {
    const other = standIn.processes.begin()
    const writer = await openBrevo(standIn, IMPORT)
    expect(await writer.takeTurn(1)).toMatchObject({
      ...{ kind: 'wait', waitMs: 60_000, failure: 'provider_unavailable' },
      reason: expect.stringContaining(`The import ${other.id} of the account is open`),
    })
    expect(await findOpen(writer)).toMatchObject({ kind: 'unknown' })
    standIn.processes.finish(other.id)
    expect(await writer.takeTurn(1)).toEqual({ kind: 'go' })
    const named = { email, attributes: { SMS: MOBILE } }
    expect(await importAll(writer, toOutgoing(named))).toMatchObject({
      outcomes: [{ kind: 'retryable', failure: 'node_failed' }],
    })
    expect(standIn.sent('POST', '/contacts/import')).toEqual([])
    expect(standIn.account.deleted).toEqual([])
  },
}

describe('what is known to go wrong with Brevo:', () => {
  it.each(NASTY)('%s', (name) => tests[name]())
})

describe('what Brevo answers an error with:', () => {
  const told = (code: string, message: string, identifiers?: readonly string[]) => ({
    ...{ code, message },
    ...(identifiers ? { metadata: { duplicate_identifiers: identifiers } } : {}),
  })
  const rejected = { kind: 'rejected' }
  const unauthorized = { kind: 'retryable', failure: 'connection_unauthorized' }

  it.each([
    [
      'an address that exists',
      400,
      told(
        'duplicate_parameter',
        'Unable to create contact, email is already associated with another Contact',
        ['email'],
      ),
      rejected,
    ],
    [
      'the same in older words',
      400,
      told('duplicate_parameter', 'Contact already exist'),
      rejected,
    ],
    [
      'a phone of another contact',
      400,
      told(
        'duplicate_parameter',
        'Unable to create contact, SMS is already associated with another Contact',
        ['SMS'],
      ),
      rejected,
    ],
    [
      'the same since May 2026',
      400,
      told(
        'invalid_parameter',
        'Unable to update contact, SMS is already associated with another Contact',
        ['SMS'],
      ),
      rejected,
    ],
    ['a bad phone', 400, told('invalid_parameter', 'Invalid phone number'), rejected],
    [
      'an unknown contact',
      404,
      told('document_not_found', 'Contact does not exist'),
      { kind: 'retryable', failure: 'node_failed' },
    ],
    ['a wrong key', 401, told('unauthorized', 'Key not found'), unauthorized],
    ['no key', 401, told('unauthorized', 'authentication not found in headers'), unauthorized],
    [
      'an address that is not let in',
      401,
      told('unauthorized', 'We have detected you are using an unrecognised IP address'),
      { ...unauthorized, reason: expect.stringContaining('add the address of this installation') },
    ],
    ['no right', 403, told('permission_denied', 'No.'), unauthorized],
    ['too fast', 429, undefined, { kind: 'retryable', failure: 'provider_rate_limited' }],
    ['a code that nobody knows', 400, told('brand_new', 'Something.'), rejected],
  ])('%s', async (_, status, body, expected) => {
    const writer = await openBrevo(standIn)
    standIn.script({ kind: 'answer', status, body })
    expect(await sendOne(writer, collides)).toMatchObject(expected)
    expect(sent()).toHaveLength(1)
  })
})
