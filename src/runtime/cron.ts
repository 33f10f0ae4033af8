/**
 * Cron expressions of five fields, matched against a wall clock.
 *
 * The library works on UTC only, where no hour is missing or doubled: what a change of clocks means is
 * decided by domain/schedule. Its own way with time zones fires `0 * * * *` twice for the hour that comes
 * twice.
 */
import { Cron } from 'croner'

export const cronEngine = {
  /** Why a text is not a cron expression, without a full stop; null: it is one. */
  describeProblem: (expression: string): string | null => {
    try {
      parse(expression)
      return null
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return message.replace(/^CronPattern: /, '').replace(/\.$/, '')
    }
  },
  /** The first match after `wallMs`, both as if in UTC; null: there is none. */
  nextMatch: (expression: string, wallMs: number): number | null =>
    parse(expression).nextRun(new Date(wallMs))?.getTime() ?? null,
}

function parse(expression: string): Cron {
  return new Cron(expression, { timezone: 'UTC', mode: '5-part', paused: true })
}
