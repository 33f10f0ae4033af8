/** Moments on their way between the database, whose clock rules, and code that counts in milliseconds. */
import { sql } from 'drizzle-orm'
import { type Instant, instantAt } from '../runtime/clock.ts'

/** Milliseconds, exactly: the driver gives a timestamp as text. */
export function msOf(column: string) {
  return sql.raw(`round(extract(epoch from ${column}) * 1000)::float8`)
}

/** As a parameter that is cast to `timestamptz`. */
export function textAt(ms: number | null): string | null {
  return ms === null ? null : instantAt(ms).toISOString()
}

/** The database's present, or the moment that a test gives; cut to the millisecond, as columns keep it. */
export function momentOf(now: Instant | null) {
  return sql`date_trunc('milliseconds', coalesce(${now?.toISOString() ?? null}::timestamptz, now()))`
}
