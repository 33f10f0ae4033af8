/** What is sent of a contact and what is not: who it is, what it agreed to, what its values are. */
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Bucket, CallGate } from '../../src/connectors/call-gate.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import {
  brevoRequest,
  closeBrevoClient,
  createBrevo,
  IMPORT,
  openBrevo,
  sendOne,
} from '../support/brevo/open-writer.ts'
import { type BrevoStandIn, startBrevo } from '../support/brevo/server.ts'

afterAll(closeBrevoClient)

let standIn: BrevoStandIn
beforeEach(async () => {
  standIn = await startBrevo()
  standIn.account.attributes.push(
    { name: 'BORN', category: 'normal', type: 'date' },
    { name: 'TAGS', category: 'normal', type: 'multiple-choice' },
    { name: 'CODE', category: 'normal', type: 'id' },
    {
      ...{ name: 'TIER', category: 'category' },
      enumeration: [
        { value: 1, label: 'Gold', valueStr: '1' },
        { value: 0, label: 'French', valueStr: 'fr' },
      ],
    },
  )
})
afterEach(() => standIn.close())

const email = 'ada@example.com'
const bodyOf = (n = 0) => JSON.parse(standIn.sent('POST', '/contacts')[n]?.body ?? '')
const problemOf = async (fields: JsonObject, options: JsonObject = {}) =>
  (await openBrevo(standIn, options)).describeUnsendable({ fields, json: JSON.stringify(fields) })

describe('who a contact is', () => {
  it('is its whole address, trimmed and in lower case, in its name and in what is sent', async () => {
    const writer = await openBrevo(standIn)
    for (const text of [' Ada+News@Example.COM ', 'ada+news@example.com']) {
      expect(writer.identityOf({ email: text })).toBe('ada+news@example.com')
      expect(await sendOne(writer, { email: text })).toMatchObject({ kind: 'written' })
    }
    expect([bodyOf(0).email, bodyOf(1).email]).toEqual([
      'ada+news@example.com',
      'ada+news@example.com',
    ])
    expect(standIn.account.contacts.size).toBe(1)
  })

  it('may be an external id or a phone, and then its address stays out, since a change lifts a blocklisting', async () => {
    const byId = await openBrevo(standIn, { identifiedBy: 'EXT_ID' })
    expect([byId.identityOf({ extId: 7 }), byId.identityOf({ email })]).toEqual(['7', null])
    expect(await sendOne(byId, { extId: 7 })).toMatchObject({ kind: 'written' })
    expect(await sendOne(byId, { extId: 7, email })).toMatchObject({
      ...{ kind: 'retryable', failure: 'node_failed' },
      reason: expect.stringContaining('email must be left out'),
    })
    const byPhone = await openBrevo(standIn, { identifiedBy: 'SMS', onPhoneProblem: 'OMIT' })
    expect(byPhone.identityOf({ attributes: { SMS: '0049 170 1234567' } })).toBe('+491701234567')
    expect(byPhone.identityOf({ attributes: { SMS: 491701234567 } })).toBe(
      byPhone.identityOf({ attributes: { SMS: '491701234567' } }),
    )
    expect(await sendOne(byPhone, { attributes: { SMS: '+491701234567' } })).toMatchObject({
      kind: 'written',
    })
    expect(await problemOf({ attributes: { SMS: 'x' } }, { identifiedBy: 'SMS' })).toContain('SMS')
    expect(bodyOf(0)).toEqual({ ext_id: '7', updateEnabled: true })
  })

  it.each([
    [{}, 'The record has no value for email, by which Brevo knows it.'],
    [{ email: '  ' }, 'The record has no value for email, by which Brevo knows it.'],
    [{ email: 5 }, 'email is not an e-mail address.'],
    [{ email: 'ada@' }, 'email is not an e-mail address.'],
    [
      { email: `${'a'.repeat(60)}@${'b'.repeat(200)}.example` },
      'email is longer than 254 characters.',
    ],
    [{ email, extId: '' }, 'extId must be a text of 1 to 250 characters.'],
    [{ email, listIds: ['2'] }, 'listIds must be a list of whole numbers.'],
  ])('%j is not sent', async (fields, problem) => {
    expect(await problemOf(fields)).toBe(problem)
  })

  it('a record that is too long is not sent', async () => {
    const fields = { email, attributes: { FIRSTNAME: 'x'.repeat(300_000) } }
    expect(await problemOf(fields)).toContain('at most 262144 are sent')
  })
})

describe('what a person agreed to', () => {
  it('is never given back: only true is sent, and no merge is ever forced', async () => {
    const writer = await openBrevo(standIn)
    await sendOne(writer, { email, emailBlacklisted: true, smsBlacklisted: true })
    await sendOne(writer, { email, attributes: { FIRSTNAME: 'Ada' } })
    expect(standIn.account.find({ email })).toMatchObject({
      ...{ emailBlacklisted: true, smsBlacklisted: true },
    })
    expect(bodyOf(1)).toEqual({ email, attributes: { FIRSTNAME: 'Ada' }, updateEnabled: true })
    for (const field of ['emailBlacklisted', 'smsBlacklisted']) {
      expect(await problemOf({ email, [field]: false })).toContain(
        `${field} must be true or left out`,
      )
    }
  })

  it('control: what the connector never sends lifts the blocklisting', async () => {
    await sendOne(await openBrevo(standIn), { email, emailBlacklisted: true })
    const put = (body: JsonObject) =>
      fetch(`${standIn.url}/contacts/${encodeURIComponent(email)}`, {
        ...{ method: 'PUT', body: JSON.stringify(body) },
        headers: { 'api-key': standIn.apiKey },
      })
    expect((await put({ attributes: { EMAIL: 'ada@example.org' } })).status).toBe(204)
    expect(standIn.account.find({ email: 'ada@example.org' })?.emailBlacklisted).toBe(false)
  })
})

describe('what a value is', () => {
  it('goes out as it is where it fits its attribute', async () => {
    const attributes = { BORN: '1815-12-10', TAGS: ['a', 'b'], CODE: 7, TIER: 'fr', FIRSTNAME: '' }
    const writer = await openBrevo(standIn, { listIds: [2] })
    expect(await sendOne(writer, { email, attributes, listIds: [2] })).toMatchObject({
      kind: 'written',
    })
    expect(bodyOf()).toEqual({ email, attributes, listIds: [2], updateEnabled: true })
  })

  it.each([
    [{ BORN: '1815-02-30' }, 'attributes.BORN must be a day as YYYY-MM-DD'],
    [{ BORN: '10.12.1815' }, 'attributes.BORN must be a day as YYYY-MM-DD'],
    [{ TAGS: 'a' }, 'attributes.TAGS must be a list of texts of up to 200 characters'],
    [
      { TAGS: ['a'.repeat(201)] },
      'attributes.TAGS must be a list of texts of up to 200 characters',
    ],
    [{ TIER: 0 }, 'attributes.TIER must be one of the values that the attribute has'],
    [{ TIER: 2 }, 'attributes.TIER must be one of the values that the attribute has'],
    [{ FIRSTNAME: { de: 'Ada' } }, 'attributes.FIRSTNAME must be a text'],
    [{ FIRSTNAME: null }, 'attributes.FIRSTNAME is null, which Brevo has no form for'],
    [{ SMS: ' ' }, 'attributes.SMS is empty'],
  ])('%j is rejected, since Brevo would leave it out without a word', async (attributes, words) => {
    expect(await problemOf({ email, attributes })).toContain(words)
  })

  it.each([
    ['01701234567', 'DE', '+491701234567'],
    ['+49 (0)170 1234567', undefined, '+491701234567'],
    ['0612345678', 'FR', '+33612345678'],
    ['612345678', 'ES', '+34612345678'],
    ['12025550123', 'US', '+12025550123'],
    [491701234567, undefined, null],
    ['491701234567', 'DE', null],
    ['+49 170 1234567 ext. 5', undefined, null],
    ['+49170', undefined, null],
    ['tel: me', 'DE', null],
  ])(
    'the phone %s of %s is %s: one that can be read in two ways is read in none',
    async (SMS, country, expected) => {
      const options = country === undefined ? {} : { phoneCountry: country }
      const fields = { email, attributes: { SMS } }
      if (expected === null) {
        expect(await problemOf(fields, options)).toContain('cannot be read as one phone number')
      } else {
        await sendOne(await openBrevo(standIn, options), fields)
        expect(bodyOf().attributes).toEqual({ SMS: expected })
      }
    },
  )

  it('null leaves the attribute as it is where the sync says so', async () => {
    const writer = await openBrevo(standIn, { onNull: 'OMIT' })
    const attributes = { FIRSTNAME: null, SMS: '', LASTNAME: 'L' }
    expect(await sendOne(writer, { email, attributes })).toMatchObject({ kind: 'written' })
    expect(bodyOf().attributes).toEqual({ LASTNAME: 'L' })
  })

  it.each([
    [{ note: 'x' }, 'There is no field note'],
    [{ attributes: { SPENT: 5 } }, 'The account has no attribute SPENT'],
    [{ attributes: { EXT_ID: '5' } }, 'attributes.EXT_ID must be left out'],
  ])('a mapping with %j ends the run before anything is sent', async (fields, words) => {
    standIn.account.attributes.push({ name: 'SPENT', category: 'calculated', type: 'float' })
    const writer = await openBrevo(standIn)
    expect(await sendOne(writer, { email, ...fields })).toMatchObject({
      ...{ kind: 'retryable', failure: 'node_failed', reason: expect.stringContaining(words) },
    })
    expect(standIn.sent('POST', '/contacts')).toEqual([])
  })

  it('control: what is sent unchecked vanishes, and Brevo says that all is well', async () => {
    const response = await fetch(`${standIn.url}/contacts`, {
      ...{ method: 'POST', headers: { 'api-key': standIn.apiKey } },
      body: JSON.stringify({ email, attributes: { firstname: 'Ada', BORN: '10.12.1815' } }),
    })
    expect(response.status).toBe(201)
    expect(standIn.account.writes[0]?.attributes).toEqual({})
  })
})

describe('what a call costs', () => {
  /** A gate that notes what passes it. */
  function recordingGate() {
    const taken: string[] = []
    const told: (readonly [string, string, number])[] = []
    const noted: string[] = []
    const note = (kind: string) => (bucket: Bucket, n: number) => {
      told.push([kind, bucket.name, n])
      return Promise.resolve()
    }
    const gate: CallGate = {
      take: (tolls) => {
        taken.push(tolls.map(({ bucket }) => bucket.name).join('+'))
        return Promise.resolve({ kind: 'go' })
      },
      enter: (tolls) => {
        taken.push(`enter ${tolls.map(({ bucket }) => bucket.name).join('+')}`)
        return Promise.resolve()
      },
      correct: note('correct'),
      block: note('block'),
      note: (went) => {
        noted.push(went)
        return Promise.resolve()
      },
    }
    return { gate, taken, told, noted }
  }

  it('is taken for contacts and for everything else apart, before it is made', async () => {
    const { gate, taken } = recordingGate()
    const writer = await openBrevo(standIn, {}, gate)
    await writer.takeTurn(1)
    await createBrevo(gate).testConnection(brevoRequest(standIn))
    await (await openBrevo(standIn, IMPORT, gate)).takeTurn(1)
    const contacts = 'contacts-second+contacts-hour'
    expect(taken).toEqual([
      ...[`enter ${contacts}`, contacts, 'enter others-hour'],
      ...[`enter ${contacts}`, `${contacts}+others-hour`],
    ])
  })

  it.each([
    ['GENERAL', 10, 36_000, 100],
    ['ADVANCED', 20, 72_000, 200],
    ['EXTENDED', 60, null, 600],
  ])(
    'is never more than the plan %s lets through in any of its windows',
    async (plan, ...limits) => {
      const seen = new Map<string, Bucket>()
      const gate: CallGate = {
        ...recordingGate().gate,
        enter: (tolls) => {
          for (const { bucket } of tolls) {
            seen.set(bucket.name, bucket)
          }
          return Promise.resolve()
        },
      }
      await createBrevo(gate).open(brevoRequest(standIn, {}, { plan }))
      await createBrevo(gate).testConnection(brevoRequest(standIn, {}, { plan }))
      const inWindow = (name: string, windowS: number) => {
        const bucket = seen.get(name)
        return bucket ? bucket.capacity + bucket.refillPerSecond * windowS : null
      }
      expect([
        inWindow('contacts-second', 1),
        inWindow('contacts-hour', 3_600),
        inWindow('others-hour', 3_600),
      ]).toEqual(limits)
    },
  )

  it('is corrected by what Brevo says is left, and blocked by a refusal', async () => {
    standIn.limits.isOn = true
    const { gate, told, noted } = recordingGate()
    const writer = await openBrevo(standIn, {}, gate)
    for (let n = 0; n < 10; n += 1) {
      await sendOne(writer, { email })
    }
    expect(told).toEqual([
      ['correct', 'contacts-second', 1],
      ['correct', 'contacts-second', 0],
      ['block', 'contacts-second', 1_000],
    ])
    expect(new Set(noted)).toEqual(new Set(['answered']))
    standIn.script({ kind: 'html', status: 502 }, { kind: 'resetBeforeCommit' })
    await sendOne(writer, { email })
    await sendOne(writer, { email })
    expect(noted.slice(-2)).toEqual(['dead', 'dead'])
  })

  it('a gate that fails does not cost the answer', async () => {
    const { gate } = recordingGate()
    const broken = { ...gate, note: () => Promise.reject(new Error('Redis is gone')) }
    const writer = await openBrevo(standIn, {}, broken)
    expect(await sendOne(writer, { email })).toMatchObject({ kind: 'written' })
  })
})
