/** What may be done with rejected records, and what is kept of those that are set aside (I17). */
import { describe, expect, it } from 'vitest'
import {
  decideDiscard,
  decideRedrive,
  MAX_PAYLOAD_BYTES,
  MAX_SET_ASIDE,
  type SetAsideRecord,
} from '../../src/domain/quarantine.ts'
import type { PreparedRecord } from '../../src/engine/prepare-page.ts'
import { openRow, Quarantine, type QuarantineOptions } from '../../src/engine/quarantine.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { createSealer } from '../../src/runtime/seal.ts'

const ASIDE: SetAsideRecord = {
  state: 'quarantined',
  isSuperseded: false,
  hasPayload: true,
  isUnanswered: false,
}
const IN_FLIGHT = { id: 'run1' }

describe('bringing back', () => {
  it.each([
    ['set aside', {}, 'redrive'],
    ['set aside, with nothing kept', { hasPayload: false }, 'no_payload'],
    ['brought back before, by a run that is over', { state: 'redriving' }, 'redrive'],
    ['held', { state: 'held', hasPayload: false }, 'noop'],
    ['delivered', { state: 'delivered', hasPayload: false }, 'noop'],
    ['discarded', { state: 'discarded', hasPayload: false }, 'noop'],
    ['superseded', { isSuperseded: true, hasPayload: false }, 'noop'],
    ['superseded after it was brought back', { state: 'redriving', isSuperseded: true }, 'noop'],
  ] as const)('a record that is %s', (_, given, item) => {
    const facts = {
      records: [{ ...ASIDE, ...given }],
      inFlight: null,
      syncStatus: 'active' as const,
    }
    const kind = item === 'redrive' ? 'start' : 'noop'
    expect(decideRedrive(facts)).toEqual({ kind, items: [item] })
  })

  it('decides for each record, and needs a run that is not there yet', () => {
    const records = [ASIDE, { ...ASIDE, isSuperseded: true }]
    const facts = { records, inFlight: null, syncStatus: 'active' as const }
    expect(decideRedrive(facts)).toEqual({ kind: 'start', items: ['redrive', 'noop'] })
    expect(decideRedrive({ ...facts, inFlight: IN_FLIGHT })).toEqual({
      kind: 'refuse',
      why: 'already_running',
      runId: 'run1',
    })
    expect(decideRedrive({ ...facts, syncStatus: 'paused' })).toEqual({
      kind: 'refuse',
      why: 'paused',
    })
  })

  it('has nothing to do where the run in flight sends them, or there are none', () => {
    const facts = { inFlight: IN_FLIGHT, syncStatus: 'active' as const }
    const records = [{ ...ASIDE, state: 'redriving' as const }]
    expect(decideRedrive({ ...facts, records })).toEqual({ kind: 'noop', items: ['noop'] })
    expect(decideRedrive({ ...facts, records: [] })).toEqual({ kind: 'noop', items: [] })
  })
})

describe('discarding', () => {
  it.each([
    ['set aside', {}, 'discard'],
    ['brought back', { state: 'redriving' }, 'discard'],
    [
      'brought back and sent, without an answer',
      { state: 'redriving', isUnanswered: true },
      'in_doubt',
    ],
    ['held', { state: 'held' }, 'noop'],
    ['delivered', { state: 'delivered' }, 'noop'],
    ['superseded', { isSuperseded: true }, 'noop'],
  ] as const)('a record that is %s', (_, given, item) => {
    const records = [{ ...ASIDE, ...given }]
    const kind = item === 'discard' ? 'discard' : 'noop'
    expect(decideDiscard({ records, inFlight: null })).toEqual({ kind, items: [item] })
    expect(decideDiscard({ records, inFlight: IN_FLIGHT })).toEqual(
      item === 'discard' ? { kind: 'refuse', runId: 'run1' } : { kind, items: [item] },
    )
  })
})

describe('what is set aside', () => {
  const PAGE = 'a'.repeat(32)
  const sealer = createSealer(Buffer.alloc(32, 7), systemRandom)
  const origin = { syncId: 'sync1', sourceConnectionId: 'source1', stream: 'customers' }
  const quarantine = (given: Partial<QuarantineOptions> = {}) =>
    new Quarantine({ sealer, origin, afterRuns: 3, setAside: 0, ...given })
  const record = (given: Partial<PreparedRecord> = {}, position = 0) =>
    ({
      ...{ kind: 'unsendable', position, identityHash: 'b'.repeat(32), reason: 'no' },
      ...{ destinationIdentityHash: 'c'.repeat(32), isBroken: false, row: { id: 'r1' } },
      ...given,
    }) as PreparedRecord

  it('was rejected in so many runs, and nothing is under HOLD', () => {
    const setAside = (afterRuns: number | null, runs: number) =>
      quarantine({ afterRuns }).setAside(PAGE, [{ record: record(), runs }]).size
    expect([1, 2, 3, 4].map((runs) => setAside(3, runs))).toEqual([0, 0, 1, 1])
    expect(setAside(1, 1)).toBe(1)
    expect(setAside(null, 1_000)).toBe(0)
  })

  it('has its row sealed for its place: moved to another one it does not open', () => {
    const one = record()
    const sealedPayload =
      quarantine()
        .setAside(PAGE, [{ record: one, runs: 3 }])
        .get(one) ?? null
    const place = { ...one, pageDigest: PAGE, sealedPayload }
    expect(openRow(sealer, origin, place)).toEqual({ kind: 'row', row: { id: 'r1' } })
    const moved = [
      { ...place, position: 1 },
      { ...place, pageDigest: 'd'.repeat(32) },
      { ...place, identityHash: 'e'.repeat(32) },
      { ...place, sealedPayload: null },
    ]
    for (const other of moved) {
      expect(openRow(sealer, origin, other)).toMatchObject({ kind: 'unusable' })
    }
    const otherSync = { ...origin, syncId: 'sync2' }
    const otherStream = { ...origin, stream: 'orders' }
    for (const elsewhere of [otherSync, otherStream]) {
      expect(openRow(sealer, elsewhere, place)).toMatchObject({ kind: 'unusable' })
    }
  })

  it('is kept without its row where there is none, or it is too large', () => {
    const none = record({ row: null })
    const large = record({ row: { text: 'x'.repeat(MAX_PAYLOAD_BYTES) } }, 1)
    const rejections = [none, large].map((one) => ({ record: one, runs: 3 }))
    expect([...quarantine().setAside(PAGE, rejections).values()]).toEqual([null, null])
  })

  it('is bounded: for a page at once, and for a sync', () => {
    const row = { text: 'x'.repeat(MAX_PAYLOAD_BYTES - 1_000) }
    const rejections = Array.from({ length: 40 }, (_, position) => ({
      record: record({ row }, position),
      runs: 3,
    }))
    expect(quarantine().setAside(PAGE, rejections).size).toBe(32)
    expect(quarantine({ setAside: MAX_SET_ASIDE - 2 }).setAside(PAGE, rejections).size).toBe(2)
  })
})
