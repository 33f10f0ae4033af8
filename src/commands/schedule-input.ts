/** Checks a schedule as it is handed in, and names what is wrong with it by the input's fields. */
import { checkSchedule, type GivenSchedule, type Schedule } from '../domain/schedule.ts'
import { cronEngine } from '../runtime/cron.ts'
import type { InputProblem } from './refusals.ts'

export type ScheduleInputCheck =
  | { readonly schedule: Schedule; readonly problems: readonly [] }
  | { readonly schedule: null; readonly problems: readonly InputProblem[] }

export function checkScheduleInput(given: GivenSchedule): ScheduleInputCheck {
  const checked = checkSchedule(cronEngine, given)
  if (checked.kind === 'valid') {
    return { schedule: checked.schedule, problems: [] }
  }
  const problems = checked.problems.map(({ field, reason }) => ({
    field: field === '' ? 'schedule' : `schedule.${field}`,
    reason,
  }))
  return { schedule: null, problems }
}
