/** The delivery key: the same write has the same key, another write another, and it tells nothing about anybody (I10). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  DELIVERY_KEY_BYTES,
  deliveryKey,
  digestPage,
  digestRecord,
  hashIdentity,
  IDENTITY_HASH_BYTES,
  PAGE_DIGEST_BYTES,
  type PageOrigin,
} from '../../src/domain/delivery.ts'
import { canonicalJson, type JsonObject, type JsonValue } from '../../src/domain/json.ts'
import { sha256 } from '../../src/runtime/hash.ts'

interface Write {
  readonly origin: PageOrigin
  readonly position: number
  readonly fields: JsonObject
}

/** Everything that enters a key. There is no run, attempt, worker or clock among it. */
function keyOf({ origin, position, fields }: Write): string {
  const digest = digestRecord(sha256, canonicalJson(fields))
  return deliveryKey(digestPage(sha256, origin), position, digest)
}

const text = fc.string({ unit: 'binary', maxLength: 20 })
const position = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const origin: fc.Arbitrary<PageOrigin> = fc.record({
  syncId: fc.uuid({ version: 7 }),
  sourceConnectionId: fc.uuid({ version: 7 }),
  stream: text,
  fromCursor: text,
})
// By way of the text: a generated -0 is 0 once it is JSON.
const fields = fc
  .dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 6 })
  .map((value): JsonObject => JSON.parse(JSON.stringify(value)))
const write: fc.Arbitrary<Write> = fc.record({ origin, position, fields })

describe('a delivery key', () => {
  it('is the same for the same write in every run, and has 32 bytes or 64 characters', () => {
    fc.assert(
      fc.property(write, (given) => {
        const key = keyOf(given)
        const laterRun = keyOf({ ...given, origin: { ...given.origin } })
        expect(laterRun).toBe(key)
        expect(key).toHaveLength(DELIVERY_KEY_BYTES * 2)
        expect(key).toMatch(/^[0-9a-f]{64}$/)
      }),
    )
  })

  it('does not depend on the order of the record’s members, at any level', () => {
    fc.assert(
      fc.property(write, (given) => {
        expect(keyOf({ ...given, fields: reverseMembers(given.fields) as JsonObject })).toEqual(
          keyOf(given),
        )
      }),
    )
  })

  it('differs when any of sync, connection, stream, cursor, position or record differs', () => {
    fc.assert(
      fc.property(write, write, (a, b) => {
        const variants: Write[] = [
          { ...a, origin: { ...a.origin, syncId: b.origin.syncId } },
          { ...a, origin: { ...a.origin, sourceConnectionId: b.origin.sourceConnectionId } },
          { ...a, origin: { ...a.origin, stream: b.origin.stream } },
          { ...a, origin: { ...a.origin, fromCursor: b.origin.fromCursor } },
          { ...a, position: b.position },
          { ...a, fields: b.fields },
        ]
        const key = keyOf(a)
        for (const variant of variants) {
          expect(keyOf(variant) === key).toBe(isSame(a, variant))
        }
      }),
      { numRuns: 500 },
    )
  })

  it('differs when a character moves from one ingredient to the next', () => {
    fc.assert(
      fc.property(write, fc.string({ minLength: 1, maxLength: 3 }), (given, piece) => {
        const { origin: page } = given
        const left = { ...page, stream: `${page.stream}${piece}` }
        const right = { ...page, fromCursor: `${piece}${page.fromCursor}` }
        const [a, b] = [left, right].map((from) => keyOf({ ...given, origin: from }))
        expect(a).not.toEqual(b)
      }),
    )
  })

  it('lies beside those of its page, in the order of the positions', () => {
    const positions = fc.uniqueArray(position, { minLength: 2, maxLength: 20 })
    fc.assert(
      fc.property(origin, positions, fc.array(fields, { minLength: 1 }), (page, given, records) => {
        const inOrder = given.toSorted((a, b) => a - b)
        const keys = inOrder.map((at, index) =>
          keyOf({ origin: page, position: at, fields: records[index % records.length] ?? {} }),
        )
        expect(new Set(keys.map((key) => key.slice(0, PAGE_DIGEST_BYTES * 2))).size).toBe(1)
        expect(keys.toSorted()).toEqual(keys)
      }),
    )
  })

  it('holds no piece of 4 characters of a cursor, an identity or a record', () => {
    // The seed is fixed: among random bytes, four that equal a value's turn up once in many thousand runs.
    const value = fc.oneof(
      fc.emailAddress(),
      fc.string({ unit: 'grapheme', minLength: 4, maxLength: 12 }),
      fc.integer({ min: 1e9, max: 2 ** 40 }).map((phone) => `+${phone}`),
    )
    fc.assert(
      fc.property(write, value, value, value, (given, cursor, identity, personal) => {
        const key = keyOf({
          ...given,
          origin: { ...given.origin, fromCursor: cursor },
          fields: { personal, identity },
        })
        const hashed = hashIdentity(sha256, given.origin.syncId, identity)
        for (const secret of [cursor, identity, personal]) {
          expect(holdsPieceOf(key, secret)).toBe(false)
          expect(holdsPieceOf(hashed, secret)).toBe(false)
        }
      }),
      { seed: 7, numRuns: 200 },
    )
  })
})

describe('a hashed identity', () => {
  it('is the same for one identity of one sync, and differs between identities and between syncs', () => {
    const id = fc.uuid({ version: 7 })
    fc.assert(
      fc.property(id, id, text, text, (syncA, syncB, a, b) => {
        const hash = (sync: string, identity: string) => hashIdentity(sha256, sync, identity)
        expect(hash(syncA, a)).toHaveLength(IDENTITY_HASH_BYTES * 2)
        expect(hash(syncA, a) === hash(syncA, b)).toBe(a === b)
        expect(hash(syncA, a) === hash(syncB, a)).toBe(syncA === syncB)
      }),
    )
  })
})

function isSame(a: Write, b: Write): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
}

/** An oracle beside canonicalJson: members as sorted pairs. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sorted)
  }
  return value !== null && typeof value === 'object'
    ? {
        pairs: Object.entries(value)
          .sort(byName)
          .map(([name, inner]) => [name, sorted(inner)]),
      }
    : value
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : Number(a > b)
}

function reverseMembers(value: JsonValue): JsonValue {
  if (value === null || typeof value !== 'object') {
    return value
  }
  return Array.isArray(value)
    ? value.map(reverseMembers)
    : Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([name, inner]) => [name, reverseMembers(inner)]),
      )
}

/** In the bytes, or in the key's text. Pieces that are hexadecimal digits throughout say nothing in a text. */
function holdsPieceOf(key: string, secret: string): boolean {
  const bytes = Buffer.from(key, 'hex')
  const encoded = Buffer.from(secret)
  for (let at = 0; at + 4 <= encoded.length; at += 1) {
    const piece = encoded.subarray(at, at + 4)
    const isTelling = !/^[0-9a-f]{4}$/.test(piece.toString('latin1'))
    if (bytes.includes(piece) || (isTelling && key.includes(piece.toString()))) {
      return true
    }
  }
  return false
}
