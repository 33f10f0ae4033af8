/** The kinds of columns that the tables are made of. */
import { sql } from 'drizzle-orm'
import { bigint, customType, timestamp } from 'drizzle-orm/pg-core'
import type { JsonObject } from '../domain/json.ts'

/** The driver parses jsonb once; drizzle's own jsonb column would parse strings a second time. */
export const json = customType<{ data: JsonObject; driverData: string | JsonObject }>({
  dataType: () => 'jsonb',
  toDriver: (value) => JSON.stringify(value),
  fromDriver: (value) => value as JsonObject,
})

export const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({
  dataType: () => 'bytea',
})

/** Milliseconds, so that an instant passes through JavaScript unchanged. */
export const instant = (name: string) =>
  timestamp(name, { withTimezone: true, precision: 3, mode: 'date' })
export const count = (name: string) => bigint(name, { mode: 'number' }).notNull().default(0)
export const oneOf = (column: string, values: string) => sql.raw(`${column} in (${values})`)
