/**
 * Calls that are taken in and worked on later: followed to their end, found again by their tag, waited for
 * when they are somebody else's.
 *
 * Invariants: nothing here sends a record; what an import did is told by the import itself or stays
 * unknown; waiting ends with the attempt's signal, and with the patience of the destination.
 */
import type { ImportJobs, Unanswered } from '../connectors/destination.ts'
import type { Outcome } from '../domain/delivery.ts'
import { failure } from '../domain/failure.ts'
import { unreachable } from '../runtime/assert.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../store/database.ts'
import { closeImport, findOpenImport, noteImport, type OpenImport } from '../store/intents.ts'
import { failAttempt, unlessStopped } from './attempt-stop.ts'

export interface ImportContext {
  readonly database: Database
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly connectionId: string
}

/** Looks in a row that nobody answered, after which the attempt ends; the next one looks again. */
const MAX_SILENT_LOOKS = 4

/** What became of the records of an import, in their order. Throws an attempt's stop. */
export async function followImport(
  context: ImportContext,
  imports: ImportJobs,
  { jobId, deliveryKeys }: { readonly jobId: string; readonly deliveryKeys: readonly string[] },
): Promise<readonly Outcome[]> {
  const { clock, signal } = context
  const endsAtMs = clock.monotonicMs() + imports.patienceMs
  const silence = new SilentLooks()
  for (;;) {
    const state = await unlessStopped(signal, () => imports.check({ jobId, deliveryKeys, signal }))
    switch (state.kind) {
      case 'finished':
        return state.outcomes
      case 'lost':
        return deliveryKeys.map(() => toUnknown(state.reason))
      case 'unknown':
        silence.note(state)
        break
      case 'running':
        silence.end()
        break
      default:
        return unreachable(state)
    }
    if (clock.monotonicMs() >= endsAtMs) {
      throw unavailable(`The import ${jobId} has not finished in ${imports.patienceMs / 1000} s.`)
    }
    await clock.sleep(imports.pollMs, signal)
  }
}

/** The import that carries the tag, or null: none was started. Throws an attempt's stop when nobody says. */
export async function findImport(
  context: ImportContext,
  imports: ImportJobs,
  tag: string,
): Promise<string | null> {
  const { clock, signal } = context
  const silence = new SilentLooks()
  for (;;) {
    const found = await unlessStopped(signal, () => imports.find({ tag, signal }))
    switch (found.kind) {
      case 'found':
        return found.jobId
      case 'absent':
        return null
      case 'unknown':
        silence.note(found)
        break
      default:
        return unreachable(found)
    }
    await clock.sleep(imports.pollMs, signal)
  }
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
    if (!open || (!open.isInFlight && (await closeIfOver(context, imports, open)))) {
      return
    }
    if (clock.monotonicMs() >= endsAtMs) {
      throw unavailable(
        `Another import into this connection has been open for ${imports.patienceMs / 1000} s: that of sync ${open.syncId}.`,
      )
    }
    await clock.sleep(imports.pollMs, signal)
  }
}

async function closeIfOver(
  context: ImportContext,
  imports: ImportJobs,
  open: OpenImport,
): Promise<boolean> {
  const { database, signal } = context
  if (open.jobId === null && open.quietInMs > 0) {
    return false
  }
  const jobId = open.jobId ?? (await findImport(context, imports, open.tag))
  if (jobId !== null) {
    if (open.jobId === null) {
      await noteImport(database, { ...open, jobId })
    }
    const look = { jobId, deliveryKeys: [], signal }
    const state = await unlessStopped(signal, () => imports.check(look))
    if (state.kind === 'running' || state.kind === 'unknown') {
      return false
    }
  }
  await closeImport(database, open)
  return true
}

class SilentLooks {
  #looks = 0

  note({ failure: code, reason }: Unanswered): void {
    this.#looks += 1
    if (this.#looks >= MAX_SILENT_LOOKS) {
      throw failAttempt(failure(code, { step: 'writing', detail: reason }))
    }
  }

  end(): void {
    this.#looks = 0
  }
}

function toUnknown(reason: string): Outcome {
  return { kind: 'unknown', failure: 'provider_unavailable', reason }
}

function unavailable(detail: string) {
  return failAttempt(failure('provider_unavailable', { step: 'writing', detail }))
}
