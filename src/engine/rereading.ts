/**
 * A source that is read again after a reset, in part from the ledger: it has forgotten what is older than
 * its retention, and remembers what is newer.
 *
 * Invariant: once an older record of an identity is written again, a newer one is not replayed but written
 * after it, so that old never stands in the place of new (I11). A destination that would have a write twice
 * is sent nothing again that counts (I4).
 */
import { forgetOvertaken, noteRewritten } from '../store/rereadings.ts'
import { AttemptStop } from './attempt-stop.ts'
import type { PageToDeliver, Verdict } from './judge-page.ts'
import type { DeliveryContext } from './send-records.ts'

/** Before a page is opened. One that was stored since the reset has been through this. */
export async function forgetOvertakenKeys(
  context: DeliveryContext,
  { page, remembered }: PageToDeliver,
): Promise<void> {
  if (isTracked(context) && !remembered) {
    const { database, holder } = context
    const { pageDigest, records } = page
    await forgetOvertaken(database, { holder, pageDigest, records })
  }
}

/** Before anything of a page is sent. What is rejected counts, too: it is older than what comes. */
export async function noteRewrittenRecords(
  context: DeliveryContext,
  { page }: PageToDeliver,
  verdicts: ReadonlyMap<number, Verdict>,
): Promise<void> {
  await noteRewrittenNames(
    context,
    page.records.filter(
      ({ position }) => (verdicts.get(position)?.disposition ?? 'rejected') === 'rejected',
    ),
  )
}

/** Before records are sent that do not come from the source. */
export async function noteRewrittenNames(
  context: DeliveryContext,
  records: readonly { readonly destinationIdentityHash: string }[],
): Promise<void> {
  const names = records.map((record) => record.destinationIdentityHash)
  if (!isTracked(context) || names.length === 0) {
    return
  }
  const { database, holder } = context
  if (!(await noteRewritten(database, holder, names))) {
    throw new AttemptStop({ kind: 'fenced_off' })
  }
}

function isTracked({ isRereading, writer }: DeliveryContext): boolean {
  return isRereading && writer.deliveryClass === 'idempotent'
}
