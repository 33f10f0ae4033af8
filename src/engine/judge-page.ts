/**
 * What is decided about a page's records before anything is sent: replayed, skipped, rejected, in doubt.
 * No I/O.
 */
import { type Disposition, RECORD_DIGEST_BYTES } from '../domain/delivery.ts'
import type { OpenedPage } from '../store/ledger.ts'
import type { HeldRecord } from '../store/pages.ts'
import type { DoubtfulIdentities } from './doubtful-identities.ts'
import { type PreparedPage, type PreparedRecord, unpackHashes } from './prepare-page.ts'

export interface PageToDeliver {
  readonly page: PreparedPage
  /** `reached` has not moved past it yet. */
  readonly advances: boolean
  /** It was stored before, so records of it may be held. */
  readonly isReread: boolean
  /** 12 bytes a position, kept with the page since the ledger may have forgotten them. */
  readonly keptCompleted: string | null
}

/** What became of one record, and why where somebody will ask. */
export interface Verdict {
  readonly disposition: Disposition
  readonly reason: string | null
}

interface JudgeContext {
  readonly doubtful: DoubtfulIdentities
}

/** What is decided about records without sending them, by position. */
export function judgePage(
  context: JudgeContext,
  facts: {
    source: PageToDeliver
    opened: OpenedPage
    heldBefore: readonly HeldRecord[]
  },
): Map<number, Verdict> {
  const { source, opened, heldBefore } = facts
  const completed = mergeCompleted(source.keptCompleted, opened)
  const superseded = new Set(
    heldBefore.filter((record) => record.isSuperseded).map((record) => record.position),
  )
  const verdicts = new Map<number, Verdict>()
  for (const record of source.page.records) {
    const verdict = judgeRecord(context, record, {
      completedDigest: completed.get(record.position) ?? null,
      isSuperseded: superseded.has(record.position),
    })
    if (verdict) {
      verdicts.set(record.position, verdict)
    }
  }
  for (const position of source.page.left) {
    verdicts.set(position, judgeLeft(context, source.page, position, completed.has(position)))
  }
  return verdicts
}

function judgeRecord(
  context: JudgeContext,
  record: PreparedRecord,
  facts: { completedDigest: string | null; isSuperseded: boolean },
): Verdict | null {
  if (facts.isSuperseded) {
    return { disposition: 'skipped', reason: null }
  }
  if (context.doubtful.has(record)) {
    return { disposition: 'inDoubt', reason: null }
  }
  if (record.kind === 'unsendable') {
    return { disposition: 'rejected', reason: record.reason }
  }
  const isDelivered = facts.completedDigest === record.recordDigest
  return isDelivered ? { disposition: 'replayed', reason: null } : null
}

/** A record that left its page comes again where it moved to, or is gone; in doubt it stays. */
function judgeLeft(
  context: JudgeContext,
  page: PreparedPage,
  position: number,
  isCompleted: boolean,
): Verdict {
  const identityHash = unpackHashes(page.identities)[position] ?? ''
  if (context.doubtful.hasIdentity(identityHash)) {
    return { disposition: 'inDoubt', reason: null }
  }
  return { disposition: isCompleted ? 'replayed' : 'skipped', reason: null }
}

/** Record digests in hexadecimal by position: the ledger's, and the page's own where the ledger has none. */
function mergeCompleted(kept: string | null, opened: OpenedPage): Map<number, string> {
  const completed = new Map<number, string>()
  const text = kept ?? ''
  const width = RECORD_DIGEST_BYTES * 2
  for (let start = 0; start < text.length; start += width) {
    const digest = text.slice(start, start + width)
    if (!/^0+$/.test(digest)) {
      completed.set(start / width, digest)
    }
  }
  for (const { position, recordDigest } of opened.completed) {
    completed.set(position, recordDigest)
  }
  return completed
}
