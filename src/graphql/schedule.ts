/** Schedules: as they are shown, handed in, and previewed. */
import { previewSchedule } from '../commands/preview-schedule.ts'
import type { GivenSchedule, Schedule } from '../domain/schedule.ts'
import { builder } from './builder.ts'

const IntervalScheduleType = builder
  .objectRef<Schedule & { kind: 'interval' }>('IntervalSchedule')
  .implement({
    description: 'A run every so often, counted from the publication of the schedule.',
    fields: (t) => ({
      everyMs: t.exposeFloat('everyMs', { description: 'Milliseconds from one run to the next.' }),
    }),
  })

const CronScheduleType = builder.objectRef<Schedule & { kind: 'cron' }>('CronSchedule').implement({
  description:
    'A run whenever the wall clock of a time zone matches. A time that does not exist fires at the first moment after it, one that comes twice fires once.',
  fields: (t) => ({
    expression: t.exposeString('expression', {
      description: 'Minute, hour, day, month and day of the week, as in crontab.',
    }),
    timeZone: t.exposeString('timeZone', { description: 'The IANA name of the time zone.' }),
  }),
})

export const ScheduleType = builder.unionType('Schedule', {
  description: 'When a sync runs by itself.',
  types: [IntervalScheduleType, CronScheduleType],
  resolveType: ({ kind }) => (kind === 'interval' ? IntervalScheduleType : CronScheduleType),
})

export const ScheduleInput = builder.inputType('ScheduleInput', {
  description: 'When a sync runs by itself: an interval, or a cron expression with its time zone.',
  fields: (t) => ({
    everyMs: t.float({
      description:
        'Milliseconds from one run to the next: from 60000 (1 minute) to 2592000000 (30 days).',
    }),
    expression: t.string({
      description:
        'A cron expression of five fields: minute, hour, day, month and day of the week, such as `0 8 * * MON-FRI`.',
    }),
    timeZone: t.string({
      description: 'The IANA name of the time zone that the expression is about: `Europe/Rome`.',
    }),
  }),
})

type ScheduleShape = typeof ScheduleInput.$inferInput

/** Null: no schedule. What is wrong with it is for the command to say. */
export function readScheduleInput(input: ScheduleShape | null | undefined): GivenSchedule | null {
  return input ? { ...input } : null
}

export const DEFAULT_PREVIEWED_FIRES = 5

builder.queryField('schedulePreview', (t) =>
  t.field({
    type: ['DateTime'],
    description: 'When a schedule would fire that no sync needs to have yet.',
    args: {
      schedule: t.arg({ type: ScheduleInput, required: true, description: 'The schedule.' }),
      after: t.arg({
        type: 'DateTime',
        required: true,
        description: 'The moment after which to look; intervals count from it.',
      }),
      first: t.arg.int({
        defaultValue: DEFAULT_PREVIEWED_FIRES,
        description: 'How many moments to tell, 1 to 100.',
      }),
    },
    resolve: (_root, { schedule, after, first }) => [
      ...previewSchedule({ schedule, after, first: first ?? DEFAULT_PREVIEWED_FIRES }),
    ],
  }),
)
