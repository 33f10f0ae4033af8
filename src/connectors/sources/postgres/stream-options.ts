/** What a sync that reads a PostgreSQL table or query can set. */
import { z } from 'zod'
import { choiceSetting, countSetting, settingsObject, textSetting } from '../../settings.ts'

const MAX_NAME_LENGTH = 63
const MAX_QUERY_LENGTH = 20_000
const MAX_KEY_COLUMNS = 8
const MAX_WAIT_MS = 7 * 24 * 60 * 60 * 1000

/** Longer than transactions of an application last; what takes longer is held for where it can be seen. */
const DEFAULT_LAG_MS = 5 * 60 * 1000
/** As long as a nightly program may think before it writes, and no longer than a forgotten window may hold a sync up. */
const DEFAULT_HOLD_MS = 60 * 60 * 1000

/** A fixed distance: where clocks are set back, an hour comes twice, and the second one lies behind the cursor. */
const FIXED_ZONE = /^(?:UTC|[+-](?:0\d|1[0-5]):[0-5]\d)$/

const keyColumns = z
  .array(textSetting('keyColumns', MAX_NAME_LENGTH), {
    error: 'keyColumns must be a list of column names.',
  })
  .min(1, { error: 'keyColumns must name at least one column.' })
  .max(MAX_KEY_COLUMNS, { error: `keyColumns must name at most ${MAX_KEY_COLUMNS} columns.` })

const optionsShape = settingsObject({
  cursorColumn: textSetting('cursorColumn', MAX_NAME_LENGTH).describe(
    'The column that grows with every change of a row: when it was changed, or by which transaction.',
  ),
  keyColumns: keyColumns
    .describe('What names a row: by default the primary key; required with a query.')
    .optional(),
  query: textSetting('query', MAX_QUERY_LENGTH)
    .describe('A query to read in the place of a table.')
    .optional(),
  lateCommits: choiceSetting('lateCommits', ['LAG', 'XID', 'IGNORE'])
    .describe(
      'How rows are found that are committed late; by default told by the type of cursorColumn.',
    )
    .optional(),
  lagMs: countSetting('lagMs', 0, MAX_WAIT_MS)
    .describe('With LAG: nothing younger is read, in milliseconds.')
    .default(DEFAULT_LAG_MS),
  holdMs: countSetting('holdMs', 0, MAX_WAIT_MS)
    .describe('With LAG: for how long an open transaction that has not written yet is waited for.')
    .default(DEFAULT_HOLD_MS),
  cursorTimeZone: textSetting('cursorTimeZone', 6)
    .regex(FIXED_ZONE, { error: 'cursorTimeZone must be UTC or a fixed distance such as +02:00.' })
    .describe('With a cursorColumn without a time zone: the zone in which it is written.')
    .optional(),
  statementTimeoutMs: countSetting('statementTimeoutMs', 1_000, 600_000)
    .describe('How long the server may work on one page, in milliseconds.')
    .default(60_000),
})

export const postgresStreamOptions = optionsShape.superRefine((options, context) => {
  const message = describeOptionsProblem(options)
  if (message !== null) {
    context.addIssue({ code: 'custom', message })
  }
})

export type PostgresStreamOptions = Readonly<z.infer<typeof postgresStreamOptions>>

function describeOptionsProblem(options: z.infer<typeof optionsShape>): string | null {
  const { keyColumns: keys = [], query, cursorColumn } = options
  if (query !== undefined && keys.length === 0) {
    return 'keyColumns must be given with a query: nobody else knows what names its rows.'
  }
  if (new Set(keys).size < keys.length) {
    return 'keyColumns must not name a column twice.'
  }
  return [cursorColumn, ...keys].some((name) => name.includes('\u0000'))
    ? 'cursorColumn and keyColumns must not contain NUL characters.'
    : null
}
