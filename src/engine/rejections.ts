/**
 * What becomes of a page's rejected records: held, so that the page stays open, or set aside.
 */
import type { IdSource } from '../runtime/random.ts'
import type { HeldRecord, RecordToHold, RecordToSetAside } from '../store/pages.ts'
import { OVERTAKEN, SUPERSEDED, type Verdict } from './judge-page.ts'
import type { PreparedPage, PreparedRecord } from './prepare-page.ts'
import type { Quarantine } from './quarantine.ts'

/** A record as it is held, with why. */
export function toHold(
  { ids }: { readonly ids: IdSource },
  record: PreparedRecord,
  verdict: Verdict,
): RecordToHold {
  const { position, identityHash, destinationIdentityHash } = record
  return {
    id: ids.next(),
    ...{ position, identityHash, destinationIdentityHash },
    reason: verdict.reason ?? '',
    isSuperseded: verdict.reason === SUPERSEDED,
    isRejected: isRejection(verdict),
    keepsIntent: verdict.reason === OVERTAKEN || verdict.isUnanswered === true,
  }
}

/** What stays in its page, and what leaves it to be set aside: the verdict on that is `quarantined` from here on. */
export function holdRejected(
  context: { readonly quarantine: Quarantine; readonly ids: IdSource },
  page: PreparedPage,
  facts: {
    readonly verdicts: Map<number, Verdict>
    readonly heldBefore: ReadonlyMap<number, HeldRecord>
  },
): { readonly held: readonly RecordToHold[]; readonly setAside: readonly RecordToSetAside[] } {
  const { verdicts, heldBefore } = facts
  const rejections = page.records.flatMap((record) =>
    isRejection(verdicts.get(record.position))
      ? [{ record, runs: (heldBefore.get(record.position)?.runsBefore ?? 0) + 1 }]
      : [],
  )
  const leaving = context.quarantine.setAside(page.pageDigest, rejections)
  const held: RecordToHold[] = []
  const setAside: RecordToSetAside[] = []
  for (const record of page.records) {
    const verdict = verdicts.get(record.position)
    if (!verdict || (verdict.disposition !== 'rejected' && verdict.reason !== SUPERSEDED)) {
      continue
    }
    const kept = toHold(context, record, verdict)
    const sealedPayload = leaving.get(record)
    if (sealedPayload === undefined) {
      held.push(kept)
    } else {
      setAside.push({ ...kept, sealedPayload })
      verdicts.set(record.position, { disposition: 'quarantined', reason: kept.reason })
    }
  }
  return { held, setAside }
}

/** The record itself was refused; one that was overtaken only waits. */
function isRejection(verdict: Verdict | undefined): boolean {
  return verdict?.disposition === 'rejected' && verdict.reason !== OVERTAKEN
}
