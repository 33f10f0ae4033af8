/**
 * Before the tests: one PostgreSQL and one Redis for all of them, a migrated database to clone, and the programs
 * that they start.
 *
 * Where the servers are not to be had, one line says what to install and only the embedded suites run; on CI
 * that is an error, because there a suite that did not run must not look like one that passed.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import type { TestProject } from 'vitest/node'
import { migrateServer } from '../../src/store/database.ts'
import { withDatabaseName } from './database-url.ts'
import { buildPrograms } from './programs.ts'
import { ServicesUnavailableError } from './service-binaries.ts'
import { startPostgres, startRedis } from './services.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Null, as the other two: there are no servers, only the embedded suites run. */
    postgresUrl: string | null
    templateName: string | null
    redisUrl: string | null
    /** All cases of what has a shorter form otherwise: `npm run test:exhaustive`. */
    isExhaustive: boolean
    /** Where the first test that needs an embedded database leaves a copy of it for the others. */
    embeddedTemplates: string
  }
}

type TearDown = () => Promise<void>

export default async function setUp(project: TestProject): Promise<TearDown> {
  const parts = await Promise.allSettled([
    prepareServers(project),
    preparePrograms(project),
    prepareEmbedded(project),
  ])
  const tearDown = async () => {
    await Promise.all(parts.map((part) => part.status === 'fulfilled' && part.value()))
  }
  const failed = parts.find((part) => part.status === 'rejected')
  if (failed) {
    await tearDown()
    throw failed.reason
  }
  return tearDown
}

async function preparePrograms(project: TestProject): Promise<TearDown> {
  const programs = await buildPrograms()
  project.onTestsRerun(() => programs.renew())
  return () => programs.remove()
}

async function prepareEmbedded(project: TestProject): Promise<TearDown> {
  const directory = await mkdtemp(join(tmpdir(), 'tajo-test-templates-'))
  project.provide('embeddedTemplates', directory)
  return () => rm(directory, { recursive: true, force: true })
}

async function prepareServers(project: TestProject): Promise<TearDown> {
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

async function startServers(project: TestProject): Promise<TearDown> {
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
