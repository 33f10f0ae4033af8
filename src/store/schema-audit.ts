/** The audit trail; with the other schema files the source of drizzle/. */
import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json } from './columns.ts'
import { workspace } from './schema-configuration.ts'

/** Who did what to what, and why. */
export const auditEntry = pgTable(
  'audit_entry',
  {
    id: uuid('id').primaryKey(),
    workspaceId: uuid('workspace_id')
      .notNull()
      .references(() => workspace.id),
    /** The name of the token that acted, or `tajo` for a machine. */
    actor: text('actor').notNull(),
    /** The command or verb, such as `pauseSync`. */
    action: text('action').notNull(),
    subjectType: text('subject_type').notNull(),
    subjectId: uuid('subject_id').notNull(),
    reason: text('reason'),
    before: json('before'),
    after: json('after'),
    at: instant('at').notNull().defaultNow(),
  },
  (table) => [
    index('audit_entry_subject').on(table.workspaceId, table.subjectId, table.id),
    index('audit_entry_of_workspace').on(table.workspaceId, table.id),
  ],
)
