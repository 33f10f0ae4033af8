/**
 * Names of tables and columns, read from what a person wrote and put into statements.
 *
 * Invariant: a name gets into a statement through {@link quoteName} only, so whatever it holds, it is one name.
 */

/** PostgreSQL cuts longer names off silently, and then they are other names. */
const MAX_NAME_BYTES = 63
const PLAIN = /^[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/
const QUOTED = /^"((?:[^"]|"")+)"/

export interface TableName {
  readonly schema: string
  readonly table: string
}

/** Reads `schema.table` as PostgreSQL does: a plain name is folded to lower case, a quoted one is as it stands. Null: it is none. */
export function parseTableName(text: string): TableName | null {
  const schema = takeName(text)
  if (schema === null || !schema.rest.startsWith('.')) {
    return null
  }
  const table = takeName(schema.rest.slice(1))
  return table === null || table.rest !== '' ? null : { schema: schema.name, table: table.name }
}

function takeName(text: string): { readonly name: string; readonly rest: string } | null {
  const quoted = QUOTED.exec(text)
  const taken = quoted ?? PLAIN.exec(text)
  if (taken === null) {
    return null
  }
  const name = quoted ? (quoted[1] ?? '').replaceAll('""', '"') : taken[0].toLowerCase()
  return Buffer.byteLength(name) > MAX_NAME_BYTES || name.includes('\u0000')
    ? null
    : { name, rest: text.slice(taken[0].length) }
}

export function describeTableNameProblem(field: string, text: string): string | null {
  return parseTableName(text) === null
    ? `The ${field} must be a table as "schema.table"; a name with capitals, dots or spaces stands between double quotes, and none is longer than ${MAX_NAME_BYTES} bytes.`
    : null
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function quoteTable({ schema, table }: TableName): string {
  return `${quoteName(schema)}.${quoteName(table)}`
}

/** A text as SQL writes it, for settings that take no parameters. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
