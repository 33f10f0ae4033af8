/**
 * A call refused as a whole: exactly the guilty records are held, whoever and however many they are, every
 * other one is written once, and one guilty record costs few calls.
 *
 * One database is enough: nothing of this depends on which it is.
 */

import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { splitSuspects } from '../../src/domain/bisect.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  type Contact,
  contactsIn,
  counts,
  hurriedClock,
  REFUSED,
  TOO_LARGE,
} from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import {
  type Reaction,
  type RecordedRequest,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createScriptedSource, scriptedRows } from '../support/scripted-source.ts'

const PAGE = 64
const [KIND = 'embedded'] = DATABASE_KINDS

describe('a call for a page that is refused as a whole', () => {
  const database = useDatabase(KIND)
  const source = createScriptedSource(scriptedRows(PAGE))
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeAll(async () => {
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
    await harness.startEngine({ clock: hurriedClock })
  })
  beforeEach(() => destination.always({ kind: 'apply' }))
  afterAll(async () => {
    await harness.close()
    await destination.close()
  })

  const positionOf = ({ email }: Contact) => Number.parseInt(email.slice(1), 10)
  const isAnyOf = (guilty: ReadonlySet<number>, request: RecordedRequest) =>
    contactsIn(request).some((contact) => guilty.has(positionOf(contact)))

  /** Runs the page once, and tells who was held, who was written how often, and how many calls it took. */
  async function runPage(of: (request: RecordedRequest) => Reaction, deliveryClass = 'IDEMPOTENT') {
    destination.decide(of)
    const [writes, calls] = [destination.applied.length, destination.calls()]
    const objectOptions = { path: 'PAGE', deliveryClass }
    const sync = await harness.seedSync({ pageSize: PAGE, objectOptions })
    const run = await harness.run(sync)
    const held = await database().rows<{ position: number }>(sql`
      select position from held_record where sync_id = ${sync.syncId} order by position`)
    return {
      run,
      calls: destination.calls() - calls,
      held: held.map(({ position }) => position),
      written: destination.applied
        .slice(writes)
        .map(({ record }) => positionOf(record as Contact))
        .toSorted((a, b) => a - b),
    }
  }
  const allBut = (guilty: ReadonlySet<number>) =>
    Array.from({ length: PAGE }, (_, position) => position).filter((at) => !guilty.has(at))

  it('finds the one guilty record, whichever it is, in at most 7 more calls', async () => {
    for (let position = 0; position < PAGE; position += 1) {
      const guilty = new Set([position])
      const page = await runPage((request) =>
        isAnyOf(guilty, request) ? REFUSED : { kind: 'apply' },
      )
      expect(page.held).toEqual([position])
      expect(page.written).toEqual(allBut(guilty))
      // 6 halvings and the call for what was set aside, after the refused one.
      expect(page.calls, `guilty is ${position}`).toBeLessThanOrEqual(8)
    }
  }, 60_000)

  it('finds several guilty ones, be the destination idempotent or not', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat(PAGE - 1), { minLength: 2, maxLength: 8 }),
        fc.constantFrom('IDEMPOTENT', 'NONE'),
        async (positions, deliveryClass) => {
          const guilty = new Set(positions)
          const page = await runPage(
            (request) => (isAnyOf(guilty, request) ? REFUSED : { kind: 'apply' }),
            deliveryClass,
          )
          expect(page.held).toEqual(positions.toSorted((a, b) => a - b))
          expect(page.written).toEqual(allBut(guilty))
          const [written, rejected] = [PAGE - guilty.size, guilty.size]
          expect(page.run.counters).toEqual(counts({ read: PAGE, written, rejected }))
        },
      ),
      { numRuns: 25 },
    )
  }, 60_000)

  it('holds all of them when all are guilty', async () => {
    const page = await runPage(() => REFUSED)
    expect(page.run).toMatchObject({ status: 'failed', failureCode: 'destination_rejected' })
    expect(page.held).toHaveLength(PAGE)
    expect(page.written).toEqual([])
  })

  it.each([1, 3, 20, 63])(
    'because it is too large is sent in parts, and nobody is guilty (%i records fit)',
    async (fits) => {
      const page = await runPage((request) =>
        request.keys.length > fits ? TOO_LARGE : { kind: 'apply' },
      )
      expect(page.run.status).toBe('succeeded')
      expect(page.written).toEqual(allBut(new Set()))
    },
  )

  it('because one record is too large even alone holds that one', async () => {
    const guilty = new Set([17])
    const page = await runPage((request) =>
      isAnyOf(guilty, request) ? TOO_LARGE : { kind: 'apply' },
    )
    expect(page.held).toEqual([17])
    expect(page.written).toEqual(allBut(guilty))
  })

  it('because it is too large and then because of some records holds these only', async () => {
    const guilty = new Set([0, 21, 63])
    const page = await runPage((request) => {
      if (request.keys.length > 20) {
        return TOO_LARGE
      }
      return isAnyOf(guilty, request) ? REFUSED : { kind: 'apply' }
    })
    expect(page.held).toEqual([0, 21, 63])
    expect(page.written).toEqual(allBut(guilty))
  })

  it('and whose parts name the guilty one in their answers is not split further', async () => {
    const page = await runPage((request) => {
      if (request.keys.length === PAGE) {
        return REFUSED
      }
      return {
        kind: 'results',
        of: (_, record) =>
          positionOf(record as Contact) === 5
            ? { status: 'rejected', reason: 'no' }
            : { status: 'written' },
      }
    })
    expect(page.held).toEqual([5])
    expect(page.written).toEqual(allBut(new Set([5])))
    expect(page.calls).toBe(3)
  })
})

describe('the halving of suspects', () => {
  /** Calls after the refused one, as an engine makes them that sends the first half each time. */
  function countCalls(size: number, guilty: number): number {
    let suspects = Array.from({ length: size }, (_, index) => index)
    let [calls, aside] = [0, 0]
    for (;;) {
      const parts = splitSuspects(suspects, String)
      if (!parts) {
        expect(suspects).toEqual([guilty])
        return calls + (aside > 0 ? 1 : 0)
      }
      calls += 1
      const isRefused = parts.first.includes(guilty)
      aside += isRefused ? parts.second.length : 0
      suspects = [...(isRefused ? parts.first : parts.second)]
    }
  }

  it('finds one of 10,000 with at most 15 more calls', () => {
    const ends = [0, 1, 4_999, 5_000, 9_998, 9_999]
    expect(Math.max(...ends.map((guilty) => countCalls(10_000, guilty)))).toBeLessThanOrEqual(15)
    fc.assert(
      fc.property(fc.nat(9_999), (guilty) => countCalls(10_000, guilty) <= 15),
      { numRuns: 60 },
    )
  })

  it('needs no more than that for any smaller page', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_000 }), fc.nat(), (size, at) => {
        const most = Math.ceil(Math.log2(size)) + 1
        expect(countCalls(size, at % size)).toBeLessThanOrEqual(most)
      }),
    )
  })

  it('keeps the records of one identity together, and all of them, in their order', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(5), { maxLength: 40 }), (identities) => {
        const suspects = identities.map((identity, at) => ({ identity, at }))
        const parts = splitSuspects(suspects, ({ identity }) => String(identity))
        if (!parts) {
          expect(new Set(identities).size).toBeLessThan(2)
          return
        }
        const { first, second } = parts
        const inFirst = new Set(first.map(({ identity }) => identity))
        expect(second.some(({ identity }) => inFirst.has(identity))).toBe(false)
        expect(first.length > 0 && second.length > 0).toBe(true)
        const byPlace = (a: { at: number }, b: { at: number }) => a.at - b.at
        expect([...first, ...second].toSorted(byPlace)).toEqual(suspects)
        expect([first.toSorted(byPlace), second.toSorted(byPlace)]).toEqual([first, second])
      }),
    )
  })
})
