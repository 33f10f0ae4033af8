/**
 * A stream as it lies on the server: where it is read from, what its columns are, what orders its rows.
 *
 * Invariants: rows are ordered by the cursor column and then the key, and a row is told from its neighbours by these
 * values. Texts among them are compared by their bytes (collation "C"), whatever the database sorts by: a sort order
 * that changes with an upgrade of the system would move rows behind a cursor, and one that takes two texts for
 * equal would lose the second.
 */
import { MAX_PAGE_RECORDS } from '../../../domain/page.ts'
import { ConnectorError } from '../../connector.ts'
import {
  type Bounds,
  type CatalogueTable,
  type CatalogueType,
  findTable,
  findTypes,
} from '../../postgres-catalogue.ts'
import { parseTableName, quoteName, quoteTable } from '../../postgres-names.ts'
import type { DescribedColumn, PostgresSession } from '../../postgres-session.ts'
import { type ColumnForm, formOf } from './column-values.ts'
import { type Horizon, pickHorizon } from './horizon.ts'
import { digestStream } from './postgres-cursor.ts'
import type { PostgresStreamOptions } from './stream-options.ts'

export interface PlannedColumn {
  readonly name: string
  readonly form: ColumnForm
}

export interface StreamPlan {
  readonly digest: string
  readonly columns: readonly PlannedColumn[]
  readonly horizon: Horizon
  /** Which columns order the rows, by their index: the cursor column, then the key. */
  readonly places: readonly number[]
  /** Whether the server itself sees to it that no two rows have one key. */
  readonly isKeyUnique: boolean
  /** The statement that reads on from a place. `hasStart`, `hasEnd`: whether it is told one. */
  readText(bounds: ReadBounds): string
  /** Counts the rows that no read would ever give; null where there can be none. */
  readonly strayText: string | null
}

export interface ReadBounds {
  readonly hasStart: boolean
  readonly hasEnd: boolean
  /** Not with an end: what was read before lies in front of every horizon since. */
  readonly hasHorizon: boolean
  readonly limit: number
}

/** More rows that cannot be read are not counted. */
const MAX_COUNTED = 1_000

export async function planStream(
  session: PostgresSession,
  request: { readonly stream: string; readonly options: PostgresStreamOptions } & Bounds,
): Promise<StreamPlan> {
  const { stream, options } = request
  const relation = await findRelation(session, request)
  const columns = await session.describe({
    ...request,
    text: `/* postgres-source.describe */\nselect stream.* from ${relation.text} as stream`,
  })
  refuseTwins(columns)
  const oids = [...new Set(columns.map(({ type }) => type))]
  const types = await findTypes(session, oids, request)
  const keyNames = options.keyColumns ?? pickKey(relation.table)
  const order = [options.cursorColumn, ...keyNames].map((name) => findPlace(name, columns, types))
  const [cursor] = order as [Place, ...Place[]]
  const horizon = pickHorizon(cursor, options)
  const required = relation.table?.required ?? new Set<string>()
  return {
    digest: digestStream([
      options.query === undefined ? ['table', stream] : ['query', options.query],
      order.map(({ name, type }) => [name, type.name]),
      options.cursorTimeZone ?? null,
    ]),
    columns: columns.map(({ name, type }) => ({ name, form: formOf(type, types.get(type)) })),
    horizon,
    places: order.map(({ name }) => columns.findIndex((column) => column.name === name)),
    isKeyUnique: isUnique(relation.table, keyNames),
    readText: (bounds) =>
      writeRead({ from: relation.text, columns, types, order, horizon }, bounds),
    strayText: writeStray(relation.text, order, required, horizon),
  }
}

interface Relation {
  /** As it stands behind `from`. */
  readonly text: string
  readonly table: CatalogueTable | null
}

async function findRelation(
  session: PostgresSession,
  request: { readonly stream: string; readonly options: PostgresStreamOptions } & Bounds,
): Promise<Relation> {
  const { stream, options } = request
  if (options.query !== undefined) {
    // The line break ends a comment that the query may end with.
    return { text: `(${options.query}\n)`, table: null }
  }
  const name = parseTableName(stream)
  const table = name === null ? null : await findTable(session, name, request)
  if (name === null || table === null) {
    throw new ConnectorError(
      'node_failed',
      `The database has no table ${JSON.stringify(stream)} that the role can see.`,
    )
  }
  return { text: quoteTable(name), table }
}

function refuseTwins(columns: readonly DescribedColumn[]): void {
  const names = columns.map(({ name }) => name)
  const twin = names.find((name, index) => names.indexOf(name) < index)
  if (twin !== undefined) {
    throw new ConnectorError(
      'node_failed',
      `The query has two columns that are called ${JSON.stringify(twin)}; give each a name of its own.`,
    )
  }
}

function pickKey(table: CatalogueTable | null): readonly string[] {
  const primary = table?.keys.find(({ isPrimary }) => isPrimary)
  if (!primary) {
    throw new ConnectorError(
      'node_failed',
      'The table has no primary key; keyColumns must name the columns that name a row.',
    )
  }
  return primary.columns
}

/** Declared for a query, a view and the like; of a table it is looked up. */
function isUnique(table: CatalogueTable | null, keyNames: readonly string[]): boolean {
  const names = new Set(keyNames)
  const isKnown =
    table?.keys.some(({ columns }) => columns.every((name) => names.has(name))) ?? false
  if (!isKnown && (table?.kind === 'r' || table?.kind === 'p')) {
    const listed = keyNames.map((name) => JSON.stringify(name)).join(', ')
    throw new ConnectorError(
      'node_failed',
      `keyColumns names ${listed}, which no primary key and no unique index of the table makes unique.`,
    )
  }
  return isKnown
}

export interface Place {
  readonly name: string
  /** The oid. */
  readonly oid: number
  readonly type: CatalogueType
}

function findPlace(
  name: string,
  columns: readonly DescribedColumn[],
  types: ReadonlyMap<number, CatalogueType>,
): Place {
  const column = columns.find((candidate) => candidate.name === name)
  const type = column && types.get(column.type)
  if (!column || !type) {
    const listed = columns.slice(0, 20).map((candidate) => JSON.stringify(candidate.name))
    throw new ConnectorError(
      'node_failed',
      `cursorColumn and keyColumns name ${JSON.stringify(name)}, which the stream does not have; its columns are ${listed.join(', ')}${columns.length > 20 ? ' and more' : ''}.`,
    )
  }
  if (type.isArray) {
    throw new ConnectorError(
      'node_failed',
      `cursorColumn and keyColumns name ${JSON.stringify(name)}, which is a list; choose a column of single values.`,
    )
  }
  return { name, oid: column.type, type }
}

const columnOf = (name: string): string => `stream.${quoteName(name)}`

function compared({ name, type }: Place): string {
  return type.isCollated ? `${columnOf(name)} collate "C"` : columnOf(name)
}

interface StatementParts {
  readonly from: string
  readonly columns: readonly DescribedColumn[]
  readonly types: ReadonlyMap<number, CatalogueType>
  readonly order: readonly Place[]
  readonly horizon: Horizon
}

function writeRead(parts: StatementParts, bounds: ReadBounds): string {
  const { from, columns, types, order, horizon } = parts
  const row = `(${order.map(compared).join(', ')})`
  let given = 0
  const placeGiven = () =>
    `(${order.map(({ type }) => `$${++given}::text::${type.name}`).join(', ')})`
  const conditions = [
    ...(bounds.hasStart ? [`${row} > ${placeGiven()}`] : []),
    ...(bounds.hasEnd ? [`${row} <= ${placeGiven()}`] : []),
    ...(bounds.hasHorizon && horizon.condition
      ? [horizon.condition(compared(order[0] as Place), `$${++given}::text`)]
      : []),
  ]
  const selected = columns.map(({ name, type }) =>
    formOf(type, types.get(type)).select(columnOf(name)),
  )
  return `/* postgres-source.read */
select ${selected.join(', ')}
from ${from} as stream
${conditions.length > 0 ? `where ${conditions.join('\n  and ')}` : ''}
order by ${order.map(compared).join(', ')}
limit ${Math.min(bounds.limit, MAX_PAGE_RECORDS + 1)}`
}

/** Rows without a place in the order, and those whose place no horizon ever reaches. */
function writeStray(
  from: string,
  order: readonly Place[],
  required: ReadonlySet<string>,
  horizon: Horizon,
): string | null {
  const [cursor] = order as [Place, ...Place[]]
  const conditions = [
    ...order
      .filter(({ name }) => !required.has(name))
      .map(({ name }) => `${columnOf(name)} is null`),
    ...(horizon.neverReached ? [horizon.neverReached(columnOf(cursor.name))] : []),
  ]
  return conditions.length === 0
    ? null
    : `/* postgres-source.stray */
select count(*) from (
  select 1 from ${from} as stream where ${conditions.join(' or ')} limit ${MAX_COUNTED + 1}
) as stray`
}

/** Throws ConnectorError when there are any. */
export function refuseStray(count: number, { cursorColumn }: PostgresStreamOptions): void {
  if (count > 0) {
    const told = count > MAX_COUNTED ? `More than ${MAX_COUNTED}` : String(count)
    const rows = count === 1 ? 'row has' : 'rows have'
    throw new ConnectorError(
      'node_failed',
      `${told} ${rows} no usable value in ${JSON.stringify(cursorColumn)} or the key (null, infinity or a transaction of another server) and would never be read; give them one, or read a query that leaves them out.`,
    )
  }
}
