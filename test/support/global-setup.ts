/**
 * Before the tests: one PostgreSQL and one Redis for all of them, and a migrated database to clone.
 *
 * Where they are not to be had, one line says what to install and only the embedded suites run; on CI
 * that is an error, because there a suite that did not run must not look like one that passed.
 */
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import type { TestProject } from 'vitest/node'
import { migrateServer } from '../../src/store/database.ts'
import { withDatabaseName } from './database-url.ts'
import { ServicesUnavailableError } from './service-binaries.ts'
import { startPostgres, startRedis } from './services.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Null, as the other two: there are no servers, only the embedded suites run. */
    postgresUrl: string | null
    templateName: string | null
    redisUrl: string | null
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  try {
    return await startServers(project)
  } catch (error) {
    if (!(error instanceof ServicesUnavailableError) || process.env['CI']) {
      throw error
    }
    process.stderr.write(`${error.message} Only the embedded suites run.\n`)
    project.provide('postgresUrl', null)
    project.provide('templateName', null)
    project.provide('redisUrl', null)
    return () => Promise.resolve()
  }
}

async function startServers(project: TestProject): Promise<() => Promise<void>> {
  // One after the other: what is missing is installed by the first.
  const server = await startPostgres()
  const redis = await startRedis().catch(async (error: unknown) => {
    await server.stop()
    throw error
  })
  const templateName = `tajo_template_${randomBytes(4).toString('hex')}`
  const admin = postgres(server.url, { max: 1, onnotice: () => undefined })
  await admin.unsafe(`create database ${templateName}`)
  await migrateServer(withDatabaseName(server.url, templateName))
  project.provide('postgresUrl', server.url)
  project.provide('templateName', templateName)
  project.provide('redisUrl', redis.url)
  return async () => {
    await admin.unsafe(`drop database if exists ${templateName} with (force)`)
    await admin.end()
    await Promise.all([server.stop(), redis.stop()])
  }
}
