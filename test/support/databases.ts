/**
 * Databases of the tests: clones of a migrated template on PostgreSQL, and embedded ones.
 *
 * A clone costs 50 ms, so that every test file has its own. The embedded database takes 5 to 6 s for its first
 * opening, which happens once, and 1 s for each later one: a file opens a copy, and its tests keep apart by
 * workspace.
 */
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, inject } from 'vitest'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { withDatabaseName } from './database-url.ts'

export type DatabaseKind = 'postgresql' | 'embedded'

/** For contract suites that run on each: `describe.each(DATABASE_KINDS)('runs on %s', (kind) => …)`. */
export const DATABASE_KINDS: readonly DatabaseKind[] =
  inject('postgresUrl') === null ? ['embedded'] : ['postgresql', 'embedded']

/**
 * For suites of the engine, which says the same to each of them: PostgreSQL where it is there. The embedded one
 * is seen to by the contract suites of the store, by the engine's own suite (run.test.ts) and by whole processes.
 */
export const ENGINE_DATABASE_KINDS: readonly DatabaseKind[] = DATABASE_KINDS.slice(0, 1)

export interface TestDatabase {
  readonly url: string
  /** A pool of its own at each call, as another process would have it. It is closed by `drop` at the latest. */
  open(): Promise<Database>
  /** Closes what is open, and copies the database as it stands. */
  backUp(): Promise<TestDatabase>
  drop(): Promise<void>
}

const OPEN_TIMEOUT_MS = 60_000
const MAX_CONNECTIONS = 10

/** An empty, migrated database on the private PostgreSQL. Throws where there is none. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = inject('postgresUrl')
  const templateName = inject('templateName')
  if (serverUrl === null || templateName === null) {
    throw new Error('This test needs PostgreSQL, and there is none on this machine.')
  }
  return await createFrom(serverUrl, templateName)
}

async function createFrom(serverUrl: string, template: string): Promise<TestDatabase> {
  const name = `tajo_test_${randomBytes(6).toString('hex')}`
  await runOnServer(serverUrl, `create database ${name} template ${template}`)
  const url = withDatabaseName(serverUrl, name)
  const opened: Database[] = []
  const close = async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()))
  }
  return {
    url,
    open: async () => {
      const database = await openDatabase({
        at: { url },
        maxConnections: MAX_CONNECTIONS,
        applicationName: 'tajo-sync test',
      })
      opened.push(database)
      return database
    },
    backUp: async () => {
      await close()
      return await createFrom(serverUrl, name)
    },
    drop: async () => {
      await close()
      await runOnServer(serverUrl, `drop database if exists ${name} with (force)`)
    },
  }
}

/** Registers the opening and closing of one database for the enclosing suite. Call it once a kind and file. */
export function useDatabase(kind: DatabaseKind): () => Database {
  let database: Database | null = null
  let remove: () => Promise<void> = () => Promise.resolve()
  beforeAll(async () => {
    const made = kind === 'postgresql' ? await createTestDatabase() : await createEmbedded()
    remove = made.drop
    database = await made.open()
  }, OPEN_TIMEOUT_MS)
  afterAll(async () => {
    await remove()
    database = null
  }, OPEN_TIMEOUT_MS)
  return () => {
    if (database === null) {
      throw new Error('The database is open only while the tests of its suite run.')
    }
    return database
  }
}

async function createEmbedded(): Promise<Pick<TestDatabase, 'open' | 'drop'>> {
  const directory = await mkdtemp(join(tmpdir(), 'tajo-test-embedded-'))
  await copyEmbedded(directory)
  const opened: Database[] = []
  return {
    open: async () => {
      const database = await openEmbedded(directory)
      opened.push(database)
      return database
    },
    drop: async () => {
      await Promise.all(opened.map((database) => database.close()))
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Makes the directory one in which an embedded database was opened once, and nothing done. */
export async function copyEmbedded(directory: string): Promise<void> {
  const templates = inject('embeddedTemplates')
  const template = join(templates, 'migrated')
  if (!existsSync(template)) {
    const draft = await mkdtemp(join(templates, 'draft-'))
    await (await openEmbedded(draft)).close()
    await rename(draft, template).catch((error: unknown) => {
      // Another file made one at the same time; the one is as good as the other.
      if (!existsSync(template)) {
        throw error
      }
    })
  }
  // A thousand small files: one call after the other takes half of what the threads of the other way do.
  cpSync(template, directory, { recursive: true })
}

function openEmbedded(directory: string): Promise<Database> {
  return openDatabase({
    at: { directory },
    maxConnections: 1,
    applicationName: 'tajo-sync test',
  })
}

async function runOnServer(url: string, statement: string): Promise<void> {
  const client = postgres(url, { max: 1, onnotice: () => undefined })
  try {
    await client.unsafe(statement)
  } finally {
    await client.end()
  }
}
