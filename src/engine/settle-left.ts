/**
 * What earlier attempts left in flight is settled before anything is sent, as far as anybody can say what
 * became of it: imports are followed to their end or found by their tag, a destination of class `lookup` is
 * asked. What remains is sent again, or in doubt (left-intents.ts).
 *
 * Invariants: nobody is asked before the quiet time of the intent has passed; what is there is completed
 * under the epoch that reserved it, so at most once, whoever else settles it; where nobody answers, the
 * attempt ends and the intent stays; that something is not there is believed only of a place that would know.
 */
import type { ImportJobs, LookUp } from '../connectors/destination.ts'
import { deliveryKey, type Outcome, RECORD_DIGEST_BYTES } from '../domain/delivery.ts'
import type { DoubtCause } from '../domain/doubt.ts'
import { decideCallWait } from '../domain/retry.ts'
import { assert, unreachable } from '../runtime/assert.ts'
import type { IdSource } from '../runtime/random.ts'
import { endImport, noteImport } from '../store/intents.ts'
import { complete, type LedgerHolder } from '../store/ledger.ts'
import {
  alignLeftIntents,
  dropSpentIntents,
  type LeftIntent,
  listLeftIntents,
} from '../store/left-intents.ts'
import type { CallContext } from './calls.ts'
import {
  askForNobodys,
  type FollowedImport,
  findImport,
  followImport,
  stopUnanswered,
} from './imports.ts'
import { LeftIntents } from './left-intents.ts'
import { askForWrites } from './look-up.ts'

export interface SettleContext
  extends Pick<
    CallContext,
    'database' | 'writer' | 'confirmed' | 'clock' | 'signal' | 'connectionId'
  > {
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
  await dropSpentIntents(database, holder)
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
  const { imports } = context.writer
  assert(imports !== null, 'An import that nobody can ask about is for a person.')
  const begunAt = intent.importObject ?? imports.object
  const told = await tellImport(context, { intent, imports, object: begunAt })
  if (begunAt !== imports.object && isWithoutTrace(told)) {
    await settleMovedImport(context, intent, { imports, before: told })
  } else {
    await settleTold(context, intent, told)
  }
}

/** Nobody knows of it there, or there is nothing at all. */
function isWithoutTrace(told: ToldImport): boolean {
  switch (told.kind) {
    case 'never_begun':
      return true
    case 'unknown':
      return told.failure === 'node_failed'
    case 'told':
      return told.isLost
    default:
      return unreachable(told)
  }
}

/**
 * There is no trace of it where it was begun, and the sync names another place by now: that one was wrong and was
 * mended, or all of them have moved. An import that has the tag is the one, wherever it is; but that none has it
 * says something only at the place where it was begun.
 */
async function settleMovedImport(
  context: SettleContext,
  intent: LeftIntent,
  { imports, before }: { readonly imports: ImportJobs; readonly before: ToldImport },
): Promise<void> {
  const distrusted = await askForNobodys(context, imports)
  if (distrusted) {
    throw stopUnanswered(distrusted)
  }
  const unnamed = { ...intent, importJobId: null }
  const told = await tellImport(context, { intent: unnamed, imports, object: imports.object })
  if (told.kind === 'never_begun' && before.kind === 'unknown') {
    const unknown = [...intent.positions.keys()]
    await settleAs(context, intent, { written: [], unknown, doubtCause: 'import_out_of_reach' })
  } else if (told.kind === 'never_begun' && before.kind === 'told') {
    await settleTold(context, intent, before)
  } else {
    await settleTold(context, intent, told)
  }
}

type ToldImport =
  | FollowedImport
  /** No import was started, so nothing of it was applied. */
  | { readonly kind: 'never_begun' }

async function settleTold(
  context: SettleContext,
  intent: LeftIntent,
  told: ToldImport,
): Promise<void> {
  switch (told.kind) {
    case 'unknown':
      throw stopUnanswered(told)
    case 'never_begun':
      await settleAs(context, intent, { written: [], unknown: [] })
      break
    case 'told':
      await settleOutcomes(context, intent, told.outcomes)
      break
    default:
      unreachable(told)
  }
}

async function settleOutcomes(
  context: SettleContext,
  intent: LeftIntent,
  outcomes: readonly Outcome[],
): Promise<void> {
  assert(outcomes.length === intent.positions.length, 'An import answers for each key.')
  const places = [...outcomes.entries()]
  const unknown = places.filter(([, { kind }]) => kind === 'unknown').map(([index]) => index)
  if (unknown.length === places.length) {
    await endImport(context.database, { intentId: intent.id, epoch: intent.epoch })
    return
  }
  await settleAs(context, intent, {
    written: places.flatMap(([index, outcome]) =>
      outcome.kind === 'written' ? [{ index, result: outcome.remoteId }] : [],
    ),
    unknown,
  })
}

/** What the place says of the intent's import. */
async function tellImport(
  context: SettleContext,
  asked: {
    readonly intent: LeftIntent
    readonly imports: ImportJobs
    readonly object: string
  },
): Promise<ToldImport> {
  const { intent, imports, object } = asked
  const { importTag: tag } = intent
  assert(tag !== null, 'An import has a tag.')
  let jobId = intent.importJobId
  if (jobId === null) {
    const found = await findImport(context, imports, { object, tag })
    if (found.kind !== 'found') {
      return found.kind === 'absent' ? { kind: 'never_begun' } : found
    }
    jobId = found.jobId
    const name = { intentId: intent.id, epoch: intent.epoch }
    await noteImport(context.database, { ...name, jobId, object })
  }
  const deliveryKeys = keysOf(intent)
  return await followImport(context, imports, { object, tag, jobId, deliveryKeys })
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
      throw stopUnanswered(silent)
    }
    await clock.sleep(waitMs, signal)
  }
}

/** Settles the intent if all of it was answered; else the first of the answers that say nothing. */
async function settleAnswered(context: SettleContext, intent: LeftIntent, lookUp: LookUp) {
  const { confirmed, signal } = context
  const deliveryKeys = keysOf(intent)
  const asked = { deliveryKeys, confirmed, known: [], signal }
  const { answers, isProven } = await askForWrites(lookUp, asked)
  const written: { index: number; result: string | null }[] = []
  const absent: number[] = []
  for (const [index, answer] of answers.entries()) {
    switch (answer.kind) {
      case 'unknown':
        return answer
      case 'found':
        written.push({ index, result: answer.remoteId })
        break
      case 'absent':
        absent.push(index)
        break
      default:
        unreachable(answer)
    }
  }
  // Another place than the sync named when they were sent need not know of them.
  const isInDoubt = intent.lookupObject !== lookUp.object && !isProven
  await settleAs(context, intent, {
    ...{ written, unknown: isInDoubt ? absent : [], doubtCause: 'lookup_moved' },
  })
  return null
}

/** Who was quicker, such as a worker that woke up with its answer, has settled it as well. */
async function settleAs(
  { database, ids }: SettleContext,
  intent: LeftIntent,
  told: {
    readonly written: readonly { readonly index: number; readonly result: string | null }[]
    readonly unknown: readonly number[]
    /** Not given: the class decides what becomes of what is unknown. */
    readonly doubtCause?: DoubtCause
  },
): Promise<void> {
  const { written, unknown, doubtCause } = told
  const cause = doubtCause === undefined ? {} : { doubtCause }
  await complete(database, {
    intentId: intent.id,
    epoch: intent.epoch,
    written,
    remaining:
      unknown.length > 0
        ? { intentId: ids.next(), indexes: unknown, keepsImport: false, ...cause }
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
