/** An import into Brevo: what it carries, what became of its rows, when nothing may be imported (I12). */
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DestinationWriter, OutgoingRecord } from '../../src/connectors/destination.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import {
  closeBrevoClient,
  findOpen,
  IMPORT,
  importAll,
  lookAt,
  openBrevo,
  sendAll,
  toOutgoing,
} from '../support/brevo/open-writer.ts'
import { type BrevoFault, type BrevoStandIn, startBrevo } from '../support/brevo/server.ts'

afterAll(closeBrevoClient)

const written = { kind: 'written', remoteId: null }
const unknown = expect.objectContaining({ kind: 'unknown' })
let standIn: BrevoStandIn
let writer: DestinationWriter

beforeEach(async () => {
  standIn = await startBrevo()
  standIn.account.attributes.push(
    { name: 'SPENT', category: 'normal', type: 'float' },
    { name: 'BORN', category: 'normal', type: 'date' },
  )
  writer = await openBrevo(standIn, IMPORT)
})
afterEach(() => standIn.close())

const addresses = (...names: readonly string[]) =>
  toOutgoing(...names.map((name) => ({ email: `${name}@example.com` })))
const bodyOf = (n = 0) => JSON.parse(standIn.sent('POST', '/contacts/import')[n]?.body ?? '')
const attributesOf = (email: string) =>
  Object.fromEntries(standIn.account.find({ email })?.attributes ?? [])
const begin = async (records: readonly OutgoingRecord[]) => {
  const answer = await sendAll(writer, records)
  expect(answer.kind).toBe('accepted')
  return answer.kind === 'accepted' ? answer.jobId : ''
}
const problemOf = (fields: JsonObject) => writer.describeUnsendable({ fields, json: '' })

describe('what an import carries', () => {
  it('arrives as it was, whatever stands in it', async () => {
    const texts = [
      'a;b',
      'say "no"',
      ' x ',
      '=1+1',
      'Ærøskøbing 🐟',
      "O'Brien, Ada",
      'false',
      '007',
    ]
    const contacts = texts.map((FIRSTNAME, n) => ({
      email: `P${n}@Example.com`,
      attributes: { FIRSTNAME, SPENT: n / 4, BORN: '1815-12-10' },
    }))
    await importAll(writer, toOutgoing(...contacts))
    expect(texts.map((_, n) => attributesOf(`p${n}@example.com`))).toEqual(
      contacts.map(({ attributes }) => attributes),
    )
    expect(bodyOf()).toMatchObject({
      ...{ listIds: [2], updateExistingContacts: true, emptyContactsAttributes: false },
      disableNotification: true,
    })
    expect(standIn.account.deleted).toEqual([])
  })

  it('says nothing of an attribute that a record leaves out, and erases nothing', async () => {
    const full = { email: 'a@example.com', attributes: { FIRSTNAME: 'Ada', LASTNAME: 'L' } }
    await importAll(writer, toOutgoing(full))
    const other = { email: 'b@example.com', attributes: { LASTNAME: 'B' } }
    await importAll(
      writer,
      toOutgoing({ email: 'a@example.com', attributes: { FIRSTNAME: 'Augusta' } }, other),
    )
    expect(attributesOf('a@example.com')).toEqual({ FIRSTNAME: 'Augusta', LASTNAME: 'L' })
  })

  it.each([
    [{ FIRSTNAME: '' }, 'attributes.FIRSTNAME is empty'],
    [{ FIRSTNAME: 'a\nb' }, 'attributes.FIRSTNAME has a line break'],
    [{ FIRSTNAME: null }, 'attributes.FIRSTNAME is null'],
  ])('does not carry %j', (attributes, words) => {
    expect(problemOf({ email: 'a@example.com', attributes })).toContain(words)
  })

  it.each([
    { extId: '7' },
    { listIds: [2] },
    { emailBlacklisted: true },
    { attributes: { SMS: '+491701234567' } },
  ])('names a contact by its address alone: with %j it is not sent', async (fields) => {
    const records = toOutgoing({ email: 'a@example.com', ...fields })
    expect(await sendAll(writer, records)).toMatchObject({
      outcomes: [{ failure: 'node_failed', reason: expect.stringContaining('must be left out') }],
    })
    expect(standIn.sent('POST', '/contacts/import')).toEqual([])
  })

  it('is not sent when it is too large, but in parts', async () => {
    // Six megabytes take a busy machine more than a second.
    writer = await openBrevo(standIn, { ...IMPORT, requestDeadlineMs: 30_000 })
    const FIRSTNAME = 'x'.repeat(200_000)
    const records = toOutgoing(
      ...Array.from({ length: 41 }, (_, n) => ({
        email: `p${n}@example.com`,
        attributes: { FIRSTNAME },
      })),
    )
    expect(await sendAll(writer, records)).toMatchObject({ kind: 'refused', isTooLarge: true })
    expect(standIn.sent('POST', '/contacts/import')).toEqual([])
    expect((await sendAll(writer, records.slice(0, 30))).kind).toBe('accepted')
  })

  it.each([
    ['413', { kind: 'answer', status: 413 }, { kind: 'refused', isTooLarge: true }],
    [
      '400 about the call, such as a list that does not exist',
      { kind: 'answer', status: 400, body: { code: 'invalid_parameter', message: 'List ID' } },
      { outcomes: [{ kind: 'retryable', failure: 'node_failed' }] },
    ],
    [
      '202 without a process',
      { kind: 'answer', status: 202, body: {} },
      { outcomes: [{ kind: 'unknown', failure: 'node_failed' }] },
    ],
  ] as const)('that is answered with %s', async (_, fault: BrevoFault, expected) => {
    standIn.script(fault)
    expect(await sendAll(writer, addresses('a'))).toMatchObject(expected)
  })
})

describe('what became of an import', () => {
  it('is told when it is over, and not before', async () => {
    standIn.processes.looksUntilDone = 2
    const records = addresses('a', 'b')
    const jobId = await begin(records)
    expect(await lookAt(writer, jobId, records)).toEqual({ kind: 'running' })
    expect(await lookAt(writer, jobId, records)).toEqual({ kind: 'running' })
    expect(standIn.account.writes).toEqual([])
    expect(await lookAt(writer, jobId, records)).toEqual({
      ...{ kind: 'finished', outcomes: [written, written] },
    })
  })

  it('is told row by row; the files never see the key', async () => {
    standIn.processes.disliked.add('b@example.com')
    expect(await importAll(writer, addresses('a', 'b', 'c'))).toEqual({
      kind: 'finished',
      outcomes: [
        written,
        { kind: 'rejected', reason: expect.stringContaining('invalid_emails') },
        written,
      ],
    })
    expect(standIn.leakedKeys).toBe(0)
  })

  it.each([
    ['a row without a heading', 'a@example.com', ['rejected', 'written']],
    ['the whole row, with commas', 'ID,EMAIL\n7,"A@Example.com"', ['rejected', 'written']],
    ['only a heading', 'EMAIL', ['written', 'written']],
    ['nothing at all', '', ['unknown', 'unknown']],
    ['an error in the place of a file', '{"message":"File expired"}', ['unknown', 'unknown']],
    ['words in the place of a file', 'Link expired', ['unknown', 'unknown']],
    ['a row that nobody sent', 'EMAIL\nzoe@example.com', ['unknown', 'unknown']],
    ['a row of ours and one that nobody sent', 'a@example.com\n17', ['rejected', 'unknown']],
  ])('is read from duplicates that are listed as %s', async (_, file, kinds) => {
    const records = addresses('a', 'b')
    const jobId = await begin(records)
    standIn.processes.finish(Number(jobId))
    standIn.processes.find(Number(jobId))?.files.set('duplicate_phone_id', file)
    const state = await lookAt(writer, jobId, records)
    expect(state?.kind === 'finished' && state.outcomes.map(({ kind }) => kind)).toEqual(kinds)
  })

  it.each(['failed', 'cancelled'] as const)(
    'is unknown where it %s: its first rows may have landed',
    async (status) => {
      standIn.processes.looksUntilDone = null
      const records = addresses('a', 'b')
      const jobId = await begin(records)
      standIn.processes.end(Number(jobId), status)
      expect(await lookAt(writer, jobId, records)).toEqual({
        ...{ kind: 'finished', outcomes: [unknown, unknown] },
      })
    },
  )

  it('is known to another worker where nothing was wrong, and else sent again', async () => {
    const records = addresses('a', 'b')
    const good = await begin(records)
    standIn.processes.look()
    standIn.processes.disliked.add('b@example.com')
    const bad = await begin(records)
    const other = await openBrevo(standIn, IMPORT)
    expect(await lookAt(other, good, records)).toMatchObject({ outcomes: [written, written] })
    expect(await lookAt(other, bad, records)).toMatchObject({ outcomes: [unknown, unknown] })
    expect(await lookAt(other, bad, [])).toEqual({ kind: 'finished', outcomes: [] })
  })

  it('that Brevo has forgotten is lost, unless some import is open', async () => {
    const records = addresses('a')
    const jobId = await begin(records)
    standIn.processes.look()
    standIn.processes.forgotten.add(Number(jobId))
    expect(await lookAt(writer, jobId, records)).toMatchObject({ kind: 'lost' })
    standIn.processes.begin()
    expect(await lookAt(writer, jobId, records)).toEqual(unknown)
  })

  it('is not believed to be forgotten where a proxy says so', async () => {
    const records = addresses('a')
    const jobId = await begin(records)
    standIn.decide(({ path }) =>
      path === `/processes/${jobId}` ? { kind: 'html', status: 404 } : { kind: 'none' },
    )
    expect(await lookAt(writer, jobId, records)).toEqual(unknown)
  })

  it.each([
    ['the file is not there', 'http://127.0.0.1', unknown],
    [
      'the file lies in the open elsewhere',
      'http://results.example',
      { kind: 'finished', outcomes: [unknown] },
    ],
    ['the link is none', 'results', { kind: 'finished', outcomes: [unknown] }],
  ])('is unknown where %s', async (_, base, expected) => {
    standIn.resultsUrl =
      base === 'http://127.0.0.1' ? standIn.url.replace('/v3', '/results/no') : base
    standIn.processes.disliked.add('a@example.com')
    expect(await importAll(writer, addresses('a'))).toEqual(expected)
  })

  it.each([
    [
      '429',
      { kind: 'answer', status: 429, body: { message: 'Slow down.' } },
      'provider_rate_limited',
    ],
    ['a web page', { kind: 'html', status: 200 }, 'provider_unavailable'],
    ['another status', { kind: 'answer', status: 200, body: { status: 'odd' } }, 'node_failed'],
    [
      '401',
      { kind: 'answer', status: 401, body: { message: 'Key not found' } },
      'connection_unauthorized',
    ],
  ] as const)('is not told by %s', async (_, fault, failure) => {
    const records = addresses('a')
    const jobId = await begin(records)
    standIn.decide(() => fault)
    expect(await lookAt(writer, jobId, records)).toMatchObject({ kind: 'unknown', failure })
  })
})

describe('an import whose answer was lost', () => {
  it('is nowhere to be found while any import of the account is open, whosever it is', async () => {
    standIn.processes.looksUntilDone = null
    standIn.script({ kind: 'resetAfterCommit' })
    await sendAll(writer, addresses('a'))
    const found = await findOpen(writer)
    expect(found).toMatchObject({ kind: 'unknown', failure: 'provider_unavailable' })
    expect(found?.kind === 'unknown' && found.reason).toMatch(/import 101 .*support cancel it/)
    standIn.processes.finish(101)
    expect(await findOpen(writer)).toEqual({ kind: 'absent' })
  })

  it.each(['suspended', 'Queued', undefined])('may land with the status %s', async (status) => {
    const process = standIn.processes.begin()
    process.isStuck = true
    Object.assign(process, { status })
    expect(await findOpen(writer)).toEqual(unknown)
    expect(await writer.takeTurn(1)).toMatchObject({ kind: 'wait' })
  })

  it('is not what else goes on in the account', async () => {
    standIn.processes.begin('LIST_EXPORT')
    expect(await findOpen(writer)).toEqual({ kind: 'absent' })
    expect(await writer.takeTurn(1)).toEqual({ kind: 'go' })
  })

  it.each([
    ['a web page', { kind: 'html', status: 502 }],
    ['429', { kind: 'answer', status: 429 }],
    ['no list', { kind: 'answer', status: 200, body: { processes: 'none' } }],
    ['404', { kind: 'answer', status: 404, body: { message: 'No.' } }],
  ] as const)(
    'is not believed to be nowhere where the list is answered with %s',
    async (_, fault) => {
      standIn.decide(() => fault)
      expect(await findOpen(writer)).toEqual(unknown)
    },
  )
})
