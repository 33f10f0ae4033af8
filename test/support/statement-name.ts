/** What a statement of the store calls itself in its first comment, so that a test can hold up one of them. */
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'

const dialect = new PgDialect()

/** `file.function`, or null for a statement without a name. */
export function nameOf(statement: SQL): string | null {
  return /^\s*\/\* (\S+)/.exec(dialect.sqlToQuery(statement).sql)?.[1] ?? null
}
