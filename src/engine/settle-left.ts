/**
 * What earlier attempts left in flight is settled before anything is sent, as far as anybody can say what
 * became of it: imports are followed to their end or found by their tag, a destination of class `lookup` is
 * asked. What remains is sent again, or in doubt (left-intents.ts).
 *
 * Invariants: nobody is asked before the quiet time of the intent has passed; what is there is completed
 * under the epoch that reserved it, so at most once, whoever else settles it; where nobody answers, the
 * attempt ends and the intent stays.
 */
import type { ImportJobs, LookUp } from '../connectors/destination.ts'
import { deliveryKey, RECORD_DIGEST_BYTES } from '../domain/delivery.ts'
import { failure } from '../domain/failure.ts'
import { decideCallWait } from '../domain/retry.ts'
import { assert } from '../runtime/assert.ts'
import type { IdSource } from '../runtime/random.ts'
import { endImport, noteImport } from '../store/intents.ts'
import { complete, type LedgerHolder } from '../store/ledger.ts'
import { alignLeftIntents, type LeftIntent, listLeftIntents } from '../store/left-intents.ts'
import { failAttempt, unlessStopped } from './attempt-stop.ts'
import type { CallContext } from './calls.ts'
import { findImport, followImport } from './imports.ts'
import { LeftIntents } from './left-intents.ts'

export interface SettleContext
  extends Pick<CallContext, 'database' | 'writer' | 'clock' | 'signal' | 'connectionId'> {
  readonly ids: IdSource
  readonly holder: LedgerHolder
}

/** What is still in flight or in doubt afterwards. Throws an attempt's stop. */
export async function settleLeft(context: SettleContext): Promise<LeftIntents> {
  const { database, writer, clock, holder } = context
  await alignLeftIntents(database, holder, {
    deliveryClass: writer.deliveryClass,
    hasImports: writer.imports !== null,
  })
  // A statement of its own, after the claim's: one that raised the fence itself would not see them all.
  let left = await listLeftIntents(database, holder)
  let loadedAtMs = clock.monotonicMs()
  // Again until there is none: a holder that was taken over may still record a part of its answer, and then
  // another intent goes on with the rest; what an import did not tell is asked for next.
  for (
    let concerned = left.filter(canBeTold);
    concerned.length > 0;
    concerned = left.filter(canBeTold)
  ) {
    for (const intent of concerned) {
      await waitUntil(context, loadedAtMs + quietInMsOf(intent))
      await (intent.importTag === null ? settleByLookUp : settleImport)(context, intent)
    }
    left = await listLeftIntents(database, holder)
    loadedAtMs = clock.monotonicMs()
  }
  return new LeftIntents(left, loadedAtMs)
}

/** Somebody else than a person knows what became of it. */
function canBeTold({ importTag, deliveryClass }: LeftIntent): boolean {
  return importTag !== null || deliveryClass === 'lookup'
}

/** An import whose name is known can be asked for at once. */
function quietInMsOf({ importJobId, quietInMs }: LeftIntent): number {
  return importJobId === null ? quietInMs : 0
}

async function waitUntil({ clock, signal }: SettleContext, atMs: number): Promise<void> {
  const waitMs = atMs - clock.monotonicMs()
  if (waitMs > 0) {
    await clock.sleep(waitMs, signal)
  }
}

async function settleImport(context: SettleContext, intent: LeftIntent): Promise<void> {
  const { database, writer } = context
  const { imports } = writer
  assert(imports !== null, 'An import that nobody can ask about is for a person.')
  const jobId = await findJob(context, imports, intent)
  if (jobId === null) {
    await settleAs(context, intent, { written: [], unknown: [] })
    return
  }
  const deliveryKeys = keysOf(intent)
  const outcomes = await followImport(context, imports, { jobId, deliveryKeys })
  assert(outcomes.length === deliveryKeys.length, 'An import answers for each key.')
  const places = [...outcomes.entries()]
  const unknown = places.filter(([, { kind }]) => kind === 'unknown').map(([index]) => index)
  if (unknown.length === places.length) {
    await endImport(database, { intentId: intent.id, epoch: intent.epoch })
    return
  }
  await settleAs(context, intent, {
    written: places.flatMap(([index, outcome]) =>
      outcome.kind === 'written' ? [{ index, result: outcome.remoteId }] : [],
    ),
    unknown,
  })
}

/** Null: no import was started, so nothing of it was applied. */
async function findJob(
  context: SettleContext,
  imports: ImportJobs,
  intent: LeftIntent,
): Promise<string | null> {
  const { importJobId, importTag } = intent
  if (importJobId !== null || importTag === null) {
    return importJobId
  }
  const jobId = await findImport(context, imports, importTag)
  if (jobId !== null) {
    const name = { intentId: intent.id, epoch: intent.epoch }
    await noteImport(context.database, { ...name, jobId })
  }
  return jobId
}

async function settleByLookUp(context: SettleContext, intent: LeftIntent): Promise<void> {
  const { clock, signal, writer } = context
  const { lookUp } = writer
  assert(lookUp !== null, 'A destination of class lookup can be asked.')
  for (let tries = 1; ; tries += 1) {
    const silent = await settleAnswered(context, intent, lookUp)
    if (silent === null) {
      return
    }
    const waitMs = decideCallWait(tries, null, 1)
    if (waitMs === null) {
      throw failAttempt(failure(silent.failure, { step: 'writing', detail: silent.reason }))
    }
    await clock.sleep(waitMs, signal)
  }
}

/** Settles the intent if all of it was answered; else the first of the answers that say nothing. */
async function settleAnswered(context: SettleContext, intent: LeftIntent, lookUp: LookUp) {
  const { signal } = context
  const deliveryKeys = keysOf(intent)
  const answers = await unlessStopped(signal, () => lookUp({ deliveryKeys, signal }))
  assert(answers.length === deliveryKeys.length, 'A destination answers for each key.')
  for (const answer of answers) {
    if (answer.kind === 'unknown') {
      return answer
    }
  }
  const written = [...answers.entries()].flatMap(([index, answer]) =>
    answer.kind === 'found' ? [{ index, result: answer.remoteId }] : [],
  )
  await settleAs(context, intent, { written, unknown: [] })
  return null
}

/** Who was quicker, such as a worker that woke up with its answer, has settled it as well. */
async function settleAs(
  { database, ids }: SettleContext,
  intent: LeftIntent,
  told: {
    readonly written: readonly { readonly index: number; readonly result: string | null }[]
    readonly unknown: readonly number[]
  },
): Promise<void> {
  await complete(database, {
    intentId: intent.id,
    epoch: intent.epoch,
    written: told.written,
    remaining:
      told.unknown.length > 0
        ? { intentId: ids.next(), indexes: told.unknown, keepsImport: false }
        : null,
    hasHeldRecords: true,
  })
}

/** The delivery keys of an intent, in the order of its places. */
function keysOf(intent: LeftIntent): string[] {
  const width = RECORD_DIGEST_BYTES * 2
  return intent.positions.map((position, index) =>
    deliveryKey(
      intent.pageDigest,
      position,
      intent.recordDigests.slice(index * width, (index + 1) * width),
    ),
  )
}
