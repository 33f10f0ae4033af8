/** What is kept of a row that is set aside gives the same record, and so the same delivery key, when it is mapped again. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digestRecord } from '../../src/domain/delivery.ts'
import { canonicalJson, type JsonObject } from '../../src/domain/json.ts'
import { compileMapping } from '../../src/domain/mapping.ts'
import type { PreparedRecord } from '../../src/engine/prepare-page.ts'
import { openRow, Quarantine } from '../../src/engine/quarantine.ts'
import { sha256 } from '../../src/runtime/hash.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { createSealer } from '../../src/runtime/seal.ts'

const sealer = createSealer(Buffer.alloc(32, 7), systemRandom)
const origin = { syncId: 'sync1', sourceConnectionId: 'source1', stream: 'customers' }
const PLACE = { pageDigest: 'a'.repeat(32), position: 4, identityHash: 'b'.repeat(32) }

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\u0000', '\ud800', '10.5', ''),
)
const row = fc.dictionary(
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('a', 'b', '__proto__', '1') },
    { weight: 1, arbitrary: text },
  ),
  fc.oneof(text, fc.jsonValue(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer()),
  { noNullPrototype: true },
) as fc.Arbitrary<JsonObject>

const compiled = compileMapping({
  a: { $path: 'a' },
  b: { $path: 'b' },
  both: { $template: '{{a}} {{b}}' },
})

/** The digest of the mapped record, or why it is none. */
function digestOf(given: JsonObject): string {
  if (compiled.kind === 'invalid') {
    throw new Error('The mapping of this test is valid.')
  }
  const mapped = compiled.mapping.map(given)
  return mapped.kind === 'mapped'
    ? digestRecord(sha256, canonicalJson(mapped.fields))
    : `${mapped.field}: ${mapped.reason}`
}

describe('a row that is set aside', () => {
  it('maps to what it mapped to before, whatever it holds', () => {
    fc.assert(
      fc.property(row, (given) => {
        const record = { kind: 'unsendable', ...PLACE, row: given } as unknown as PreparedRecord
        const quarantine = new Quarantine({ sealer, origin, afterRuns: 1, setAside: 0 })
        const kept = quarantine.setAside(PLACE.pageDigest, [{ record, runs: 1 }])
        const sealedPayload = kept.get(record) ?? null
        const opened = openRow(sealer, origin, { ...PLACE, sealedPayload })
        expect(opened.kind).toBe('row')
        expect(digestOf(opened.kind === 'row' ? opened.row : {})).toBe(digestOf(given))
      }),
      { numRuns: 2_000 },
    )
  })
})
