/**
 * The dead-man check: whether a workspace has fallen silent, when that is asked, and what is said about it.
 *
 * The incident that made it necessary: an active workspace produced nothing but errors for a long time, and
 * nobody knew. Every signal was tied to something that happened, so whoever looked at one run saw a failure as
 * there are many, and where no run came into being there was nothing to look at: silence is not an event. So
 * this check asks for what is missing: was there a success in the last 24 hours?
 *
 * Invariants: only a run that `SUCCEEDED` breaks the silence, a partial one does not. A workspace is not
 * asked before it could have spoken: its oldest active sync has been active for a whole window. What comes of
 * it is an alert for Tajo's operators, and changes nothing on any sync.
 */

/**
 * `no_run`: in the window there was none: none was recorded or came to its end, none waits or is under way.
 * `no_success`: there were runs, and none succeeded. `queue_stuck`: a run waits and nobody takes it, which is known
 * long before the window is over.
 */
export const SILENCES = ['no_run', 'no_success', 'queue_stuck'] as const
export type Silence = (typeof SILENCES)[number]

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** Of every hour: away from the full hour, when schedules begin. */
export const DEAD_MAN_MINUTE = 13

/** The latest moment, not after `nowMs`, at which a clock in UTC shows that minute: hours there have no gaps and no doubles. */
export function deadManSlot(nowMs: number, minute: number): number {
  const offsetMs = minute * MINUTE_MS
  return Math.floor((nowMs - offsetMs) / HOUR_MS) * HOUR_MS + offsetMs
}

/** How the check stands that was taken last. */
export interface TakenCheck {
  readonly slotMs: number
  readonly startedMs: number
  /** Null: it is under way, or its process died in it. */
  readonly finishedMs: number | null
}

export type CheckDecision =
  | { readonly kind: 'take'; readonly slotMs: number }
  /** It is done, or another process is at it. */
  | { readonly kind: 'rest' }

/** A check that takes longer has lost its process: it asks thousands of workspaces in a second. */
const CHECK_DIED_AFTER_MS = 5 * MINUTE_MS
/**
 * Clocks that are set back by less find their slots done, and repeat none. A slot that lies further ahead was
 * taken by a clock that was wrong: to wait for it would be the very silence that this is about.
 */
const SET_BACK_MS = 2 * HOUR_MS

/** Whether the check of the present slot is still to be made; `taken` is null before the first one. */
export function decideCheck(facts: {
  readonly nowMs: number
  readonly minute: number
  readonly taken: TakenCheck | null
}): CheckDecision {
  const { nowMs, minute, taken } = facts
  const slotMs = deadManSlot(nowMs, minute)
  if (taken === null || taken.slotMs < slotMs || taken.slotMs > slotMs + SET_BACK_MS) {
    return { kind: 'take', slotMs }
  }
  const hasDied = taken.finishedMs === null && isApart(nowMs, taken.startedMs, CHECK_DIED_AFTER_MS)
  return hasDied ? { kind: 'take', slotMs: taken.slotMs } : { kind: 'rest' }
}

/** What began in the future began before the clock was set back. */
function isApart(nowMs: number, thenMs: number, ms: number): boolean {
  return Math.abs(nowMs - thenMs) >= ms
}

export type WorkspaceFacts = {
  /** Since when the oldest of its active syncs has been active; null: none is. */
  readonly activeSinceMs: number | null
  /** When the last run that succeeded ended. */
  readonly lastSucceededMs: number | null
  /** When its newest run was recorded. */
  readonly lastRunMs: number | null
  /** When the last run came to its end, whatever that was. */
  readonly lastEndedMs: number | null
  /** Those that are queued or running. */
  readonly runsInFlight: number
  /** When the alert of its silence was opened that is open; null: none is. */
  readonly alertedMs: number | null
}

export type SilenceDecision =
  | { readonly kind: 'not_asked' }
  | { readonly kind: 'alive' }
  | { readonly kind: 'silent'; readonly silence: 'no_run' | 'no_success' }
  /** An alert is open although it is over. */
  | { readonly kind: 'over'; readonly why: SilenceEnd }

/** How an incident of silence ends. */
export type SilenceEnd = 'succeeded' | 'no_active_sync'

/**
 * A run may succeed in the very moment in which the alert is raised, each unseen by the other. So much earlier
 * its end may lie: a statement takes less than half a minute.
 */
const UNSEEN_MS = MINUTE_MS

export function decideSilence(
  facts: WorkspaceFacts,
  { nowMs, windowMs }: { readonly nowMs: number; readonly windowMs: number },
): SilenceDecision {
  const { activeSinceMs, lastSucceededMs, lastRunMs, lastEndedMs, alertedMs } = facts
  if (activeSinceMs === null) {
    return alertedMs === null ? { kind: 'not_asked' } : { kind: 'over', why: 'no_active_sync' }
  }
  const isInWindow = (ms: number | null): ms is number => ms !== null && nowMs - ms <= windowMs
  if (isInWindow(lastSucceededMs)) {
    const hasAnswered = alertedMs !== null && lastSucceededMs > alertedMs - UNSEEN_MS
    return hasAnswered ? { kind: 'over', why: 'succeeded' } : { kind: 'alive' }
  }
  if (nowMs - activeSinceMs < windowMs) {
    return { kind: 'not_asked' }
  }
  const hadRun = facts.runsInFlight > 0 || isInWindow(lastRunMs) || isInWindow(lastEndedMs)
  return { kind: 'silent', silence: hadRun ? 'no_success' : 'no_run' }
}

/** Why an incident of silence is over, as its closing notice says it. */
export const SILENCE_CLOSINGS = {
  succeeded: 'A run of the workspace has succeeded.',
  no_active_sync: 'No sync of the workspace is active any more, so none is expected to run.',
} as const satisfies Record<SilenceEnd, string>

/** What an alert says beside its silence. Moments are texts that people can read. */
export interface ToldSilence {
  readonly workspaceId: string
  readonly windowMs: number
  readonly activeSyncs: number
  readonly activeSince: string
  readonly lastSucceeded: string | null
  readonly lastRun: string | null
  /** Those that are queued or running. */
  readonly runsInFlight: number
}

const CLOSES =
  'The alert closes with the next run of the workspace that succeeds. Nothing was changed on any sync. The runbook tells what to look at (docs/runbook.md).'

/** Title and message of the alert that the dead-man check raises. */
export function describeSilence(
  silence: 'no_run' | 'no_success',
  told: ToldSilence,
): { readonly title: string; readonly message: string } {
  const { workspaceId, activeSince, lastSucceeded, lastRun } = told
  const duration = describeDuration(told.windowMs)
  const syncs = told.activeSyncs === 1 ? '1 active sync' : `${told.activeSyncs} active syncs`
  const who = `Workspace ${workspaceId} has ${syncs}, the oldest active since ${activeSince}.`
  const success = lastSucceeded === null ? 'none ever has' : `the last one at ${lastSucceeded}`
  if (silence === 'no_run') {
    const last =
      lastRun === null ? 'there has never been one' : `the last one was recorded at ${lastRun}`
    return {
      title: `No run is recorded in workspace ${workspaceId}`,
      message: `${who} No run at all was recorded or came to its end in the last ${duration} (${last}), and none waits or is under way, so nothing could succeed (${success}). Tajo's operators have to find out why no run comes into being: whether a scheduler is at work, and whether the syncs have a schedule. ${CLOSES}`,
    }
  }
  const { runsInFlight } = told
  const inFlight =
    runsInFlight === 0
      ? 'none is in the queue or under way'
      : `in the queue or under way: ${runsInFlight}`
  return {
    title: `No run succeeds in workspace ${workspaceId}`,
    message: `${who} There are runs (the newest recorded at ${lastRun ?? 'an unknown time'}; ${inFlight}), but none has succeeded in the last ${duration} (${success}). Tajo's operators have to find out whether runs fail, end only in part or take too long or are not taken by any worker. ${CLOSES}`,
  }
}

/** Title and message of the alert that a run waits which nobody takes. */
export function describeStuckQueue(told: {
  readonly workspaceId: string
  readonly waitingRuns: number
  readonly oldestDue: string
  readonly stuckAfterMs: number
}): { readonly title: string; readonly message: string } {
  const { workspaceId, waitingRuns, oldestDue } = told
  const runs = waitingRuns === 1 ? '1 run has' : `${waitingRuns} runs have`
  const duration = describeDuration(told.stuckAfterMs)
  return {
    title: `Runs wait in workspace ${workspaceId} and no worker takes them`,
    message: `In workspace ${workspaceId} ${runs} been due for more than ${duration}, the oldest since ${oldestDue}, and no worker has taken it. Tajo's operators have to find out whether workers are running, healthy and free. ${CLOSES}`,
  }
}

function describeDuration(ms: number): string {
  const units = [
    [HOUR_MS, 'hour'],
    [MINUTE_MS, 'minute'],
    [SECOND_MS, 'second'],
  ] as const
  const [unitMs, unit] = units.find(([each]) => ms >= each && ms % each === 0) ?? [1, 'millisecond']
  const count = ms / unitMs
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}
