import { describe, expect, it } from 'vitest'
import {
  decideRequest,
  decideVerdict,
  PUBLICATION_REQUEST_STATUSES,
} from '../../src/domain/publication-request.ts'

describe('a request to publish', () => {
  const facts = {
    status: 'active',
    draftDigest: 'new',
    publishedDigest: 'old',
    requestedDigest: null,
  } as const

  it('is made of a draft that does not run', () => {
    expect(decideRequest(facts)).toEqual({ kind: 'request', supersedes: false })
    const draft = { ...facts, status: 'draft', publishedDigest: null } as const
    expect(decideRequest(draft)).toEqual({ kind: 'request', supersedes: false })
  })

  it('is made of the published version where that is paused', () => {
    const paused = { ...facts, status: 'paused', publishedDigest: 'new' } as const
    expect(decideRequest(paused)).toEqual({ kind: 'request', supersedes: false })
  })

  it('is refused for what runs', () => {
    const running = { ...facts, publishedDigest: 'new' }
    expect(decideRequest(running)).toEqual({ kind: 'refuse', why: 'nothing_to_publish' })
  })

  it('is made once for a version, and takes the place of one for another', () => {
    expect(decideRequest({ ...facts, requestedDigest: 'new' })).toEqual({ kind: 'noop' })
    const other = { ...facts, requestedDigest: 'before' }
    expect(decideRequest(other)).toEqual({ kind: 'request', supersedes: true })
  })

  it.each(['approved', 'refused'] as const)('is never %s by who made it (I22)', (verdict) => {
    for (const status of PUBLICATION_REQUEST_STATUSES) {
      expect(decideVerdict({ status, verdict, isOwn: true })).toEqual({
        ...{ kind: 'refuse', why: 'own_request' },
      })
    }
  })

  it.each(['approved', 'refused', 'withdrawn'] as const)(
    'is %s once, while it is open',
    (verdict) => {
      const decide = (status: (typeof PUBLICATION_REQUEST_STATUSES)[number]) =>
        decideVerdict({ status, verdict, isOwn: false })
      expect(decide('open')).toEqual({ kind: 'close' })
      expect(decide(verdict)).toEqual({ kind: 'noop' })
      for (const status of PUBLICATION_REQUEST_STATUSES) {
        if (status !== 'open' && status !== verdict) {
          expect(decide(status)).toEqual({ kind: 'refuse', why: 'closed', status })
        }
      }
    },
  )

  it('is withdrawn by who made it', () => {
    const own = { status: 'open', verdict: 'withdrawn', isOwn: true } as const
    expect(decideVerdict(own)).toEqual({ kind: 'close' })
  })
})
