/** The table of test runs: what each is of, and for some days what came of its records. */
import { sql } from 'drizzle-orm'
import { check, foreignKey, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant } from './columns.ts'
import { run } from './schema.ts'
import { syncVersion } from './schema-configuration.ts'

export const testRun = pgTable(
  'test_run',
  {
    runId: uuid('run_id')
      .primaryKey()
      .references(() => run.id),
    syncId: uuid('sync_id').notNull(),
    /** The draft as it was when the test was asked for. */
    versionDigest: text('version_digest').notNull(),
    /** Most records that it reads. */
    recordLimit: integer('record_limit').notNull(),
    /** Of the records that were read; null: it has not come to its end. */
    recordsWithProblems: integer('records_with_problems'),
    /** JSON, sealed for this row, as it is personal data; null: there is none yet, or it is kept no longer. */
    sealedRecords: text('sealed_records'),
    endedAt: instant('ended_at'),
  },
  (table) => [
    foreignKey({
      name: 'test_run_version',
      columns: [table.syncId, table.versionDigest],
      foreignColumns: [syncVersion.syncId, syncVersion.digest],
    }),
    index('test_run_kept').on(table.syncId).where(sql`sealed_records is not null`),
    index('test_run_sealing_key')
      .on(sql`"left"(sealed_records, 8)`)
      .where(sql`sealed_records is not null`),
    check('test_run_limit', sql`record_limit between 1 and 100`),
    check(
      'test_run_ended_iff_told',
      sql`(ended_at is null) = (records_with_problems is null)
        and (sealed_records is null or ended_at is not null)`,
    ),
  ],
)
