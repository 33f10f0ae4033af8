/**
 * The one statement that a call is.
 *
 * Invariants: the values cross as JSON text, and the server makes of each what its column is, so nothing is rounded on
 * the way. A record that lacks a field leaves the column of an existing row as it is: records with the same fields
 * are written together, and all of them by one statement, which is one transaction.
 */

import type { OutgoingRecord } from '../../destination.ts'
import { quoteName } from '../../postgres-names.ts'
import type { PostgresObjectOptions } from './object-options.ts'
import type { TargetColumn, TargetTable } from './target-table.ts'

/** Kinds of records in one statement; more are sent in several. */
export const MAX_GROUPS = 16

export interface Upsert {
  readonly text: string
  readonly values: readonly string[]
}

export interface RecordGroup {
  readonly columns: readonly TargetColumn[]
  readonly records: readonly OutgoingRecord[]
}

export type Grouped =
  | { readonly kind: 'groups'; readonly groups: readonly RecordGroup[] }
  /** A record has a field that is no column. */
  | { readonly kind: 'unknown'; readonly field: string }

/** By the fields that records have. */
export function groupRecords(
  { columns }: TargetTable,
  records: readonly OutgoingRecord[],
): Grouped {
  const groups = new Map<string, { columns: TargetColumn[]; records: OutgoingRecord[] }>()
  for (const record of records) {
    const names = Object.keys(record.fields).sort()
    const label = JSON.stringify(names)
    const group = groups.get(label)
    if (group) {
      group.records.push(record)
      continue
    }
    const found: TargetColumn[] = []
    for (const name of names) {
      const column = columns.get(name)
      if (!column) {
        return { kind: 'unknown', field: name }
      }
      found.push(column)
    }
    groups.set(label, { columns: found, records: [record] })
  }
  return { kind: 'groups', groups: [...groups.values()] }
}

export function writeUpsert(
  table: TargetTable,
  groups: readonly RecordGroup[],
  options: PostgresObjectOptions,
): Upsert {
  const values = groups.map(({ records }) => `[${records.map(({ json }) => json).join(',')}]`)
  const inserts = groups.map(({ columns }, index) =>
    writeInsert(table, columns, options, index + 1),
  )
  const [last = ''] = inserts.slice(-1)
  const before = inserts.slice(0, -1).map((insert, index) => `part${index} as (\n${insert}\n)`)
  const text = before.length === 0 ? last : `with ${before.join(', ')}\n${last}`
  return { text: `/* postgres.upsert */\n${text}`, values }
}

function writeInsert(
  table: TargetTable,
  columns: readonly TargetColumn[],
  { keyColumns, staleGuard }: PostgresObjectOptions,
  place: number,
): string {
  const names = columns.map(({ name }) => quoteName(name)).join(', ')
  const updates = columns
    .filter(({ name }) => !keyColumns.includes(name))
    .map(({ name }) => `${quoteName(name)} = excluded.${quoteName(name)}`)
  const guard = staleGuard === undefined ? null : quoteName(staleGuard)
  const isNewer =
    guard === null ? '' : `\nwhere target.${guard} is null or excluded.${guard} >= target.${guard}`
  const update = updates.length === 0 ? 'nothing' : `update set ${updates.join(', ')}${isNewer}`
  return `insert into ${table.text} as target (${names})
select ${columns.map(({ name }) => `given.${quoteName(name)}`).join(', ')}
from ${readRecords(columns, place)}
on conflict (${keyColumns.map(quoteName).join(', ')}) do ${update}`
}

function readRecords(columns: readonly TargetColumn[], place: number): string {
  const listed = columns.map(({ name, type }) => `${quoteName(name)} ${type}`).join(', ')
  return `pg_catalog.jsonb_to_recordset($${place}::text::jsonb) as given(${listed})`
}

/** Reads one value of one record, and writes nothing: fails where the column's type refuses the value. */
export function writeProbe(column: TargetColumn, record: OutgoingRecord): Upsert {
  const name = quoteName(column.name)
  return {
    text: `/* postgres.probe */\nselect given.${name} is null from ${readRecords([column], 1)}`,
    values: [`[${record.json}]`],
  }
}
