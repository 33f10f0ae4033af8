/**
 * The table that is written to, as the catalogue has it when a writer is opened.
 *
 * Invariant: what stands here can be written. Generated columns and identities that are always given by the server are
 * left out, and the key is one that an upsert can lean on.
 */
import { ConnectorError } from '../../connector.ts'
import type { DestinationField, FieldType } from '../../destination.ts'
import { type Bounds, findTable, type TableKey } from '../../postgres-catalogue.ts'
import { parseTableName, quoteTable } from '../../postgres-names.ts'
import type { PostgresSession } from '../../postgres-session.ts'
import type { PostgresObjectOptions } from './object-options.ts'

export interface TargetColumn {
  readonly name: string
  /** As a cast names it, with its length or precision. */
  readonly type: string
  /** Of the type, as pg_type has it: N is a number, S a text, and so on; J is ours, for JSON. */
  readonly category: string
  /** Whether no row can do without a value for it. */
  readonly isRequired: boolean
}

export interface TargetTable {
  /** As it stands in a statement. */
  readonly text: string
  readonly columns: ReadonlyMap<string, TargetColumn>
}

/** Throws ConnectorError, also when there is no such table. */
export async function findTarget(
  session: PostgresSession,
  object: string,
  bounds: Bounds,
): Promise<TargetTable & { readonly keys: readonly TableKey[] }> {
  const name = parseTableName(object)
  const table = name === null ? null : await findTable(session, name, bounds)
  if (name === null || table === null) {
    throw new ConnectorError(
      'node_failed',
      `The database has no table ${JSON.stringify(object)} that the role can see.`,
    )
  }
  const rows = await session.query({ ...bounds, text: FIND_COLUMNS, values: [table.oid] })
  const columns = rows.map(([column, type, category, isRequired]) => ({
    name: column ?? '',
    type: type ?? '',
    category: category ?? '',
    isRequired: isRequired === 't',
  }))
  return {
    text: quoteTable(name),
    keys: table.keys,
    columns: new Map(columns.map((column) => [column.name, column])),
  }
}

const FIND_COLUMNS = `/* target-table.findColumns */
select a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
  case when b.oid in (114, 3802) then 'J' else b.typcategory end,
  (a.attnotnull or t.typnotnull) and not a.atthasdef and a.attidentity = ''
from pg_catalog.pg_attribute a
  join pg_catalog.pg_type t on t.oid = a.atttypid
  join pg_catalog.pg_type b on b.oid = case when t.typtype = 'd' then t.typbasetype else t.oid end
where a.attrelid = $1::text::oid and a.attnum > 0 and not a.attisdropped
  and a.attgenerated = '' and a.attidentity <> 'a'
order by a.attnum`

/** What the options and the table cannot be together. Throws ConnectorError. */
export function checkTarget(
  { columns, keys }: TargetTable & { readonly keys: readonly TableKey[] },
  { keyColumns, staleGuard }: PostgresObjectOptions,
): void {
  for (const [setting, names] of [
    ['keyColumns', keyColumns],
    ['staleGuard', staleGuard === undefined ? [] : [staleGuard]],
  ] as const) {
    const missing = names.find((name) => !columns.has(name))
    if (missing !== undefined) {
      throw new ConnectorError(
        'node_failed',
        `${setting} names ${JSON.stringify(missing)}, which is no column of the table that can be written.`,
      )
    }
  }
  const isKey = keys.some(
    (key) =>
      key.columns.length === keyColumns.length &&
      key.columns.every((name) => keyColumns.includes(name)),
  )
  if (!isKey) {
    const listed = keyColumns.map((name) => JSON.stringify(name)).join(', ')
    throw new ConnectorError(
      'node_failed',
      `keyColumns names ${listed}, which are together neither the primary key nor a unique index of the table (one that is not partial and not deferrable).`,
    )
  }
}

/** What the server reads of JSON into each category of types. */
const TAKES: Readonly<Record<string, readonly FieldType[]>> = {
  A: ['list', 'text'],
  B: ['boolean', 'text'],
  D: ['date', 'text'],
  N: ['number', 'text'],
  S: ['text', 'number', 'boolean', 'date'],
}

export function describeFields({ columns }: TargetTable): readonly DestinationField[] {
  return [...columns.values()].map(({ name, category, isRequired }) => ({
    // A mapping's fields are members of the record, and a dot in a name would lead into one.
    name,
    types: category === 'J' ? null : (TAKES[category] ?? ['text', 'number']),
    isRequired,
  }))
}
