/**
 * Rows of a prepared statement as the query builder would give them. The builder's own queries are described and
 * parsed by PostgreSQL each time they are sent, which takes a second round trip.
 */
import { Column, is, type SQL, sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { assert } from '../runtime/assert.ts'
import type { Row } from './database.ts'

type Columns = Readonly<Record<string, Column | SQL>>

export type Selected<T extends Columns> = {
  readonly [Name in keyof T]: T[Name] extends Column<infer Config>
    ? Config['notNull'] extends true
      ? Config['data']
      : Config['data'] | null
    : T[Name] extends SQL<infer Value>
      ? Value
      : never
}

/** What stands after `select`: each column under its name in the code. Made into text once, as long as it is. */
export function selectList(columns: Columns): SQL {
  const listed = Object.entries(columns).map(
    ([name, column]) => sql`${column} as ${sql.identifier(name)}`,
  )
  const { sql: text, params } = new PgDialect().sqlToQuery(sql.join(listed, sql`, `))
  assert(params.length === 0, 'A list of columns has no parameters.')
  return sql.raw(text)
}

/** Changes the rows themselves: nobody else has them. */
export function toSelected<T extends Columns>(
  columns: T,
  rows: readonly Row[],
): readonly Selected<T>[] {
  const decoders = decodersOf(columns)
  for (const row of rows as readonly Record<string, unknown>[]) {
    for (const [name, decode] of decoders) {
      const value = row[name]
      row[name] = value === null ? null : decode(value)
    }
  }
  return rows as readonly Selected<T>[]
}

type Decode = (value: unknown) => unknown

const known = new WeakMap<Columns, readonly (readonly [string, Decode])[]>()

/** Only of the columns whose values do not come as they are wanted. */
function decodersOf(columns: Columns): readonly (readonly [string, Decode])[] {
  const found = known.get(columns) ?? makeDecoders(columns)
  known.set(columns, found)
  return found
}

function makeDecoders(columns: Columns): readonly (readonly [string, Decode])[] {
  return Object.entries(columns).flatMap(([name, column]) =>
    is(column, Column) && column.dataType === 'date'
      ? [[name, (value: unknown) => column.mapFromDriverValue(value)] as const]
      : [],
  )
}
