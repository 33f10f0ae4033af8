/**
 * Pages are remembered: whatever happens to the rows of a page between two reads, a record keeps its
 * position, and together with the delivery keys only what was not delivered is sent (I4).
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deliveryKey, digestPage, digestRecord } from '../../src/domain/delivery.ts'
import { canonicalJson } from '../../src/domain/json.ts'
import { placeRecords } from '../../src/domain/page.ts'
import { sha256 } from '../../src/runtime/hash.ts'

interface Row {
  readonly identity: string
  readonly version: number
}

/** What may happen to the rows of a range between two reads. `at` and `to` are taken modulo the length. */
type Change =
  | { readonly kind: 'move'; readonly at: number; readonly to: number }
  | { readonly kind: 'remove'; readonly at: number }
  | { readonly kind: 'insert'; readonly at: number }
  | { readonly kind: 'return'; readonly at: number }
  | { readonly kind: 'edit'; readonly at: number }
  | { readonly kind: 'revert'; readonly at: number }
  | { readonly kind: 'double'; readonly at: number }
  | { readonly kind: 'reverse' }

const at = fc.nat(100)
const uniqueChange: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('move' as const), at, to: at }),
  fc.record({ kind: fc.constantFrom('remove', 'insert', 'return', 'edit', 'revert'), at }),
  fc.record({ kind: fc.constant('reverse' as const) }),
)
const anyChange: fc.Arbitrary<Change> = fc.oneof(
  uniqueChange,
  fc.record({ kind: fc.constant('double' as const), at }),
)

/** The rows of a range, changed as a source's users change them. */
class Range {
  rows: Row[]
  readonly #removed: Row[] = []
  #inserted = 0

  constructor(size: number) {
    this.rows = Array.from({ length: size }, (_, index) => ({
      identity: `row ${index}`,
      version: 0,
    }))
  }

  apply(change: Change): void {
    if (change.kind === 'reverse') {
      this.rows.reverse()
      return
    }
    const index = change.at % (this.rows.length + 1)
    const row = this.rows[index]
    if (change.kind === 'insert') {
      this.rows.splice(index, 0, { identity: `new ${this.#inserted}`, version: 0 })
      this.#inserted += 1
    } else if (change.kind === 'return') {
      this.rows.splice(index, 0, ...this.#removed.splice(0, 1))
    } else if (row) {
      this.#applyToRow(change, row, index)
    }
  }

  #applyToRow(
    change: Exclude<Change, { kind: 'reverse' | 'insert' | 'return' }>,
    row: Row,
    index: number,
  ): void {
    switch (change.kind) {
      case 'move':
        this.rows.splice(index, 1)
        this.rows.splice(change.to % (this.rows.length + 1), 0, row)
        break
      case 'remove':
        this.rows.splice(index, 1)
        this.#removed.push(row)
        break
      case 'edit':
        this.rows[index] = { ...row, version: row.version + 1 }
        break
      case 'revert':
        this.rows[index] = { ...row, version: 0 }
        break
      case 'double':
        this.rows.push(row)
        break
    }
  }
}

const size = fc.nat(30)

describe('a page that is read again', () => {
  it('keeps the position of every record that stayed, appends what is new, lists what left', () => {
    const reads = fc.array(fc.array(anyChange, { maxLength: 8 }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(size, reads, (rows, changesByRead) => {
        const range = new Range(rows)
        let remembered = placeRecords([], range.rows.map(identityOf)).identities
        for (const changes of changesByRead) {
          changes.forEach((change) => {
            range.apply(change)
          })
          const read = range.rows.map(identityOf)
          const { positions, identities, left } = placeRecords(remembered, read)
          expect(new Set(positions).size).toBe(read.length)
          expect(positions.map((position) => identities[position])).toEqual(read)
          expect(identities.slice(0, remembered.length)).toEqual(remembered)
          expect(left).toEqual(
            [...remembered.keys()].filter((position) => !positions.includes(position)),
          )
          expect(identities.length - remembered.length).toBe(countNew(remembered, read))
          remembered = identities
        }
      }),
      { numRuns: 300 },
    )
  })

  it('read for the first time has its records in the order they were read', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 2 })), (read) => {
        expect(placeRecords([], read)).toEqual({
          positions: [...read.keys()],
          identities: read,
          left: [],
        })
      }),
    )
  })
})

describe('a page that is delivered over several runs', () => {
  /** Between two runs: some changes; then a crash after some of what had to be sent. */
  const run = fc.record({ changes: fc.array(uniqueChange, { maxLength: 8 }), sentBeforeCrash: at })

  it('sends exactly what is not delivered, however its rows moved in between', () => {
    fc.assert(
      fc.property(size, fc.array(run, { minLength: 1, maxLength: 8 }), (rows, runs) => {
        const range = new Range(rows)
        const page = new DeliveredPage()
        const deliveredVersions = new Map<string, number>()
        for (const { changes, sentBeforeCrash } of runs) {
          changes.forEach((change) => {
            range.apply(change)
          })
          const due = page.findDue(range.rows)
          expect(due.map(({ row }) => row)).toEqual(
            range.rows.filter((row) => deliveredVersions.get(row.identity) !== row.version),
          )
          for (const one of due.slice(0, sentBeforeCrash % (due.length + 1))) {
            page.deliver(one)
            deliveredVersions.set(one.row.identity, one.row.version)
          }
        }
        page.findDue(range.rows).forEach((one) => {
          page.deliver(one)
        })
        expect(page.findDue(range.rows)).toEqual([])
        expect(page.findDue([...range.rows].reverse())).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  it('sends nothing again when one row is put in front of those that were delivered', () => {
    const range = new Range(500)
    const page = new DeliveredPage()
    page.findDue(range.rows).forEach((one) => {
      page.deliver(one)
    })
    range.apply({ kind: 'insert', at: 0 })
    expect(page.findDue(range.rows).map(({ row }) => row.identity)).toEqual(['new 0'])
  })
})

interface Due {
  readonly row: Row
  readonly position: number
  readonly key: string
}

/** An open page with its completed keys; of the keys of one position only the newest counts. */
class DeliveredPage {
  readonly #digest = digestPage(sha256, {
    syncId: '01890000-0000-7000-8000-000000000001',
    sourceConnectionId: '01890000-0000-7000-8000-000000000002',
    stream: 'customers',
    fromCursor: '500',
  })
  readonly #completed = new Map<number, string>()
  #identities: readonly string[] = []

  findDue(rows: readonly Row[]): Due[] {
    const { positions, identities } = placeRecords(this.#identities, rows.map(identityOf))
    this.#identities = identities
    return rows
      .map((row, index) => {
        const position = positions[index] ?? -1
        const digest = digestRecord(sha256, canonicalJson({ ...row }))
        return { row, position, key: deliveryKey(this.#digest, position, digest) }
      })
      .filter(({ position, key }) => this.#completed.get(position) !== key)
  }

  deliver({ position, key }: Due): void {
    this.#completed.set(position, key)
  }
}

function identityOf(row: Row): string {
  return row.identity
}

/** How many of the read records have no remembered one of their identity left. */
function countNew(remembered: readonly string[], read: readonly string[]): number {
  return [...new Set(read)].reduce((sum, identity) => {
    const had = remembered.filter((one) => one === identity).length
    const has = read.filter((one) => one === identity).length
    return sum + Math.max(0, has - had)
  }, 0)
}
