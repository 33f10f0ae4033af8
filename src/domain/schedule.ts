/**
 * Schedules: when a sync runs by itself.
 *
 * Slots are the moments at which it is to run. Those of an interval lie on a grid that begins where the
 * schedule was published, so they do not drift. Those of a cron expression are readings of a wall clock:
 * one that does not exist (spring) fires at the first moment after it, one that comes twice (autumn)
 * fires once. Invariant: the next slot after a moment is after it, always.
 */
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import { firstMomentOf, isTimeZone, wallClockAt } from './wall-clock.ts'

export type Schedule =
  | { readonly kind: 'interval'; readonly everyMs: number }
  /** Five fields, as crontab has them, and the IANA name of the zone whose wall clock they are about. */
  | { readonly kind: 'cron'; readonly expression: string; readonly timeZone: string }

/** Cron expressions, handed in. Readings of a wall clock are the milliseconds that they would be in UTC. */
export interface CronEngine {
  /** Why a text of five fields is not a cron expression, without a full stop; null: it is one. */
  describeProblem(expression: string): string | null
  /** The first reading after `wallMs` that matches; null: none does. Throws for what is not an expression. */
  nextMatch(expression: string, wallMs: number): number | null
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const MIN_INTERVAL_MS = MINUTE_MS
const MAX_INTERVAL_MS = 30 * DAY_MS
const MAX_EXPRESSION_LENGTH = 200
const CRON_FIELDS = 5

/** A schedule as it is handed in: an interval, or an expression with its zone. A {@link Schedule} is one too. */
export interface GivenSchedule {
  readonly everyMs?: number | null | undefined
  readonly expression?: string | null | undefined
  readonly timeZone?: string | null | undefined
}

/** `field`: `everyMs`, `expression` or `timeZone`; empty for the schedule as a whole. `reason`: a full sentence. */
export interface ScheduleProblem {
  readonly field: '' | keyof GivenSchedule
  readonly reason: string
}

export type CheckedSchedule =
  | { readonly kind: 'valid'; readonly schedule: Schedule }
  | { readonly kind: 'invalid'; readonly problems: readonly ScheduleProblem[] }

/** Every problem of a schedule at once. */
export function checkSchedule(cron: CronEngine, given: GivenSchedule): CheckedSchedule {
  const { everyMs = null, expression = null, timeZone = null } = given
  if ((everyMs === null) === (expression === null && timeZone === null)) {
    const reason = 'It must be either an interval (everyMs) or an expression with its timeZone.'
    return { kind: 'invalid', problems: [{ field: '', reason }] }
  }
  return everyMs === null ? checkCron(cron, expression, timeZone) : checkInterval(everyMs)
}

function checkInterval(everyMs: number): CheckedSchedule {
  const isAllowed =
    Number.isSafeInteger(everyMs) && everyMs >= MIN_INTERVAL_MS && everyMs <= MAX_INTERVAL_MS
  if (isAllowed) {
    return { kind: 'valid', schedule: { kind: 'interval', everyMs } }
  }
  const reason = `It must be a whole number of milliseconds from ${MIN_INTERVAL_MS} (1 minute) to ${MAX_INTERVAL_MS} (30 days), and ${everyMs} was given.`
  return { kind: 'invalid', problems: [{ field: 'everyMs', reason }] }
}

function checkCron(
  cron: CronEngine,
  expression: string | null,
  timeZone: string | null,
): CheckedSchedule {
  // One way of writing it, so that spaces make no other version.
  const trimmed = (expression ?? '').trim().split(/\s+/).join(' ')
  const problems = [
    ...toProblems('expression', describeExpressionProblem(cron, trimmed)),
    ...toProblems('timeZone', describeZoneProblem(timeZone ?? '')),
  ]
  return problems.length > 0
    ? { kind: 'invalid', problems }
    : {
        kind: 'valid',
        schedule: { kind: 'cron', expression: trimmed, timeZone: timeZone ?? '' },
      }
}

function toProblems(field: ScheduleProblem['field'], reason: string | null): ScheduleProblem[] {
  return reason === null ? [] : [{ field, reason }]
}

function describeExpressionProblem(cron: CronEngine, expression: string): string | null {
  if (expression === '') {
    return 'A cron expression is needed with a time zone.'
  }
  if (expression.length > MAX_EXPRESSION_LENGTH) {
    return `It has ${expression.length} characters, and at most ${MAX_EXPRESSION_LENGTH} are allowed.`
  }
  const fields = expression.split(' ').length
  if (fields > CRON_FIELDS) {
    return `It has ${fields} fields: seconds and years cannot be given, only minute, hour, day, month and day of the week.`
  }
  if (fields < CRON_FIELDS) {
    const noun = fields === 1 ? 'field' : 'fields'
    return `It has ${fields} ${noun}: it must have five, for minute, hour, day, month and day of the week.`
  }
  const problem = cron.describeProblem(expression)
  if (problem !== null) {
    return `It is not a cron expression: ${problem}.`
  }
  // Without a year, what matches nothing in the years after one moment matches nothing at all.
  return cron.nextMatch(expression, 0) === null
    ? 'It never fires: no day of any year matches it.'
    : null
}

function describeZoneProblem(timeZone: string): string | null {
  if (timeZone === '') {
    return 'A time zone is needed with a cron expression, such as Europe/Rome or UTC.'
  }
  return isTimeZone(timeZone)
    ? null
    : 'There is no such time zone: an IANA name is needed, such as Europe/Rome or UTC.'
}

/** Reads a schedule that was stored; null: there is none. Throws RangeError for what this product did not write. */
export function readSchedule(stored: JsonValue | undefined): Schedule | null {
  if (stored === null || stored === undefined) {
    return null
  }
  if (isJsonObject(stored)) {
    const { kind, everyMs, expression, timeZone } = stored
    if (kind === 'interval' && typeof everyMs === 'number') {
      return { kind, everyMs }
    }
    if (kind === 'cron' && typeof expression === 'string' && typeof timeZone === 'string') {
      return { kind, expression, timeZone }
    }
  }
  throw new RangeError('A stored schedule has another shape than it was written with.')
}

function isSameSchedule(a: Schedule | null, b: Schedule | null): boolean {
  return canonicalJson(a as JsonObject | null) === canonicalJson(b as JsonObject | null)
}

/** A schedule, and the moment from which its intervals count. */
export interface AnchoredSchedule {
  readonly schedule: Schedule
  readonly anchorMs: number
}

/**
 * The first slot after `afterMs`; null: there is none (which a schedule that was checked always has).
 * Throws RangeError for a time zone that this machine does not know.
 */
export function nextFire(
  cron: CronEngine,
  { schedule, anchorMs }: AnchoredSchedule,
  afterMs: number,
): number | null {
  if (schedule.kind === 'interval') {
    const { everyMs } = schedule
    const passed = Math.floor((afterMs - anchorMs) / everyMs)
    return anchorMs + Math.max(passed + 1, 1) * everyMs
  }
  return nextCronFire(cron, schedule, afterMs)
}

/** Every minute of a day that comes twice: so many matches at most may lie behind us although the wall clock shows less. */
const MAX_PASSED_MATCHES = 24 * 60

function nextCronFire(
  cron: CronEngine,
  { expression, timeZone }: Schedule & { kind: 'cron' },
  afterMs: number,
): number | null {
  let wallMs: number | null = wallClockAt(timeZone, afterMs)
  for (let tries = 0; tries <= MAX_PASSED_MATCHES; tries += 1) {
    wallMs = cron.nextMatch(expression, wallMs)
    if (wallMs === null) {
      return null
    }
    const fireMs = firstMomentOf(timeZone, wallMs)
    if (fireMs > afterMs) {
      return fireMs
    }
    // Clocks were put back: this reading has come before.
  }
  throw new RangeError(`The time zone ${timeZone} puts its clocks back by more than a day.`)
}

/** The next slots after a moment, at most `count`. */
export function nextFires(
  cron: CronEngine,
  anchored: AnchoredSchedule,
  options: { readonly afterMs: number; readonly count: number },
): readonly number[] {
  const fires: number[] = []
  let afterMs: number | null = options.afterMs
  while (fires.length < options.count) {
    afterMs = nextFire(cron, anchored, afterMs)
    if (afterMs === null) {
      break
    }
    fires.push(afterMs)
  }
  return fires
}

/** Where a sync's slots stand; `slotMs`: the next one to fire, null while it is not active. */
export interface Slots {
  readonly schedule: Schedule | null
  readonly anchorMs: number
  readonly slotMs: number | null
}

/**
 * The slots of a sync that becomes active, or is published anew while it is. A schedule that stays as it
 * was keeps its grid, and while the sync was active also its slot: publishing often must not put off
 * what is due. After a pause nothing of the past is fired.
 */
export function decideSlots(
  cron: CronEngine,
  facts: {
    readonly schedule: Schedule | null
    readonly before: Slots | null
    readonly wasActive: boolean
    readonly nowMs: number
  },
): Slots {
  const { schedule, before, wasActive, nowMs } = facts
  const isSame = before !== null && isSameSchedule(schedule, before.schedule)
  const anchorMs = isSame ? before.anchorMs : nowMs
  if (schedule === null) {
    return { schedule, anchorMs, slotMs: null }
  }
  const slotMs =
    isSame && wasActive && before.slotMs !== null
      ? before.slotMs
      : nextFire(cron, { schedule, anchorMs }, nowMs)
  return { schedule, anchorMs, slotMs }
}

/** A slot that fires later than this after its time is one that nobody was there to fire. */
const LATE_AFTER_MS = MINUTE_MS

export interface Tick {
  /** The slot after this one; those in between were missed, and are not fired. */
  readonly nextSlotMs: number | null
  /** Whether slots were missed, or this one nearly was: nobody fired them in their time. */
  readonly isCatchingUp: boolean
}

/**
 * So long a slot that this process cannot tell the next one of is left to the others: the machine of one may have
 * newer time zones, its version may read what this one cannot. They look each second.
 */
const UNTOLD_SLOT_GRACE_MS = 5 * MINUTE_MS
/** One that has been due for so long is left to nobody: a process that starts anew each minute must not leave it for ever. */
const UNTOLD_SLOT_LIMIT_MS = 24 * 60 * MINUTE_MS
/**
 * How far those are apart that nobody can tell the next one of: a time zone that no machine knows, a schedule that
 * cannot be read. Long enough not to spin, short enough that the breaker tells people within a day.
 */
const UNTOLD_SLOT_WAIT_MS = 60 * MINUTE_MS

/** What becomes of a slot for which {@link decideTick} has thrown. */
export function decideUntold(facts: {
  readonly slotMs: number
  readonly nowMs: number
  /** When this process first left it to the others; null: it sees it for the first time. */
  readonly leftMs: number | null
}): { readonly kind: 'leave' } | { readonly kind: 'refuse'; readonly nextSlotMs: number } {
  const { slotMs, nowMs, leftMs } = facts
  // Not only by how long it is due: after an outage the others may be starting, too.
  const isLeft = leftMs === null || nowMs - leftMs < UNTOLD_SLOT_GRACE_MS
  return isLeft && nowMs - slotMs < UNTOLD_SLOT_LIMIT_MS
    ? { kind: 'leave' }
    : // It is due so much before it is refused.
      { kind: 'refuse', nextSlotMs: nowMs + UNTOLD_SLOT_WAIT_MS - UNTOLD_SLOT_GRACE_MS }
}

/** What firing a slot that is due means. Throws as {@link nextFire} does. */
export function decideTick(
  cron: CronEngine,
  anchored: AnchoredSchedule,
  facts: { readonly slotMs: number; readonly nowMs: number },
): Tick {
  const { slotMs, nowMs } = facts
  const following = nextFire(cron, anchored, slotMs)
  const hasMissed = following !== null && following <= nowMs
  return {
    nextSlotMs: hasMissed ? nextFire(cron, anchored, nowMs) : following,
    isCatchingUp: hasMissed || nowMs - slotMs > LATE_AFTER_MS,
  }
}
