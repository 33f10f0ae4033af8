/** What a sync that writes to a PostgreSQL table can set. */
import { z } from 'zod'
import { choiceSetting, countSetting, settingsObject, textSetting } from '../../settings.ts'

const MAX_NAME_LENGTH = 63
const MAX_KEY_COLUMNS = 8
/** More rows in one statement are not faster, and keep others waiting for longer. */
const MAX_RECORDS_PER_CALL = 5_000
/** Connections of one writer; a server has a hundred for everybody. */
const MAX_CONCURRENCY = 4

const optionsShape = settingsObject({
  keyColumns: z
    .array(textSetting('keyColumns', MAX_NAME_LENGTH), {
      error: 'keyColumns must be a list of column names.',
    })
    .min(1, { error: 'keyColumns must name at least one column.' })
    .max(MAX_KEY_COLUMNS, { error: `keyColumns must name at most ${MAX_KEY_COLUMNS} columns.` })
    .describe('The columns by which a row is known: the primary key, or those of a unique index.'),
  staleGuard: textSetting('staleGuard', MAX_NAME_LENGTH)
    .describe(
      'A column that grows with every change: a row is never replaced by one that has less.',
    )
    .optional(),
  path: choiceSetting('path', ['PAGE', 'RECORD'])
    .describe('PAGE: one statement for many records. RECORD: one statement a record.')
    .default('PAGE'),
  maxRecordsPerCall: countSetting('maxRecordsPerCall', 1, MAX_RECORDS_PER_CALL)
    .describe('Most records of one PAGE statement.')
    .default(500),
  concurrency: countSetting('concurrency', 1, MAX_CONCURRENCY)
    .describe('Most statements under way at once, each on a connection of its own.')
    .default(1),
  requestDeadlineMs: countSetting('requestDeadlineMs', 2_000, 300_000)
    .describe('How long one call may take, in milliseconds.')
    .default(30_000),
  maxRecordBytes: countSetting('maxRecordBytes', 1_000, 16 * 1024 * 1024)
    .describe('Longest JSON of one record, in bytes.')
    .default(1024 * 1024),
})

export const postgresObjectOptions = optionsShape.superRefine((options, context) => {
  const { keyColumns, staleGuard } = options
  if (new Set(keyColumns).size < keyColumns.length) {
    context.addIssue({ code: 'custom', message: 'keyColumns must not name a column twice.' })
  }
  if (staleGuard !== undefined && keyColumns.includes(staleGuard)) {
    context.addIssue({ code: 'custom', message: 'staleGuard must not be one of the keyColumns.' })
  }
})

export type PostgresObjectOptions = Readonly<z.infer<typeof postgresObjectOptions>>
