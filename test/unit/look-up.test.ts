/** Which writes a destination is asked for when it says of another one that it is not there. */
import { describe, expect, it } from 'vitest'
import { ConfirmedWrites } from '../../src/engine/look-up.ts'

describe('confirmed writes', () => {
  it('are the last three, the newest first, each once', () => {
    const confirmed = new ConfirmedWrites(['c', 'b', 'a'])
    confirmed.note([])
    expect(confirmed.keys).toEqual(['c', 'b', 'a'])
    confirmed.note(['d'])
    expect(confirmed.keys).toEqual(['d', 'c', 'b'])
    confirmed.note(['c'])
    expect(confirmed.keys).toEqual(['c', 'd', 'b'])
    confirmed.note(['e', 'f', 'g', 'h'])
    expect(confirmed.keys).toEqual(['h', 'g', 'f'])
  })
})
