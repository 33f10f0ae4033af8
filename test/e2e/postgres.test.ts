/** A sync from one PostgreSQL table to another, through the app as it runs: what changed goes, and one bad record stays behind. */
import { expect, it } from 'vitest'
import {
  CreateConnectionMutation,
  CreateSyncMutation,
  PublishSyncMutation,
} from '../../src/client/documents.ts'
import { createTestDatabase } from '../support/databases.ts'
import { createDeployment, followToEnd, runNow } from '../support/deployment.ts'
import { usePostgresWorld } from '../support/postgres-world.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'

const world = usePostgresWorld()

it.runIf(HAS_REDIS)('copies rows by their key, and again only what changed', async () => {
  const { run, config, credentials } = world()
  await run(`create table person (id bigint primary key, email text, age text, updated_at timestamptz not null default now());
    create table contact (id bigint primary key, email text, age int check (age < 150));
    insert into person select n, 'P' || n || '@example.com', n % 90, now() - interval '1 hour' from generate_series(1, 300) n;
    update person set age = 'old' where id = 77`)
  const test = await createTestDatabase()
  const deployment = await createDeployment({ databaseUrl: test.url, redisUrl: redisUrl() })
  try {
    await deployment.start()
    const client = deployment.client()
    const { createConnection: made } = await client.request(CreateConnectionMutation, {
      input: { name: 'shop', type: 'postgres', config, credentials },
    })
    const connectionId = made.__typename === 'CreateConnectionPayload' ? made.connection.id : ''
    const { createSync } = await client.request(CreateSyncMutation, {
      input: {
        ...{
          name: 'people',
          sourceConnectionId: connectionId,
          destinationConnectionId: connectionId,
        },
        ...{ stream: 'public.person', object: 'public.contact', pageSize: 100 },
        streamOptions: { cursorColumn: 'updated_at', lagMs: 0 },
        objectOptions: { keyColumns: ['id'] },
        mapping: {
          id: { $path: 'id' },
          email: { $case: { value: { $path: 'email' }, to: 'LOWER' } },
          age: { $path: 'age' },
        },
      },
    })
    const syncId = createSync.__typename === 'ChangedSync' ? createSync.sync.id : ''
    await client.request(PublishSyncMutation, { syncId })

    expect(await followToEnd(client, await runNow(client, syncId))).toMatchObject({
      status: 'PARTIAL',
    })
    expect(await run('select count(*)::int as n, min(email) as first from contact')).toEqual([
      { n: 299, first: 'p100@example.com' },
    ])
    await run(`update person set age = 77, updated_at = now() where id = 77;
      update contact set email = 'untouched' where id = 1`)
    expect(await followToEnd(client, await runNow(client, syncId))).toMatchObject({
      status: 'SUCCEEDED',
    })
    expect(await run('select email, age from contact where id in (1, 77) order by id')).toEqual([
      { email: 'untouched', age: 1 },
      { email: 'p77@example.com', age: 77 },
    ])
  } finally {
    await deployment.close()
    await test.drop()
  }
})
