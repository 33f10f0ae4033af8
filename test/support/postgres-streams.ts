/** Tables that are read as streams, for tests that say with one line what a stream holds. */
import type { SourceReader } from '../../src/connectors/source.ts'
import { createPostgresSource } from '../../src/connectors/sources/postgres/postgres-source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import type { SourceRecord } from '../../src/domain/page.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { PostgresWorld } from './postgres-world.ts'

export const postgresSource = createPostgresSource({ clock: systemClock })

/** Ordered by `updated_at`, without a lag, unless the options say otherwise. */
export function openPostgresStream(
  world: PostgresWorld,
  stream: string,
  options: JsonObject = {},
): Promise<SourceReader> {
  return postgresSource.open({
    ...world.connect(),
    stream,
    options: postgresSource.streamOptions.parse({
      cursorColumn: 'updated_at',
      lagMs: 0,
      ...options,
    }),
  })
}

/** The columns of most tables here. */
export const TIMED = 'id int primary key, updated_at timestamptz not null default now(), name text'

/** Makes a table; `$t` in `rows` is its name, which it returns. */
export async function makeTable(world: PostgresWorld, columns: string, rows = ''): Promise<string> {
  const table = world.nextName()
  await world.run(`create table ${table} (${columns}); ${rows.replaceAll('$t', table)}`)
  return table
}

export function idsOf(
  page: { readonly records: readonly SourceRecord[] } | null,
): readonly string[] | undefined {
  return page?.records.map(({ identity }) => identity)
}

/** Hands the reader over, and closes it behind. */
export async function using<T>(
  stream: Promise<SourceReader>,
  use: (reader: SourceReader) => Promise<T>,
): Promise<T> {
  const reader = await stream
  try {
    return await use(reader)
  } finally {
    await reader.close()
  }
}
