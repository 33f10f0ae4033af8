/** Tells when a schedule would fire. Nothing is saved: a sync need not have it yet. */
import { type GivenSchedule, nextFires } from '../domain/schedule.ts'
import { type Instant, instantAt } from '../runtime/clock.ts'
import { cronEngine } from '../runtime/cron.ts'
import type { InputProblem } from './refusals.ts'
import { InvalidInput } from './refusals.ts'
import { checkScheduleInput } from './schedule-input.ts'

const MAX_PREVIEWED_FIRES = 100

/** Intervals count from `after`, as if it were published then. Throws {@link InvalidInput}. */
export function previewSchedule(input: {
  readonly schedule: GivenSchedule
  readonly after: Instant
  readonly first: number
}): readonly Instant[] {
  const { schedule, problems } = checkScheduleInput(input.schedule)
  const allProblems = [...problems, ...checkPreviewCount(input.first)]
  if (schedule === null || allProblems.length > 0) {
    throw new InvalidInput(allProblems)
  }
  const afterMs = input.after.getTime()
  const anchored = { schedule, anchorMs: afterMs }
  return nextFires(cronEngine, anchored, { afterMs, count: input.first }).map(instantAt)
}

export function checkPreviewCount(first: number): readonly InputProblem[] {
  if (first >= 1 && first <= MAX_PREVIEWED_FIRES) {
    return []
  }
  const reason = `It must be from 1 to ${MAX_PREVIEWED_FIRES}, and ${first} was given.`
  return [{ field: 'first', reason }]
}
