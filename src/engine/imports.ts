/**
 * Calls that are taken in and worked on later: followed to their end, found again by their tag, waited for
 * when they are somebody else's.
 *
 * Invariants: nothing here sends a record; what an import did is told by the import itself or stays
 * unknown (I12); an import is asked about where it was begun, whoever asks and whatever is declared by now,
 * and only that it is found elsewhere counts, not that it is missing there;
 * waiting ends with the attempt's signal, and with the patience of the destination.
 */
import type { FoundImport, ImportJobs, Unanswered } from '../connectors/destination.ts'
import type { Outcome } from '../domain/delivery.ts'
import { failure } from '../domain/failure.ts'
import { unreachable } from '../runtime/assert.ts'
import type { Clock } from '../runtime/clock.ts'
import type { IdSource } from '../runtime/random.ts'
import type { Database } from '../store/database.ts'
import { closeImport, findOpenImport, noteImport, type OpenImport } from '../store/intents.ts'
import { type AttemptStop, failAttempt, unlessStopped } from './attempt-stop.ts'

export interface ImportContext {
  readonly database: Database
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly ids: IdSource
  readonly connectionId: string
}

/** Looks in a row that nobody answered, after which the attempt ends; the next one looks again. */
const MAX_SILENT_LOOKS = 4

/** The destination's name of an import, and where it is known by that. */
export interface NamedImport {
  readonly object: string
  readonly tag: string
  readonly jobId: string
}

export type FollowedImport =
  | {
      readonly kind: 'told'
      /** What became of the records of the import, in the order of their keys. */
      readonly outcomes: readonly Outcome[]
      /** The destination does not know it any more. */
      readonly isLost: boolean
    }
  | Unanswered

/** Follows an import to its end, or until nobody has said for too long what became of it. Throws an attempt's stop. */
export async function followImport(
  context: ImportContext,
  imports: ImportJobs,
  followed: NamedImport & { readonly deliveryKeys: readonly string[] },
): Promise<FollowedImport> {
  const { clock, signal } = context
  const { deliveryKeys } = followed
  const endsAtMs = clock.monotonicMs() + imports.patienceMs
  let silentLooks = 0
  for (;;) {
    const state = await unlessStopped(signal, () => imports.check({ ...followed, signal }))
    switch (state.kind) {
      case 'finished':
        return { kind: 'told', outcomes: state.outcomes, isLost: false }
      case 'lost':
        return {
          kind: 'told',
          outcomes: deliveryKeys.map(() => toUnknown(state.reason)),
          isLost: true,
        }
      case 'unknown':
        silentLooks += 1
        if (silentLooks >= MAX_SILENT_LOOKS) {
          return state
        }
        break
      case 'running':
        silentLooks = 0
        break
      default:
        return unreachable(state)
    }
    if (clock.monotonicMs() >= endsAtMs) {
      const seconds = imports.patienceMs / 1000
      throw unavailable(`The import ${followed.jobId} has not finished in ${seconds} s.`)
    }
    await clock.sleep(imports.pollMs, signal)
  }
}

/** Looks for the import that carries the tag, until somebody says or too many looks were in vain. Throws an attempt's stop. */
export async function findImport(
  context: ImportContext,
  imports: ImportJobs,
  mark: { readonly object: string; readonly tag: string },
): Promise<FoundImport> {
  const { clock, signal } = context
  for (let looks = 1; ; looks += 1) {
    const found = await unlessStopped(signal, () => imports.find({ ...mark, signal }))
    if (found.kind !== 'unknown' || looks >= MAX_SILENT_LOOKS) {
      return found
    }
    await clock.sleep(imports.pollMs, signal)
  }
}

/** The attempt ends, and its intent stays: the next one asks again. */
export function stopUnanswered({ failure: code, reason }: Unanswered): AttemptStop {
  return failAttempt(failure(code, { step: 'writing', detail: reason }))
}

/**
 * Waits until no import into the connection is open. One whose sync is not at work, such as a paused one,
 * is looked at from here: once it is over it stands in nobody's way, and its sync reads later what it did.
 */
export async function waitForOpenImport(
  context: ImportContext,
  imports: ImportJobs,
): Promise<void> {
  const { database, clock, signal, connectionId } = context
  const endsAtMs = clock.monotonicMs() + imports.patienceMs
  for (;;) {
    signal.throwIfAborted()
    const open = await findOpenImport(database, connectionId)
    if (!open) {
      return
    }
    const look = open.isInFlight ? NOT_OVER : await lookAtOpen(context, imports, open)
    if (look.isOver) {
      await closeImport(database, open)
      return
    }
    if (clock.monotonicMs() >= endsAtMs) {
      throw unavailable(describeOpen(open, look.silence, imports.patienceMs))
    }
    await clock.sleep(imports.pollMs, signal)
  }
}

interface OpenLook {
  readonly isOver: boolean
  /** Why that could not be found out. */
  readonly silence: string | null
}

const NOT_OVER: OpenLook = { isOver: false, silence: null }
const OVER: OpenLook = { isOver: true, silence: null }

/**
 * One look, where the import was begun: this sync's own place need not know of it. If there is nothing at all at that
 * place, which its sync may have named wrongly, it is looked for at this sync's own by its tag. That it is found there
 * says what becomes of it; that it is not says nothing, as long as nothing shows that it would be.
 */
async function lookAtOpen(
  context: ImportContext,
  imports: ImportJobs,
  open: OpenImport,
): Promise<OpenLook> {
  if (open.jobId === null && open.quietInMs > 0) {
    return NOT_OVER
  }
  const begunAt = open.object ?? imports.object
  const state = await askAboutOpen(context, imports, { ...open, object: begunAt })
  if (state.kind !== 'unknown') {
    return state.kind === 'running' ? NOT_OVER : OVER
  }
  if (state.failure !== 'node_failed' || begunAt === imports.object) {
    return { isOver: false, silence: state.reason }
  }
  const here = await askElsewhere(context, imports, open)
  switch (here.kind) {
    case 'running':
      return NOT_OVER
    case 'finished':
    case 'lost':
      return OVER
    default: {
      const words = here.kind === 'unknown' ? here.reason : 'it is not listed.'
      const silence = `Mend where that sync asks. At ${begunAt}, where it was begun: ${state.reason}; at ${imports.object}, where this sync asks: ${words}`
      return { isOver: false, silence }
    }
  }
}

/** At this sync's own place, by its tag alone. */
async function askElsewhere(context: ImportContext, imports: ImportJobs, open: OpenImport) {
  const { object } = imports
  const distrusted = await askForNobodys(context, imports)
  return distrusted ?? (await askAboutOpen(context, imports, { ...open, object, jobId: null }))
}

/**
 * Whether the list of this sync's own place goes by tags: one that does not would pass off another import for the one
 * that is looked for. Null: it does.
 */
export async function askForNobodys(
  { signal, ids }: Pick<ImportContext, 'signal' | 'ids'>,
  imports: ImportJobs,
): Promise<Unanswered | null> {
  const { object } = imports
  const found = await unlessStopped(signal, () => imports.find({ object, tag: ids.next(), signal }))
  switch (found.kind) {
    case 'found': {
      const reason = `GET ${object} lists an import for a tag that nobody has given.`
      return { kind: 'unknown', failure: 'node_failed', reason }
    }
    case 'absent':
      return null
    case 'unknown':
      return found
    default:
      return unreachable(found)
  }
}

/** Keeps what it is known by, once it is found by its tag. `absent`: it is not listed. */
async function askAboutOpen(
  { database, signal }: ImportContext,
  imports: ImportJobs,
  open: OpenImport & { readonly object: string },
) {
  const { object, tag } = open
  let { jobId } = open
  if (jobId === null) {
    const found = await unlessStopped(signal, () => imports.find({ object, tag, signal }))
    if (found.kind !== 'found') {
      return found
    }
    jobId = found.jobId
    await noteImport(database, { ...open, object, jobId })
  }
  const look = { object, tag, jobId, deliveryKeys: [], signal }
  return await unlessStopped(signal, () => imports.check(look))
}

function describeOpen(open: OpenImport, silence: string | null, patienceMs: number): string {
  const told = `Another import into this connection has been open for ${patienceMs / 1000} s: that of sync "${open.syncName}" (${open.syncId}).`
  return silence === null ? told : `${told} What became of it is not said. ${silence}`
}

function toUnknown(reason: string): Outcome {
  return { kind: 'unknown', failure: 'provider_unavailable', reason }
}

function unavailable(detail: string) {
  return failAttempt(failure('provider_unavailable', { step: 'writing', detail }))
}
