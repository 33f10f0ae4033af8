/** The `postgres` source and destination of a pair: a table each, in a database of its own. */
import { createPostgresWorld, type PostgresWorld } from '../../support/postgres-world.ts'
import {
  emailOf,
  type PairDestination,
  type PairSource,
  type PairSurroundings,
  type Row,
} from './pair.ts'

const connectionOf = ({ config, credentials }: PostgresWorld) => ({
  ...{ type: 'postgres', config, credentials },
})

/** Changes are stamped by a trigger, so that what commits late is read late and not lost. */
export async function openPostgresSource(around: PairSurroundings): Promise<PairSource> {
  const world = await createPostgresWorld(await around.openPostgres())
  await world.run(`
    create table rows (id bigint primary key, email text not null, version integer not null,
                       changed_in xid8 not null);
    create index on rows (changed_in, id);
    create function stamp() returns trigger language plpgsql as
      'begin new.changed_in := pg_current_xact_id(); return new; end';
    create trigger stamp before insert or update on rows for each row execute function stamp()`)
  return {
    connection: connectionOf(world),
    stream: 'public.rows',
    streamOptions: { cursorColumn: 'changed_in' },
    fields: {
      id: { $number: { value: { $path: 'id' } } },
      email: { $path: 'email' },
      version: { $path: 'version' },
    },
    put: async (rows) => {
      await world.sql`
        insert into rows ${world.sql(rows.map(toStored))}
        on conflict (id) do update set version = excluded.version`
    },
    remove: async (ids) => {
      await world.sql`delete from rows where id in ${world.sql(ids)}`
    },
    close: () => world.drop(),
  }
}

/** Every write that takes effect leaves a row in a table of its own. */
export async function openPostgresDestination(around: PairSurroundings): Promise<PairDestination> {
  const world = await createPostgresWorld(await around.openPostgres())
  await world.run(`
    create table rows (id bigint primary key, email text not null, version integer not null);
    create table written (n bigint generated always as identity, id bigint, version integer);
    create function note() returns trigger language plpgsql as
      'begin insert into written (id, version) values (new.id, new.version); return null; end';
    create trigger note after insert or update on rows for each row execute function note()`)
  const read = async (query: string) => (await world.run(query)).map(toRow)
  return {
    connection: connectionOf(world),
    object: 'public.rows',
    objectOptions: { keyColumns: ['id'], maxRecordsPerCall: 5 },
    mapping: ({ id, email, version }) => ({ id, email, version }),
    writes: () => read('select id, version from written order by n'),
    rows: () => read('select id, version from rows'),
    isExact: false,
    // Its own trouble is that its connections are cut, by the storm's kills.
    setTrouble: () => undefined,
    hasKey: null,
    close: () => world.drop(),
  }
}

function toStored({ id, version }: Row) {
  return { id, email: emailOf(id), version }
}

function toRow(row: Readonly<Record<string, unknown>>): Row {
  return { id: Number(row['id']), version: Number(row['version']) }
}
