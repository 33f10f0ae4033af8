/** Small values that cross a boundary: canonical JSON, lease tokens, trust, progress messages, ids, sealed texts. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DISPOSITIONS } from '../../src/domain/delivery.ts'
import { FAILURE_CODES } from '../../src/domain/failure.ts'
import { isUuid } from '../../src/domain/ids.ts'
import { canonicalJson, type JsonObject, type JsonValue } from '../../src/domain/json.ts'
import {
  decideHeldLease,
  formatLeaseToken,
  type LeaseToken,
  parseLeaseToken,
  trustEndsAtMs,
} from '../../src/domain/lease.ts'
import { progressFromMessage, progressToMessage } from '../../src/domain/progress.ts'
import { RUN_STATUSES } from '../../src/domain/run.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { createIdSource, systemRandom } from '../../src/runtime/random.ts'
import { createSealer, SEALING_KEY_BYTES } from '../../src/runtime/seal.ts'

const json = fc
  .jsonValue({ maxDepth: 4 })
  .map((value): JsonValue => JSON.parse(JSON.stringify(value)))
const text = fc.string({ unit: 'binary' })

describe('canonical JSON', () => {
  it('reads back as the same value, and is its own canonical text', () => {
    fc.assert(
      fc.property(json, (value) => {
        const canonical = canonicalJson(value)
        expect(isEqual(JSON.parse(canonical), value)).toBe(true)
        expect(canonicalJson(JSON.parse(canonical))).toBe(canonical)
      }),
    )
  })

  it('is the same for members in any order', () => {
    const members = fc.uniqueArray(fc.tuple(text, json), { selector: ([name]) => name })
    fc.assert(
      fc.property(members, fc.infiniteStream(fc.nat()), (given, order) => {
        const shuffled = given
          .map((member) => ({ member, at: order.next().value ?? 0 }))
          .sort((a, b) => a.at - b.at)
          .map(({ member }) => member)
        expect(canonicalJson(makeObject(shuffled))).toBe(canonicalJson(makeObject(given)))
      }),
    )
  })

  it('differs for values that differ', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        fc.pre(JSON.stringify(a) !== JSON.stringify(b))
        const isSame = canonicalJson(a) === canonicalJson(b)
        expect(isSame && !isEqual(a, b)).toBe(false)
      }),
    )
  })
})

describe('a lease', () => {
  const token: fc.Arbitrary<LeaseToken> = fc.record({
    epoch: fc.nat(Number.MAX_SAFE_INTEGER).map((epoch) => epoch % 1e15),
    runId: fc.uuid({ version: 7 }),
  })

  it('has a token that reads back as it was written', () => {
    fc.assert(
      fc.property(token, (given) => {
        expect(parseLeaseToken(formatLeaseToken(given))).toEqual(given)
      }),
    )
  })

  it('is not replaced where the token is not ours', () => {
    const stray = fc.oneof(
      text,
      token.map((given) => `${formatLeaseToken(given)} `),
      token.map(({ runId }) => `-1:${runId}`),
      token.map(({ epoch }) => `${epoch}:`),
    )
    fc.assert(
      fc.property(stray, token, (heldBy, ours) => {
        expect(parseLeaseToken(heldBy)).toBeNull()
        expect(decideHeldLease(heldBy, ours)).toEqual({ kind: 'conflict' })
      }),
    )
  })

  it('is replaced if and only if its holder is of an older epoch', () => {
    fc.assert(
      fc.property(token, token, fc.integer({ min: -2, max: 2 }), (ours, other, distance) => {
        const epoch = Math.max(0, ours.epoch + distance)
        const heldBy = formatLeaseToken({ ...other, epoch })
        expect(decideHeldLease(heldBy, ours)).toEqual(
          epoch < ours.epoch ? { kind: 'replace', heldBy } : { kind: 'conflict' },
        )
      }),
    )
  })

  it('is trusted until the earlier of its end and the end of the last beat’s trust', () => {
    const ms = fc.nat(10_000_000)
    const trust = fc.record({
      leaseSentAtMs: ms,
      leaseLifeMs: ms,
      beatSentAtMs: ms,
      beatTrustMs: ms,
    })
    fc.assert(
      fc.property(trust, ms, (given, later) => {
        const ends = trustEndsAtMs(given)
        const both = [
          given.leaseSentAtMs + given.leaseLifeMs,
          given.beatSentAtMs + given.beatTrustMs,
        ]
        expect(both).toContain(ends)
        expect(both.every((end) => end >= ends)).toBe(true)
        expect(
          trustEndsAtMs({ ...given, beatSentAtMs: given.beatSentAtMs + later }),
        ).toBeLessThanOrEqual(given.leaseSentAtMs + given.leaseLifeMs)
      }),
    )
  })
})

describe('a progress message', () => {
  const id = fc.uuid({ version: 7 })
  const count = fc.nat()
  const counters = fc.record({
    read: count,
    written: count,
    replayed: count,
    rejected: count,
    inDoubt: count,
    quarantined: count,
    skipped: count,
  })
  const progress = fc.record({
    runId: id,
    syncId: id,
    workspaceId: id,
    status: fc.constantFrom(...RUN_STATUSES),
    sequence: fc.record({ epoch: count, n: count }),
    counters,
    totalRecords: fc.option(count),
    failureCode: fc.option(fc.constantFrom(...FAILURE_CODES)),
  })

  it('reads back as it was sent, over JSON too', () => {
    fc.assert(
      fc.property(progress, (given) => {
        const message = progressToMessage(given)
        expect(progressFromMessage(message)).toEqual(given)
        expect(progressFromMessage(JSON.parse(JSON.stringify(message)))).toEqual(given)
      }),
    )
  })

  it('is null for anything else', () => {
    fc.assert(
      fc.property(fc.anything(), (message) => {
        expect(progressFromMessage(message)).toBeNull()
      }),
    )
  })

  it('is null when a part that it needs is missing or another thing', () => {
    const part = fc.constantFrom('runId', 'syncId', 'workspaceId', 'status', 'sequence', 'counters')
    const wrong = fc.constantFrom<unknown>(undefined, null, 7, 'x'.repeat(3), {
      epoch: 1.5,
      n: '1',
    })
    fc.assert(
      fc.property(progress, part, wrong, (given, name, value) => {
        fc.pre(!(name.endsWith('Id') && typeof value === 'string'))
        expect(progressFromMessage({ ...progressToMessage(given), [name]: value })).toBeNull()
      }),
    )
    fc.assert(
      fc.property(progress, fc.constantFrom(...DISPOSITIONS), (given, name) => {
        const message = progressToMessage(given)
        const { [name]: _missing, ...rest } = given.counters
        expect(progressFromMessage({ ...message, counters: rest })).toBeNull()
      }),
    )
  })
})

describe('ids', () => {
  const millisecond = fc.integer({ min: 0, max: 2 ** 47 })

  it('of one source rise strictly, even when the clock stands still or is set back', () => {
    fc.assert(
      fc.property(fc.array(millisecond, { minLength: 2 }), (times) => {
        const remaining = [...times]
        const clock: Clock = { ...systemClock, now: () => new Date(remaining.shift() ?? 0) }
        const ids = createIdSource(clock, systemRandom)
        const made = times.map(() => ids.next())
        expect(made.every(isUuid)).toBe(true)
        expect(new Set(made).size).toBe(made.length)
        expect(made.toSorted()).toEqual(made)
      }),
    )
  })

  it('rise past the 4,096 that one millisecond has room for', () => {
    const clock: Clock = { ...systemClock, now: () => new Date(1_700_000_000_000) }
    const ids = createIdSource(clock, systemRandom)
    const made = Array.from({ length: 10_000 }, () => ids.next())
    expect(new Set(made).size).toBe(made.length)
    expect(made.toSorted()).toEqual(made)
  })

  it('carry version 7 and the variant of RFC 9562, whatever chance gives', () => {
    fc.assert(
      fc.property(millisecond, fc.uint8Array({ minLength: 8, maxLength: 8 }), (ms, chance) => {
        const clock: Clock = { ...systemClock, now: () => new Date(ms) }
        const id = createIdSource(clock, { bytes: () => chance }).next()
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(ms)
      }),
    )
  })
})

describe('a sealed text', () => {
  const key = fc.uint8Array({ minLength: SEALING_KEY_BYTES, maxLength: SEALING_KEY_BYTES })
  const plain = fc.string({ unit: 'grapheme' })
  const open = (sealed: string, given: Uint8Array, place: string) =>
    createSealer(given, systemRandom).unseal(sealed, place)

  it('opens with its key in its place, and is never the same twice', () => {
    fc.assert(
      fc.property(key, plain, plain, (given, secret, place) => {
        const sealer = createSealer(given, systemRandom)
        const sealed = sealer.seal(secret, place)
        expect(open(sealed, given, place)).toBe(secret)
        expect(sealer.seal(secret, place)).not.toBe(sealed)
      }),
    )
  })

  it('does not open in another place or with another key', () => {
    fc.assert(
      fc.property(key, key, plain, plain, (given, otherKey, secret, place) => {
        fc.pre(!Buffer.from(given).equals(otherKey))
        const sealed = createSealer(given, systemRandom).seal(secret, place)
        expect(() => open(sealed, given, `${place}x`)).toThrow()
        expect(() => open(sealed, otherKey, place)).toThrow()
      }),
    )
  })

  it('does not open with a bit flipped or with bytes cut off, be it to nothing but a piece of its tag', () => {
    fc.assert(
      fc.property(key, plain, fc.nat(), fc.nat(), (given, secret, bit, cut) => {
        const [keyId, body = ''] = createSealer(given, systemRandom).seal(secret, 'here').split('.')
        const bytes = Buffer.from(body, 'base64url')
        const reseal = (changed: Uint8Array) =>
          `${keyId}.${Buffer.from(changed).toString('base64url')}`
        const flipped = Buffer.from(bytes)
        const at = bit % (bytes.length * 8)
        flipped[at >> 3] = (flipped[at >> 3] ?? 0) ^ (1 << (at & 7))
        expect(() => open(reseal(flipped), given, 'here')).toThrow()
        const shorter = bytes.subarray(0, cut % bytes.length)
        expect(() => open(reseal(shorter), given, 'here')).toThrow()
      }),
      { numRuns: 500 },
    )
  })

  it('has a digest by which it is told from others, with the same key only', () => {
    fc.assert(
      fc.property(key, key, plain, plain, (given, otherKey, secret, other) => {
        fc.pre(!Buffer.from(given).equals(otherKey) && secret !== other)
        const sealer = createSealer(given, systemRandom)
        const digests = sealer.digests(secret)
        expect(digests).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)])
        expect(createSealer(given, systemRandom).digests(secret)).toEqual(digests)
        expect(sealer.digests(other)).not.toEqual(digests)
        const [otherDigest] = createSealer(otherKey, systemRandom).digests(secret)
        expect(digests).not.toContain(otherDigest)
        const rotated = createSealer(otherKey, systemRandom, [given])
        expect(rotated.digests(secret)).toEqual([otherDigest, ...digests])
      }),
    )
  })

  it('takes a key of 32 bytes only', () => {
    expect(() => createSealer(new Uint8Array(31), systemRandom)).toThrow(
      'A sealing key has 31 bytes; it takes 32.',
    )
  })
})

function makeObject(members: readonly (readonly [string, JsonValue])[]): JsonObject {
  return JSON.parse(
    `{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`,
  )
}

/** Equal as JSON, by another way than canonical text. */
function isEqual(a: JsonValue, b: JsonValue): boolean {
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') {
    return a === b
  }
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))]
  return (
    Array.isArray(a) === Array.isArray(b) &&
    left.size === right.size &&
    [...left].every(([name, value]) => {
      const other = right.get(name)
      return other !== undefined && isEqual(value, other)
    })
  )
}
