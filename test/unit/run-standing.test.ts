import { describe, expect, it } from 'vitest'
import { FAILURE_CATALOGUE, FAILURE_CODES } from '../../src/domain/failure.ts'
import { firstIdAt } from '../../src/domain/ids.ts'
import { RUN_STATUSES } from '../../src/domain/run.ts'
import { RUN_STANDINGS, standingsOf } from '../../src/domain/run-standing.ts'

describe('the standings of a filter', () => {
  it('are any where nothing is asked for', () => {
    expect(standingsOf({})).toBeNull()
    expect(standingsOf({ statuses: [], codes: [] })).toBeNull()
  })

  it('are those of the statuses, each standing of exactly one', () => {
    const all = RUN_STATUSES.flatMap((status) => standingsOf({ statuses: [status] }))
    expect(all.toSorted()).toEqual([...RUN_STANDINGS].sort())
    expect(standingsOf({ statuses: ['failed'] })).toEqual(FAILURE_CODES)
  })

  it('are those that fit all that is asked for', () => {
    expect(standingsOf({ codes: ['lease_lost'], owner: 'TAJO' })).toEqual(['lease_lost'])
    expect(standingsOf({ codes: ['lease_lost'], owner: 'CUSTOMER' })).toEqual([])
    expect(standingsOf({ codes: ['lease_lost'], statuses: ['partial'] })).toEqual([])
    expect(standingsOf({ statuses: ['partial'], owner: 'TAJO' })).toEqual(['partial_in_doubt'])
  })

  it.each(['CUSTOMER', 'TAJO'] as const)(
    'go by whose turn it is, as the catalogue says (%s)',
    (owner) => {
      const codes = FAILURE_CODES.filter((code) => FAILURE_CATALOGUE[code].owner === owner)
      expect(standingsOf({ owner, statuses: ['failed'] })).toEqual(codes)
    },
  )
})

describe('the first id of a moment', () => {
  it('sorts before every id that is made at it, and after those made before', () => {
    const ms = Date.UTC(2026, 2, 1)
    expect(Number.parseInt(firstIdAt(ms).replaceAll('-', '').slice(0, 12), 16)).toBe(ms)
    expect(firstIdAt(ms + 1) > firstIdAt(ms)).toBe(true)
  })
})
