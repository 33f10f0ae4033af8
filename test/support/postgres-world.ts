/**
 * Somebody else's PostgreSQL: a database of its own on the private server, with tables to read from and to write to.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import postgres from 'postgres'
import { afterAll, beforeAll, inject } from 'vitest'
import type { OpenConnection } from '../../src/connectors/connector.ts'
import { storedPostgresConfig } from '../../src/connectors/postgres-connection.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { withDatabaseName } from './database-url.ts'
import { openConnection } from './open-connection.ts'

const LOOK_MS = 10

export interface PostgresWorld {
  readonly url: string
  /** As a person connects it. */
  readonly config: JsonObject
  readonly credentials: JsonObject
  /** The administrator's hands. */
  readonly sql: postgres.Sql
  run(statement: string): Promise<readonly postgres.Row[]>
  /** What a connector is given, changed as the test says. */
  connect(given?: Partial<OpenConnection>): OpenConnection
  /**
   * Until every transaction of the server that writes now has ended. A snapshot counts those of all its databases, so
   * one of another test holds an XID horizon back.
   */
  othersEnded(): Promise<void>
  /** A name that no other table of the world has. */
  nextName(): string
  drop(): Promise<void>
}

export async function createPostgresWorld(serverUrl: string): Promise<PostgresWorld> {
  const name = `tajo_world_${randomBytes(6).toString('hex')}`
  await runOnce(serverUrl, `create database ${name} template template0`)
  const url = withDatabaseName(serverUrl, name)
  const { hostname, port, username, password } = new URL(url)
  const config = storedPostgresConfig.parse({
    host: hostname,
    port: Number(port),
    database: name,
    tls: 'OFF',
  })
  const credentials = {
    user: decodeURIComponent(username),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  }
  const sql = postgres(url, { max: 8, onnotice: () => undefined })
  let made = 0
  return {
    url,
    config,
    credentials,
    sql,
    run: async (statement) => await sql.unsafe(statement),
    connect: (given = {}) => openConnection({ config, credentials, ...given }),
    othersEnded: async () => {
      const [mark] = await sql`select pg_current_xact_id()::text as xid`
      for (let isOver = false; !isOver; ) {
        const [look] = await sql`
          select pg_snapshot_xmin(pg_current_snapshot()) > ${mark?.['xid']}::text::xid8 as is_over`
        isOver = look?.['is_over'] === true
        await wait(isOver ? 0 : LOOK_MS)
      }
    },
    nextName: () => {
      made += 1
      return `t${made}`
    },
    drop: async () => {
      await sql.end({ timeout: 1 })
      await runOnce(serverUrl, `drop database if exists ${name} with (force)`)
    },
  }
}

/** One world for the tests of a file. */
export function usePostgresWorld(): () => PostgresWorld {
  let world: PostgresWorld | null = null
  beforeAll(async () => {
    const serverUrl = inject('postgresUrl')
    if (serverUrl === null) {
      throw new Error('This test needs PostgreSQL, and there is none on this machine.')
    }
    world = await createPostgresWorld(serverUrl)
  })
  afterAll(() => world?.drop())
  return () => {
    if (world === null) {
      throw new Error('The world is there only while the tests of its file run.')
    }
    return world
  }
}

async function runOnce(url: string, statement: string): Promise<void> {
  const client = postgres(url, { max: 1, onnotice: () => undefined })
  try {
    await client.unsafe(statement)
  } finally {
    await client.end()
  }
}
