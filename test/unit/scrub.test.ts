import { describe, expect, it } from 'vitest'
import { failure } from '../../src/domain/failure.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { scrub, scrubForeign } from '../../src/domain/scrub.ts'
import { MAX_EXAMINED, scrubValues } from '../../src/domain/scrub-values.ts'
import { systemClock } from '../../src/runtime/clock.ts'

const ID = '0198c0de-0000-7000-8000-000000000000'

describe('scrubbing', () => {
  it.each([
    ['mail ann.o+x@mail.example.com now', 'mail [e-mail] now'],
    ['mail=ann%40example.com&x', 'mail=[e-mail]&x'],
    ['call +49 (30) 123-45 67 now', 'call [number] now'],
    ['card 4111 1111 1111 1111', 'card [number]'],
    ['Invalid key abcDEF1234567890abcdef1234', 'Invalid key [token]'],
    ['key sk_live_4eC39Hq', 'key [token]'],
    ['Authorization: Bearer hunter2', 'Authorization: [secret]'],
    ['sent Bearer hunter2, and', 'sent Bearer [secret], and'],
    ['{"password":"swordfish","id":7}', '{"password":"[secret]","id":7}'],
    ['{\\"api_key\\":\\"swordfish\\"}', '{\\"api_key\\":\\"[secret]\\"}'],
    ['password=swordfish&page=2', 'password=[secret]&page=2'],
    [
      'GET https://ada:swordfish@api.example.com:8080/v1/contacts?key=x&page=2 failed',
      'GET https://[secret]@api.example.com:8080/v1/contacts?[secret] failed',
    ],
    ['Key (email)=(Ada Lovelace (2)) already exists.', 'Key (email)=([value]) already exists.'],
    ['Key (name, city)=(Ada Love', 'Key (name, city)=([value])'],
    ['Failing row contains (1, Ada, null).', 'Failing row contains ([value]).'],
    [
      'invalid input syntax for type integer: "Ada"',
      'invalid input syntax for type integer: "[value]"',
    ],
    ['value "99999" is out of range', 'value "[value]" is out of range'],
    [
      "Duplicate entry 'O'Brien' for key 'contact.name'",
      "Duplicate entry '[value]' for key 'contact.name'",
    ],
  ])('masks in %j', (text, expected) => {
    expect(scrub(text)).toBe(expected)
    expect(scrubForeign(text)).toBe(expected)
    expect(scrub(expected)).toBe(expected)
  })

  it.each([
    'The destination answered 422: VALIDATION_ERROR_E1042, field_name_that_is_very_long_indeed is required',
    'The token: is missing. The token is invalid. Bearer token required.',
    'https://api.example.com/v1/contacts answered 404',
    'HTTP 503 after 30000 ms',
  ])('leaves %j as it is', (text) => {
    expect(scrub(text)).toBe(text)
    expect(scrubForeign(text)).toBe(text)
  })

  it.each([
    `The import of sync_${ID} has been open for 3600 s.`,
    'line 1234567: the row has 3 columns, the header has 4.',
    'The record is 1234567 bytes of JSON; the destination takes at most 1048576 bytes.',
  ])('leaves %j as it is, where the words are ours', (text) => {
    expect(scrub(text)).toBe(text)
    expect(scrubForeign(text)).not.toBe(text)
  })

  it('is done to the detail of every failure, before it is cut', () => {
    const detail = `${'x '.repeat(990)}${'y'.repeat(15)} ann@example.com`
    const told = failure('node_failed', { detail }).detail
    expect(told).not.toContain('ann')
    expect(failure('node_failed', { detail: 'ann@example.com' }).detail).toBe('[e-mail]')
  })

  it('is quick on texts made to be slow', () => {
    const started = systemClock.monotonicMs()
    for (const part of [
      'a@',
      '1 ',
      '@',
      'a',
      'token',
      'Key (a)=(',
      '"',
      'https://a?',
      '%40',
      '-0198',
    ]) {
      scrub(part.repeat(100_000))
    }
    expect(systemClock.monotonicMs() - started).toBeLessThan(1_500)
  })
})

describe("scrubbing a record's values", () => {
  const record = {
    name: 'Ada King Lovelace',
    email: 'ada@example.com',
    nick: 'Li',
    city: 'Zürich',
    zip: 80331,
    status: 'email',
    newsletter: true,
    tier: 'value',
    note: 'Met her at the fair, call +49 30 1234567 and ask for the blue one',
    tags: ['vip', { since: '2019-03-01' }],
  }
  const clean = (text: string) => scrubValues(text, [record])

  it.each([
    ['name "Ada King Lovelace" is taken', 'name "[value]" is taken'],
    ['NAME ADA KING LOVELACE IS TAKEN', 'NAME [value] IS TAKEN'],
    ['Lovelace, Ada: duplicate', '[value], [value]: duplicate'],
    ['/contacts/Ada%20King%20Lovelace', '/contacts/[value]'],
    ['no city zürich', 'no city [value]'],
    ['Li is no nick', '[value] is no nick'],
    ['zip 80331 does not exist', 'zip [value] does not exist'],
    ['tag vip since 2019-03-01', 'tag [value] since [value]'],
    ['note too long: Met her at the fair, call', 'note too long: [value]'],
    ['note: met her at the fair, call +49 30 1234567 and ask!', 'note: [value]!'],
    // What was masked and cut before.
    ['note: Met her at the fair, call [number] and ask for t…', 'note: [value]…'],
    ['name of Ada Ki…', 'name of [value]…'],
    ['name of Ad…', 'name of [value]…'],
  ])('takes them out of %j', (text, expected) => {
    expect(clean(text)).toBe(expected)
  })

  it.each([
    'The destination answered 422: email is required (E1042).',
    'Adamant value in field email',
    'Linear mapping of citys',
    'status 331, page 8033',
  ])('leaves %j as it is', (text) => {
    expect(clean(text)).toBe(text)
  })

  it('takes out the whole of a value that begins with another one', () => {
    const street = { place: 'main', street: 'main road five' }
    expect(scrubValues('no main road five, no main', [street])).toBe('no [value], no [value]')
  })

  describe('of more records than can be looked at', () => {
    const LENGTH = 3_000
    const RECORDS = 10_000
    /** Each looks as if the text could speak of it. */
    function* longRecords(drawn: { count: number }) {
      for (; drawn.count < RECORDS; drawn.count += 1) {
        yield { remark: `said at noon @ ${drawn.count} ${'x'.repeat(LENGTH)}` }
      }
    }
    const TEXT = 'The destination answered 422: said at noon [e-mail], remark of Lovelace (E1042).'

    it('examines so many characters and no more, of which others of the answer have none left', () => {
      const [drawn, effort] = [{ count: 0 }, { examined: 0 }]
      scrubValues(TEXT, longRecords(drawn), effort)
      expect(drawn.count).toBeGreaterThan(100)
      expect(drawn.count).toBeLessThan(RECORDS)
      const examined = effort.examined
      expect(examined).toBeLessThan(MAX_EXAMINED + 40 * LENGTH)
      scrubValues(TEXT, longRecords(drawn), effort)
      expect(effort.examined - examined).toBeLessThan(40 * LENGTH)
    })

    it('keeps no word but ours and names of fields', () => {
      expect(scrubValues(TEXT, longRecords({ count: 0 }))).toBe(
        'The destination answered 422: [value] at [value] [e-mail], remark of [value]).',
      )
    })
  })

  it('keeps no word but ours of a record that is nested too deeply', () => {
    let row: JsonObject = { name: 'Lovelace' }
    for (let depth = 0; depth < 100_000; depth += 1) {
      row = { in: row }
    }
    expect(scrubValues('record rejected: Lovelace', [row])).toBe('record rejected: [value]')
  })
})
