import { describe, expect, it } from 'vitest'
import { decideSettle } from '../../src/domain/doubt.ts'

const doubt = { positions: [3, 5, 8], isInFlight: false, isQuiet: true }
const facts = { position: 5, settlement: 'delivered', doubt, before: [] } as const

describe('settling a delivery in doubt', () => {
  it('takes the wanted position out of its intent, and leaves the others', () => {
    expect(decideSettle(facts)).toEqual({ kind: 'settle', indexes: [1], rest: [0, 2] })
  })

  it('takes all of them when none is named', () => {
    const all = { kind: 'settle', indexes: [0, 1, 2], rest: [] }
    expect(decideSettle({ ...facts, position: null })).toEqual(all)
  })

  it.each([
    ['its attempt is still running', { isInFlight: true, isQuiet: true }],
    ['its quiet time has not passed', { isInFlight: false, isQuiet: false }],
  ])('is refused while %s', (_, changed) => {
    const decision = decideSettle({ ...facts, doubt: { ...doubt, ...changed } })
    expect(decision).toEqual({ kind: 'refuse', why: 'in_flight' })
  })

  it.each([
    ['of an intent that is still there', doubt],
    ['of one that is settled as a whole', null],
  ])('a second time changes nothing, %s', (_, left) => {
    const before = [{ positions: [4], settlement: 'delivered' }] as const
    expect(decideSettle({ ...facts, position: 4, doubt: left, before })).toEqual({ kind: 'noop' })
  })

  it('a second time as the opposite is refused', () => {
    const before = [{ positions: [4], settlement: 'send_again' }] as const
    const decision = { kind: 'refuse', why: 'settled', as: 'send_again' }
    expect(decideSettle({ ...facts, position: 4, before })).toEqual(decision)
    expect(decideSettle({ ...facts, position: null, doubt: null, before })).toEqual(decision)
  })

  it('that was never there is not found', () => {
    const missing = { kind: 'refuse', why: 'not_found' }
    expect(decideSettle({ ...facts, position: 4 })).toEqual(missing)
    expect(decideSettle({ ...facts, doubt: null })).toEqual(missing)
  })
})
