import { describe, expect, it } from 'vitest'
import { audit, auditLedger, type FindingKind } from '../chaos/auditor.ts'
import type { Evidence, StoredRun } from '../chaos/evidence.ts'

const ROWS = ['r0,c0', 'r1,c1', 'r2,c0', 'r3,c3', 'r4,c4', 'r5,c5']
const PAGE_SIZE = 3
const HEADER = 'id,contact,email,first,last,note'
const lines = ROWS.map((row, n) => `${row},U${n}@Example.com,Ada,${n},note ${n}`)
const fileText = `${HEADER}\n${lines.join('\n')}\n`
const PAGES = ['a'.repeat(32), 'b'.repeat(32)]

function cursor(record: number): string {
  const text = [HEADER, ...lines.slice(0, record)].map((line) => `${line}\n`).join('')
  return JSON.stringify({ record, offset: text.length })
}

function keyOf(row: number): string {
  const place = (row % PAGE_SIZE).toString(16).padStart(8, '0')
  const digest = row.toString(16).padStart(24, '0')
  return `${PAGES[Math.floor(row / PAGE_SIZE)]}${place}${digest}`
}

function effectOf(row: number) {
  const [id, contact] = (ROWS[row] ?? '').split(',')
  const email = `u${row}@example.com`
  const record = { id, contact, email, label: `Ada ${row}`, note: `note ${row}`, origin: 'chaos' }
  return { key: keyOf(row), record }
}

const NOTHING = { replayed: 0, rejected: 0, inDoubt: 0, quarantined: 0, skipped: 0 }
const RUN: StoredRun = {
  id: 'run1',
  status: 'succeeded',
  epoch: 3,
  read: 6,
  written: 6,
  ...NOTHING,
}
const ALL = ROWS.map((_, row) => row)

/** A sync of two pages of three rows, contact c0 twice, delivered by a run of two attempts. */
const SOUND: Evidence = {
  name: 'sound',
  fileText,
  deliveryClass: 'IDEMPOTENT',
  isContactKnown: true,
  wasRefused: () => false,
  effects: ALL.map(effectOf),
  ledgerKeys: new Set(ALL.map(keyOf)),
  openPages: [],
  held: [],
  setAside: 0,
  intents: [],
  fence: { epoch: 3, reached: cursor(6), savedCursor: cursor(6) },
  runs: [RUN],
  attempts: [
    { runId: 'run1', number: 1, epoch: 1, isClosed: true },
    { runId: 'run1', number: 2, epoch: 3, isClosed: true },
  ],
}

/** The second page stays open; its row 4 is in doubt. */
const IN_DOUBT: Evidence = {
  ...SOUND,
  deliveryClass: 'NONE',
  effects: ALL.filter((row) => row !== 4).map(effectOf),
  ledgerKeys: new Set(ALL.filter((row) => row !== 4).map(keyOf)),
  openPages: [
    { pageDigest: PAGES[1] ?? '', fromCursor: cursor(3), toCursor: cursor(6), isPassed: true },
  ],
  intents: [{ pageDigest: PAGES[1] ?? '', positions: [1], keys: [keyOf(4)], epoch: 1 }],
  fence: { ...SOUND.fence, savedCursor: cursor(3) },
  runs: [{ ...RUN, status: 'partial', written: 5, inDoubt: 1 }],
}

/** The same page with row 4 held. */
const HELD: Evidence = {
  ...IN_DOUBT,
  wasRefused: (record) => record['id'] === 'r4',
  intents: [],
  held: [{ pageDigest: PAGES[1] ?? '', position: 1 }],
  runs: [{ ...RUN, status: 'partial', written: 5, rejected: 1 }],
}

/** Row 4 set aside: its page is closed. */
const SET_ASIDE: Evidence = {
  ...SOUND,
  wasRefused: (record) => record['id'] === 'r4',
  effects: IN_DOUBT.effects,
  ledgerKeys: IN_DOUBT.ledgerKeys,
  setAside: 1,
  runs: [{ ...RUN, status: 'partial', written: 5, quarantined: 1 }],
}

function without<T>(values: Iterable<T>, left: T): Set<T> {
  return new Set([...values].filter((value) => value !== left))
}

describe('the auditor finds nothing', () => {
  it.each([
    ['where every record is delivered', SOUND],
    ['where a record is in doubt, and an intent names it', IN_DOUBT],
    [
      'where a record in doubt was written after all',
      { ...IN_DOUBT, effects: ALL.map(effectOf) } satisfies Evidence,
    ],
    ['where a record is held', HELD],
    ['where a record is set aside', SET_ASIDE],
    [
      'where a record was refused and a later one of its contact delivered',
      {
        ...SOUND,
        wasRefused: (record) => record['id'] === 'r0',
        effects: ALL.slice(1).map(effectOf),
        ledgerKeys: without(SOUND.ledgerKeys, keyOf(0)),
        runs: [{ ...RUN, written: 5, skipped: 1 }],
      } satisfies Evidence,
    ],
  ])('%s', (_, evidence) => {
    expect(audit(evidence).findings).toEqual([])
  })
})

describe('the auditor finds', () => {
  const cases: readonly (readonly [string, FindingKind, Partial<Evidence>])[] = [
    ['an effect that happened twice', 'doubled', { effects: [...SOUND.effects, effectOf(3)] }],
    [
      'a record written again under another key',
      'doubled',
      { effects: [...SOUND.effects, { ...effectOf(3), key: keyOf(3).replace('b', 'c') }] },
    ],
    [
      'a record that was never written',
      'lost',
      {
        effects: SOUND.effects.filter(({ key }) => key !== keyOf(4)),
        ledgerKeys: without(SOUND.ledgerKeys, keyOf(4)),
      },
    ],
    [
      'a record that is not in the file',
      'invented',
      { effects: [...SOUND.effects, { key: 'f'.repeat(64), record: { id: 'r9' } }] },
    ],
    [
      'an old value that overwrote a new one',
      'stale',
      { effects: [2, 0, 1, 3, 4, 5].map(effectOf) },
    ],
    [
      'an effect that neither ledger nor intent knows',
      'ledger',
      { ledgerKeys: without(SOUND.ledgerKeys, keyOf(5)) },
    ],
    [
      'a key both completed and reserved',
      'ledger',
      { ...IN_DOUBT, ledgerKeys: SOUND.ledgerKeys, effects: SOUND.effects },
    ],
    [
      'a held record that is delivered as well',
      'ledger',
      { ...HELD, ledgerKeys: SOUND.ledgerKeys, effects: SOUND.effects },
    ],
    [
      'a saved cursor past a record without outcome',
      'checkpoint',
      { ...HELD, fence: { ...HELD.fence, savedCursor: cursor(6) } },
    ],
    [
      'a checkpoint ahead of the ledger',
      'checkpoint',
      {
        effects: SOUND.effects.filter(({ key }) => key !== keyOf(1)),
        ledgerKeys: without(SOUND.ledgerKeys, keyOf(1)),
      },
    ],
    [
      'a delivery that stopped before the end of the file',
      'checkpoint',
      { fence: { epoch: 3, reached: cursor(3), savedCursor: cursor(3) } },
    ],
    [
      'a page that is open for no reason',
      'checkpoint',
      { openPages: IN_DOUBT.openPages, fence: IN_DOUBT.fence },
    ],
    [
      'a page that delivery never passed',
      'checkpoint',
      { ...HELD, openPages: HELD.openPages.map((page) => ({ ...page, isPassed: false })) },
    ],
    [
      'an intent left of a destination that could be sent to again',
      'intent',
      { ...IN_DOUBT, deliveryClass: 'IDEMPOTENT' },
    ],
    ['a held record that was never refused', 'held', { ...HELD, wasRefused: () => false }],
    ['a record that was refused and is not on the list', 'lost', { ...SET_ASIDE, setAside: 0 }],
    ['more records on the list than were refused', 'held', { ...SET_ASIDE, setAside: 2 }],
    [
      'a record set aside that was never refused',
      'lost',
      { ...SET_ASIDE, wasRefused: () => false },
    ],
    [
      'a success with a record set aside',
      'books',
      { ...SET_ASIDE, runs: [{ ...RUN, written: 5, quarantined: 1 }] },
    ],
    ['an intent without its page', 'intent', { ...IN_DOUBT, openPages: [] }],
    ['books that do not balance', 'books', { runs: [{ ...RUN, read: 7 }] }],
    [
      'a success with a record in doubt',
      'books',
      { ...IN_DOUBT, runs: [{ ...RUN, written: 5, inDoubt: 1 }] },
    ],
    [
      'a last run that does not tell of a held record',
      'books',
      { ...HELD, runs: [{ ...RUN, status: 'partial' }] },
    ],
    ['more written than the ledger has', 'books', { runs: [{ ...RUN, read: 9, written: 9 }] }],
    ['less told than the ledger has', 'books', { runs: [{ ...RUN, read: 4, written: 4 }] }],
    ['a run that still runs', 'history', { runs: [{ ...RUN, status: 'running' }] }],
    ['a last run that failed', 'history', { runs: [{ ...RUN, status: 'failed' }] }],
    [
      'an attempt that was never closed',
      'history',
      { attempts: SOUND.attempts.map((attempt) => ({ ...attempt, isClosed: false })) },
    ],
    [
      'two attempts of one epoch',
      'history',
      { attempts: SOUND.attempts.map((attempt) => ({ ...attempt, epoch: 3 })) },
    ],
    ['an attempt that is missing', 'history', { attempts: SOUND.attempts.slice(1) }],
    ['a fence behind its attempts', 'history', { fence: { ...SOUND.fence, epoch: 2 } }],
  ]

  it.each(cases)('%s', (_, kind, doctored) => {
    const told = audit({ ...SOUND, ...doctored })
    expect(told.findings.map((finding) => finding.kind)).toContain(kind)
  })

  it('a completed key that no destination ever applied', () => {
    expect(auditLedger(['a', 'b'], new Set(['a']))).toMatchObject([{ kind: 'ledger' }])
    expect(auditLedger(['a'], new Set(['a']))).toEqual([])
  })

  it('how many were doubled and lost', () => {
    const doubled = audit({ ...SOUND, effects: [...SOUND.effects, effectOf(3), effectOf(4)] })
    expect(doubled).toMatchObject({ records: 6, effects: 8, doubled: 2, lost: 0 })
  })
})
