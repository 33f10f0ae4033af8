/** Which writes a destination is asked for when it says of another one that it is not there (I12). */
import { describe, expect, it } from 'vitest'
import { ConfirmedWrites } from '../../src/engine/confirmed-writes.ts'
import { createIdSource, systemRandom } from '../../src/runtime/random.ts'
import type { AgedKey } from '../../src/store/confirmed-keys.ts'
import { createHandClock } from '../support/hand-clock.ts'

const SETTLING_MS = 60_000
const { signal } = new AbortController()

function create(given: { settlingMs?: number; delivered?: readonly AgedKey[] } = {}) {
  const clock = createHandClock()
  const ids = createIdSource(clock, systemRandom)
  let asked = 0
  const confirmed = new ConfirmedWrites({
    ...{ clock, ids, settlingMs: given.settlingMs ?? SETTLING_MS },
    listDelivered: () => {
      asked += 1
      return Promise.resolve(given.delivered ?? [])
    },
  })
  return { clock, confirmed, asked: () => asked }
}

const aged = (ageMs: number, ...keys: readonly string[]) => keys.map((key) => ({ key, ageMs }))

describe('confirmed writes', () => {
  it('are the last three, the newest first, each once', () => {
    const { confirmed } = create({ settlingMs: 0 })
    confirmed.noteAged(aged(1, 'c', 'b', 'a'))
    confirmed.note([])
    expect(confirmed.settled).toEqual(['c', 'b', 'a'])
    confirmed.note(['d'])
    expect(confirmed.settled).toEqual(['d', 'c', 'b'])
    confirmed.note(['e', 'f', 'g', 'h'])
    expect(confirmed.settled).toEqual(['h', 'g', 'f'])
    expect(confirmed.keys).toEqual(['h', 'g', 'f'])
  })

  it('are asked for only once the destination shows them, and newer ones do not keep the older from that', () => {
    const { clock, confirmed } = create()
    confirmed.note(['a', 'b', 'c', 'd'])
    clock.advance(SETTLING_MS - 1)
    confirmed.note(['e'])
    expect(confirmed.settled).toEqual([])
    expect(confirmed.keys).toEqual(['b', 'c', 'd'])
    clock.advance(1)
    expect(confirmed.settled).toEqual(['d', 'c', 'b'])
    confirmed.note(['f'])
    clock.advance(SETTLING_MS)
    expect(confirmed.settled).toEqual(['f', 'd', 'c'])
  })

  it('of earlier attempts are as old as the database says, and not older', () => {
    const { clock, confirmed } = create()
    confirmed.noteAged([...aged(SETTLING_MS, 'b'), ...aged(SETTLING_MS - 1, 'a'), ...aged(-5, 'c')])
    expect(confirmed.settled).toEqual(['b'])
    clock.advance(1)
    expect(confirmed.settled).toEqual(['a', 'b'])
    clock.advance(SETTLING_MS - 2)
    expect(confirmed.settled).toEqual(['a', 'b'])
    clock.advance(1)
    expect(confirmed.settled).toEqual(['c', 'a', 'b'])
  })

  it('are sought in the ledger where fewer than three are at hand', async () => {
    const { confirmed, asked } = create({ delivered: aged(SETTLING_MS, 'l', 'm', 'n') })
    expect(await confirmed.findSettled(['a', 'b', 'c'], signal)).toEqual(['a', 'b', 'c'])
    expect(asked()).toBe(0)
    expect(await confirmed.findSettled(['a'], signal)).toEqual(['a', 'l', 'm'])
    expect(asked()).toBe(1)
  })

  it('that are all too young are waited for', async () => {
    const { clock, confirmed } = create({ delivered: aged(SETTLING_MS - 10_000, 'l') })
    confirmed.note(['a'])
    const found = confirmed.findSettled([], signal)
    await clock.asleep()
    clock.advance(10_000)
    expect(await found).toEqual(['l'])
  })

  it('are none where the ledger has none either', async () => {
    expect(await create().confirmed.findSettled([], signal)).toEqual([])
  })

  it('are told from one that nobody made, by a key like theirs', () => {
    const { confirmed } = create()
    const keys = [confirmed.makeKeyOfNone(), confirmed.makeKeyOfNone()]
    expect(new Set(keys).size).toBe(2)
    for (const key of keys) {
      expect(key).toMatch(/^[0-9a-f]{64}$/)
    }
  })
})
