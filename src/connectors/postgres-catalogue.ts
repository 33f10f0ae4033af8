/** What a server's catalogue says of its tables and types. */

import type { TableName } from './postgres-names.ts'
import type { PostgresSession, Statement } from './postgres-session.ts'

export type Bounds = Pick<Statement, 'deadlineMs' | 'signal'>

export interface TableKey {
  readonly columns: readonly string[]
  readonly isPrimary: boolean
}

export interface CatalogueTable {
  readonly oid: string
  /** As pg_class has it: r is a table, p a partitioned one, v a view. */
  readonly kind: string
  /** What names a row: the primary key first, then unique indexes over columns that are never null. */
  readonly keys: readonly TableKey[]
  /** Columns that are never null. */
  readonly required: ReadonlySet<string>
}

/** Null: there is no such table, or the role cannot see it. */
export async function findTable(
  session: PostgresSession,
  { schema, table }: TableName,
  bounds: Bounds,
): Promise<CatalogueTable | null> {
  const [found] = await session.query({ ...bounds, text: FIND_TABLE, values: [schema, table] })
  const [oid, kind, required, keys] = found ?? []
  if (oid === undefined || oid === null) {
    return null
  }
  const listed = JSON.parse(keys ?? '[]') as readonly (readonly [boolean, readonly string[]])[]
  return {
    oid,
    kind: kind ?? '',
    required: new Set(JSON.parse(required ?? '[]') as readonly string[]),
    keys: listed.map(([isPrimary, columns]) => ({ isPrimary, columns })),
  }
}

/** A deferred unique index allows twins for a while, a partial one for ever, and one over an expression names no columns. */
const FIND_TABLE = `/* postgres-catalogue.findTable */
select c.oid, c.relkind,
  (select json_agg(a.attname) from pg_catalog.pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attnotnull),
  (select json_agg(json_build_array(k.indisprimary, k.columns)
      order by k.indisprimary desc, k.indexrelid)
    from (
      select i.indisprimary, i.indexrelid, json_agg(a.attname order by u.place) as columns
      from pg_catalog.pg_index i
        cross join lateral unnest(i.indkey::int2[]) with ordinality as u(attnum, place)
        join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = u.attnum
      where i.indrelid = c.oid and i.indisunique and i.indisvalid and i.indimmediate
        and i.indpred is null and i.indexprs is null and u.place <= i.indnkeyatts
      group by i.indisprimary, i.indexrelid
    ) k)
from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = $1::text and c.relname = $2::text and c.relkind in ('r', 'p', 'v', 'm', 'f')`

export interface CatalogueType {
  /** As a cast names it. */
  readonly name: string
  readonly isArray: boolean
  /** Of an array's elements. */
  readonly element: number
  readonly isCollated: boolean
}

export async function findTypes(
  session: PostgresSession,
  oids: readonly number[],
  bounds: Bounds,
): Promise<ReadonlyMap<number, CatalogueType>> {
  const rows = await session.query({
    ...bounds,
    text: FIND_TYPES,
    values: [JSON.stringify(oids)],
  })
  return new Map(
    rows.map(([oid, name, isArray, element, isCollated]) => [
      Number(oid),
      {
        name: name ?? '',
        isArray: isArray === 't',
        element: Number(element),
        isCollated: isCollated === 't',
      },
    ]),
  )
}

/** With -1 for no modifier: without it a blank-padded text is called character, and cast to one letter. */
const FIND_TYPES = `/* postgres-catalogue.findTypes */
select t.oid, pg_catalog.format_type(t.oid, -1), t.typcategory = 'A', t.typelem, t.typcollation <> 0
from pg_catalog.pg_type t
where t.oid in (select value::oid from jsonb_array_elements_text($1::text::jsonb))`
