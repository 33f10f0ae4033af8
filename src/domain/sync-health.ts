/**
 * How a sync is doing, measured by its own schedule: what its owner sees, and what no neighbour can hide.
 *
 * The dead-man check asks whole workspaces, where one sync that succeeds speaks for all. Here each sync is
 * asked for itself. Invariants: a sync that was published has exactly one health; none begins in the future;
 * as time passes without a run, it is late before it is silent. What was before its last publication or
 * resumption does not count.
 */
import { describeFailure, type Failure } from './failure.ts'
import { quoteName } from './mapping-names.ts'
import { type AnchoredSchedule, type CronEngine, nextFire } from './schedule.ts'
import type { PauseCause } from './sync.ts'

/**
 * `late`: it should have run, or a worker should have taken its run. `silent`: nothing has come of its schedule
 * for so long that it will not come by itself. `failing`: its last run failed. `partial`: its last run came to the
 * end of the source, but not with all records: as with the dead-man check, that is no success. One of whose
 * connections is refused is `failing` too, also where it was another sync's run that found out.
 */
export type SyncHealthStatus = 'ok' | 'partial' | 'late' | 'silent' | 'failing' | 'paused'

export interface SyncHealth {
  readonly status: SyncHealthStatus
  readonly sinceMs: number
  /** One full sentence. */
  readonly why: string
}

export interface SyncHealthFacts {
  readonly nowMs: number
  /** Null: it is active. */
  readonly pause: {
    readonly cause: PauseCause
    readonly reason: string | null
    readonly sinceMs: number
  } | null
  /** When it was last published or resumed. */
  readonly activatedMs: number
  /** Null: it runs only when it is asked to. */
  readonly slots: AnchoredSchedule | null
  /** The last run that succeeded or was partial. */
  readonly lastAlive: {
    readonly finishedMs: number
    /** When the first of the partial runs ended after which none has succeeded; null: it succeeded. */
    readonly partialSinceMs: number | null
  } | null
  /** A connection of its published version that the other system refuses; null: none is. */
  readonly refused: { readonly connectionName: string; readonly sinceMs: number } | null
  /** The first and the last run that failed after it, and since it was activated. */
  readonly failures: { readonly firstMs: number; readonly last: Failure } | null
  readonly inFlight:
    | { readonly status: 'queued'; readonly dueMs: number }
    | { readonly status: 'running'; readonly startedMs: number; readonly progressMs: number }
    | null
}

export interface SyncHealthParts {
  readonly cron: CronEngine
  /** A running run that has reported no progress for longer is no sign of health. */
  readonly progressStaleAfterMs: number
  /** A moment as people read it. */
  tell(ms: number): string
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** A slot that is fired, claimed and delivered in this time is on time. */
const LATE_AFTER_MS = 15 * MINUTE_MS
/** So many slots are missed before a sync is silent, within the two limits. */
const SILENT_AFTER_GAPS = 3
const LEAST_SILENT_MS = HOUR_MS
const MOST_SILENT_MS = 24 * HOUR_MS

export function decideSyncHealth(parts: SyncHealthParts, facts: SyncHealthFacts): SyncHealth {
  const health = decide(parts, facts)
  // A clock that was set back must not make it begin in the future.
  return { ...health, sinceMs: Math.min(health.sinceMs, facts.nowMs) }
}

function decide(parts: SyncHealthParts, facts: SyncHealthFacts): SyncHealth {
  const { pause, inFlight, failures, nowMs } = facts
  if (pause) {
    return { status: 'paused', sinceMs: pause.sinceMs, why: describePause(pause) }
  }
  if (inFlight?.status === 'running' && nowMs - inFlight.progressMs <= parts.progressStaleAfterMs) {
    return { status: 'ok', sinceMs: inFlight.startedMs, why: 'A run is under way.' }
  }
  if (facts.refused) {
    const { connectionName, sinceMs } = facts.refused
    return {
      status: 'failing',
      sinceMs: Math.min(sinceMs, failures?.firstMs ?? sinceMs),
      why: `The other system refuses our access by the connection ${quoteName(connectionName)}: reconnect it.`,
    }
  }
  if (failures) {
    return {
      status: 'failing',
      sinceMs: failures.firstMs,
      why: toSentence(describeFailure(failures.last)),
    }
  }
  return (
    decideWaiting(parts, facts) ??
    decideLateness(parts, facts) ??
    decidePartial(parts, facts) ??
    toHealthy(parts, facts)
  )
}

/** A run that nobody takes: late at the least, and silent when its slots say so. */
function decideWaiting(parts: SyncHealthParts, facts: SyncHealthFacts): SyncHealth | null {
  const { inFlight, nowMs } = facts
  if (inFlight?.status !== 'queued' || nowMs - inFlight.dueMs <= LATE_AFTER_MS) {
    return null
  }
  const why = `A run has been waiting in the queue since ${parts.tell(inFlight.dueMs)}, and no worker has taken it.`
  const late = decideLateness(parts, facts)
  return late ? { ...late, why } : { status: 'late', sinceMs: inFlight.dueMs, why }
}

/**
 * By the first slot that no run has answered. A slot that passes while a run is under way is taken in by that
 * run, so those are looked at that come after its end.
 */
function decideLateness(parts: SyncHealthParts, facts: SyncHealthFacts): SyncHealth | null {
  const { slots, activatedMs, lastAlive, nowMs } = facts
  if (slots === null) {
    return null
  }
  const answeredMs = Math.max(activatedMs, lastAlive?.finishedMs ?? activatedMs)
  const missedMs = nextFire(parts.cron, slots, answeredMs)
  if (missedMs === null || nowMs - missedMs <= LATE_AFTER_MS) {
    return null
  }
  const missed = parts.tell(missedMs)
  return nowMs - missedMs > silentAfterMs(parts.cron, slots, missedMs)
    ? {
        status: 'silent',
        sinceMs: missedMs,
        why: `It was to run at ${missed}, and nothing has come of that or of any later time.`,
      }
    : {
        status: 'late',
        sinceMs: missedMs,
        why: `It was to run at ${missed}, and no run has come to its end since.`,
      }
}

function silentAfterMs(cron: CronEngine, slots: AnchoredSchedule, missedMs: number): number {
  const followingMs = nextFire(cron, slots, missedMs)
  const gapMs = followingMs === null ? MOST_SILENT_MS : followingMs - missedMs
  return Math.max(LEAST_SILENT_MS, Math.min(MOST_SILENT_MS, SILENT_AFTER_GAPS * gapMs))
}

/** Records stay behind, run after run, and nothing is late or fails: somebody has to look at them. */
function decidePartial(parts: SyncHealthParts, facts: SyncHealthFacts): SyncHealth | null {
  const { lastAlive, activatedMs } = facts
  if (!lastAlive || lastAlive.partialSinceMs === null || lastAlive.finishedMs < activatedMs) {
    return null
  }
  return {
    status: 'partial',
    sinceMs: Math.max(activatedMs, lastAlive.partialSinceMs),
    why: `Its last run ended at ${parts.tell(lastAlive.finishedMs)}, with some records not delivered.`,
  }
}

function toHealthy(parts: SyncHealthParts, facts: SyncHealthFacts): SyncHealth {
  const { activatedMs, lastAlive, slots } = facts
  if (lastAlive?.partialSinceMs === null) {
    const { finishedMs } = lastAlive
    const why = `Its last run succeeded at ${parts.tell(finishedMs)}.`
    return { status: 'ok', sinceMs: Math.max(activatedMs, finishedMs), why }
  }
  const why = slots
    ? 'It has not run yet since it was published or resumed, and its first run is not late.'
    : 'It runs only when it is asked to, and no run has failed.'
  return { status: 'ok', sinceMs: activatedMs, why }
}

function describePause(pause: NonNullable<SyncHealthFacts['pause']>): string {
  if (pause.cause === 'breaker') {
    return 'Paused automatically by the failure circuit breaker: mend the cause and publish again.'
  }
  const reason = pause.reason?.trim() ?? ''
  return reason === ''
    ? 'It was paused by a person.'
    : toSentence(`It was paused by a person: ${reason}`)
}

function toSentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`
}
