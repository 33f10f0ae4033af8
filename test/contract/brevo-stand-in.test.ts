/** The vendor's own client works against the stand-in and sees what it would see of the vendor. */
import { BrevoClient, BrevoError } from '@getbrevo/brevo'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type BrevoStandIn, startBrevo } from '../support/brevo/server.ts'
import { startScript } from '../support/processes.ts'

let standIn: BrevoStandIn
let client: BrevoClient

beforeEach(async () => {
  standIn = await startBrevo()
  client = openClient(standIn.apiKey)
})
afterEach(() => standIn.close())

function openClient(apiKey: string): BrevoClient {
  return new BrevoClient({ apiKey, baseUrl: standIn.url, maxRetries: 0, timeoutInSeconds: 1 })
}

/** What the client throws: the status it saw and the body. */
async function refusalOf(call: Promise<unknown>) {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(BrevoError)
  const { statusCode, body } = error as BrevoError
  return { statusCode, body }
}

const ada = { email: 'Ada@Example.com', attributes: { FIRSTNAME: 'Ada' }, updateEnabled: true }

describe('the vendor’s client sees in the stand-in', () => {
  it('201 with an id for a new contact, 204 without a body for a known one', async () => {
    expect(await client.contacts.createContact(ada)).toEqual({ id: 1 })
    const { data, rawResponse } = await client.contacts.createContact(ada).withRawResponse()
    expect([data, rawResponse.status]).toEqual([undefined, 204])
    expect(standIn.account.valuesOf('ada@example.com', 'FIRSTNAME')).toEqual(['Ada', 'Ada'])
  })

  it('a contact by its address in any case, and by its external id', async () => {
    await client.contacts.createContact({ ...ada, ext_id: 'c-1' })
    const byEmail = await client.contacts.getContactInfo({ identifier: 'ADA@example.com' })
    const byId = await client.contacts.getContactInfo({
      ...{ identifier: 'c-1', identifierType: 'ext_id' as const },
    })
    expect(byEmail).toMatchObject({ id: 1, email: 'ada@example.com', listIds: [] })
    expect(byId.id).toBe(1)
    expect(
      await refusalOf(client.contacts.getContactInfo({ identifier: 'nobody@example.com' })),
    ).toMatchObject({ statusCode: 404, body: { code: 'document_not_found' } })
  })

  it('an update by PUT, and one that meets nobody', async () => {
    await client.contacts.createContact(ada)
    await client.contacts.updateContact({
      ...{ identifier: 'ada@example.com', attributes: { FIRSTNAME: 'Augusta' }, listIds: [2] },
    })
    const found = await client.contacts.getContactInfo({ identifier: 'ada@example.com' })
    expect(found).toMatchObject({ attributes: { FIRSTNAME: 'Augusta' }, listIds: [2] })
    expect(
      await refusalOf(client.contacts.updateContact({ identifier: 'nobody@example.com' })),
    ).toMatchObject({ statusCode: 404 })
  })

  it('the attributes of the account, and that what is none of them is left out without a word', async () => {
    const { attributes = [] } = await client.contacts.getAttributes()
    expect(attributes.map(({ name }) => name)).toContain('FIRSTNAME')
    await client.contacts.createContact({
      email: 'ada@example.com',
      attributes: { FIRSTNAME: 'Ada', FirstName: 'x', PRENOM: 'x', LASTNAME: 5 },
    })
    expect(standIn.account.writes[0]?.attributes).toEqual({ FIRSTNAME: 'Ada' })
  })

  it.each(['duplicate_parameter', 'invalid_parameter'] as const)(
    'a conflict of two contacts, coded %s',
    async (code) => {
      standIn.account.conflictCode = code
      await client.contacts.createContact({ ...ada, attributes: { SMS: '+491701234567' } })
      const other = { email: 'bob@example.com', updateEnabled: true }
      expect(
        await refusalOf(
          client.contacts.createContact({ ...other, attributes: { SMS: '491701234567' } }),
        ),
      ).toEqual({
        statusCode: 400,
        body: {
          code,
          message: 'Unable to create contact, SMS is already associated with another Contact',
          metadata: { duplicate_identifiers: ['SMS'] },
        },
      })
    },
  )

  it('that one contact is deleted where identifiers are merged by force', async () => {
    await client.contacts.createContact({ email: 'ada@example.com' })
    await client.contacts.createContact({ ext_id: 'c-1', attributes: {} })
    const both = { email: 'ada@example.com', ext_id: 'c-1', updateEnabled: true, forceMerge: true }
    await client.contacts.createContact(both)
    expect(standIn.account.deleted).toEqual([1])
  })

  it('an import: 202 with its process, looked at until it is over, with a link to what was wrong', async () => {
    standIn.processes.looksUntilDone = 1
    const { processId } = await client.contacts.importContacts({
      ...{ fileBody: 'EMAIL;FIRSTNAME\nada@example.com;"A;da"\nnobody;x\n', listIds: [2] },
    })
    expect(processId).toBe(101)
    const id = Number(processId)
    expect((await client.process.getProcess({ processId: id })).status).toBe('in_process')
    const over = await client.process.getProcess({ processId: id })
    expect(over).toMatchObject({ name: 'IMPORTUSER', status: 'completed' })
    const link = over.info?.import?.invalid_emails ?? ''
    expect(await (await fetch(link)).text()).toContain('nobody')
    expect(over.info?.import?.duplicate_email_id).toBeNull()
    const { processes = [] } = await client.process.getProcesses()
    expect(processes).toHaveLength(1)
    expect(standIn.account.find({ email: 'ada@example.com' })?.attributes.get('FIRSTNAME')).toBe(
      'A;da',
    )
  })

  it('an import refused that names no list, or only ids', async () => {
    expect(
      await refusalOf(client.contacts.importContacts({ fileBody: 'EMAIL\nada@example.com\n' })),
    ).toMatchObject({ statusCode: 400 })
    expect(
      await refusalOf(
        client.contacts.importContacts({ fileBody: 'CONTACT ID\n7\n', listIds: [2] }),
      ),
    ).toMatchObject({
      body: { message: 'could not find any valid email or SMS or Contact ID' },
    })
  })

  it('a batch of which one is unknown changes nothing', async () => {
    await client.contacts.createContact(ada)
    const known = { email: 'ada@example.com', attributes: { FIRSTNAME: 'Changed' } }
    const contacts = [known, { ...known, email: 'nobody@example.com' }]
    expect(await refusalOf(client.contacts.updateBatchContacts({ contacts }))).toMatchObject({
      statusCode: 404,
      body: { code: 'document_not_found', message: 'No contact found for indexes 1' },
    })
    expect(standIn.account.writes).toHaveLength(1)
    await client.contacts.updateBatchContacts({ contacts: [known] })
    expect(standIn.account.valuesOf('ada@example.com', 'FIRSTNAME')).toEqual(['Ada', 'Changed'])
  })

  it('three ways of not being let in', async () => {
    const unauthorized = (message: unknown) => ({
      statusCode: 401,
      body: { code: 'unauthorized', message },
    })
    expect(await refusalOf(openClient('wrong').contacts.getAttributes())).toEqual(
      unauthorized('Key not found'),
    )
    standIn.isAddressAllowed = false
    expect(await refusalOf(client.contacts.getAttributes())).toEqual(
      unauthorized(expect.stringContaining('unrecognised IP address')),
    )
    const bare = await fetch(`${standIn.url}/contacts/attributes`)
    expect([bare.status, await bare.json()]).toEqual([
      401,
      { message: 'authentication not found in headers', code: 'unauthorized' },
    ])
  })

  it.each([true, false])(
    'two rates that are counted apart, with headers: %s',
    async (hasHeaders) => {
      standIn.limits.isOn = true
      standIn.limits.hasHeaders = hasHeaders
      for (let n = 0; n < 10; n += 1) {
        await client.contacts.getAttributes()
      }
      const refused = await fetch(`${standIn.url}/contacts/attributes`, {
        headers: { 'api-key': standIn.apiKey },
      })
      expect(refused.status).toBe(429)
      expect(refused.headers.get('x-sib-ratelimit-reset')).toBe(hasHeaders ? '1' : null)
      expect(refused.headers.get('retry-after')).toBeNull()
      for (let n = 0; n < 100; n += 1) {
        await client.process.getProcesses()
      }
      expect(await refusalOf(client.process.getProcesses())).toMatchObject({ statusCode: 429 })
      standIn.limits.advance(1_000)
      await client.contacts.getAttributes()
      expect(await refusalOf(client.process.getProcesses())).toMatchObject({ statusCode: 429 })
      standIn.limits.advance(3_600_000)
      await client.process.getProcesses()
    },
  )

  it('every way in which an answer can be lost, and what was done all the same', async () => {
    const lost = async () =>
      await client.contacts.createContact(ada).then(
        (data: unknown) => (data instanceof Object && 'error' in data ? 'no JSON' : 'answered'),
        (error: unknown) => (error as BrevoError).statusCode ?? 'no status',
      )
    standIn.script(
      { kind: 'resetBeforeCommit' },
      { kind: 'resetAfterCommit' },
      { kind: 'hang', isApplied: true },
      { kind: 'html', status: 200 },
      { kind: 'html', status: 502, isApplied: true },
      { kind: 'truncated' },
      { kind: 'answer', status: 425, body: { code: 'account_in_process', message: 'Wait.' } },
    )
    const seen: unknown[] = []
    const counts: number[] = []
    for (let n = 0; n < 7; n += 1) {
      seen.push(await lost())
      counts.push(standIn.account.writes.length)
    }
    expect(counts).toEqual([0, 1, 2, 2, 3, 4, 4])
    expect(seen).toEqual(['no status', 'no status', 'no status', 'no JSON', 502, 'no JSON', 425])
  })
})

it('the stand-in as a process of its own works the same, and tells what it did', async () => {
  const standing = startScript('test/support/standing-brevo.ts', {})
  try {
    const baseUrl = await standing.find(/listens at (\S+)/)
    const control = await standing.find(/tells at (\S+)/)
    const post = (path: string, body: unknown) =>
      fetch(`${control}${path}`, { method: 'POST', body: JSON.stringify(body) })
    await post('/settings', { looksUntilDone: null })
    await post('/faults', [{ kind: 'resetAfterCommit' }])
    const options = { apiKey: standIn.apiKey, baseUrl, maxRetries: 0 }
    const { contacts } = new BrevoClient(options)
    await expect(contacts.createContact(ada)).rejects.toThrow('fetch failed')
    const { processId } = await contacts.importContacts({
      ...{ fileBody: 'EMAIL\nbob@example.com\n', listIds: [2] },
    })
    await post(`/imports/${processId}`, {})
    expect(await (await fetch(`${control}/oracle`)).json()).toMatchObject({
      writes: [{ name: 'ada@example.com' }, { name: 'bob@example.com', path: 'import' }],
      imports: [{ id: 101, status: 'completed' }],
      mostOpenImports: 1,
    })
  } finally {
    await standing.kill('SIGKILL')
  }
})
