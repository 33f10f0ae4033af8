/**
 * Everything around the workers: private servers, an API process, workspaces, the destinations, and the
 * syncs that are made, run and audited on them.
 *
 * Invariants: servers are our own, so that scenarios may kill them; an acknowledged commit survives a
 * killed PostgreSQL, as in production; a sync is audited only when no run of it is queued or running.
 */
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import postgres from 'postgres'
import { withCommandContext } from '../../src/app.ts'
import { type ApiClient, createApiClient } from '../../src/client/api-client.ts'
import {
  CreateConnectionMutation,
  CreateSyncMutation,
  PublishSyncMutation,
  RunSyncMutation,
  UpdateSyncMutation,
} from '../../src/client/documents.ts'
import { RedriveRecordsMutation } from '../../src/client/quarantine-documents.ts'
import { createWorkspace } from '../../src/commands/create-workspace.ts'
import { readConfig } from '../../src/config.ts'
import { parseGlobalId } from '../../src/graphql/global-id.ts'
import { type StartedProcess, startAppProcess } from '../support/processes.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { startPostgres, startRedis, type TestService } from '../support/services.ts'
import { type Audit, audit } from './auditor.ts'
import type { Evidence } from './evidence.ts'
import { MAPPING, type SyncPlan } from './plan.ts'
import { readStored } from './read-evidence.ts'
import type { Chance } from './seeded.ts'
import { decideReaction, isRefusedRecord, spoilAnswer } from './trouble.ts'

export const SETTINGS = ['fast', 'default'] as const
export type Settings = (typeof SETTINGS)[number]

/** `default` sets nothing: what production runs with. */
const ENVIRONMENTS: Readonly<Record<Settings, Readonly<Record<string, string>>>> = {
  default: {},
  fast: {
    POLL_MS: '200',
    HEARTBEAT_MS: '200',
    HEARTBEAT_TRUST_MS: '1500',
    SILENT_AFTER_MS: '2000',
    FIRST_BACKOFF_MS: '200',
    QUARANTINE_AFTER_RUNS: '2',
  },
}
/** Runs after the first one until what is rejected has been set aside. */
const RUNS_UNTIL_ASIDE: Readonly<Record<Settings, number>> = { default: 2, fast: 1 }

export interface LiveSync {
  readonly plan: SyncPlan
  /** As the API shows it. */
  readonly globalId: string
  readonly syncId: string
  readonly path: string
  readonly destination: RecordingDestination
  fileText: string
  isMended: boolean
}

export interface Stage {
  readonly settings: Settings
  readonly environment: Readonly<Record<string, string>>
  readonly postgres: TestService
  readonly redis: TestService
  readonly sql: postgres.Sql
  readonly workspaces: number
  readonly destinations: readonly RecordingDestination[]
  makeSync(plan: SyncPlan): Promise<LiveSync>
  /** Mends the destination, appends to the file, sets the later page size. */
  turnPage(sync: LiveSync): Promise<void>
  /** Asks for a run and returns its id. */
  request(sync: LiveSync): Promise<string>
  waitForEnd(runId: string): Promise<string>
  /** Runs until a run has come to the end of the file. Throws when that takes too many. */
  runToEnd(sync: LiveSync): Promise<void>
  /** Runs until what is rejected has been set aside. */
  setAside(sync: LiveSync): Promise<void>
  /** Brings back what was set aside, and waits for the run that sends it. */
  redrive(sync: LiveSync): Promise<void>
  /** What the auditor is given of a sync. */
  gather(sync: LiveSync): Promise<Evidence>
  audit(sync: LiveSync): Promise<Audit>
  close(): Promise<void>
}

const WORKSPACES = 3
/** Runs until a file is done: each may be closed after five take-overs in a row. */
const MAX_RUNS = 40
const RUN_DEADLINE_MS = 15 * 60_000
const POLL_MS = 100
const REQUEST_TRIES = 100
/** How long the destination works on an import, and how often it is asked. */
const IMPORT_MS = 300
const IMPORT_POLL_MS = 150
/** Share of the questions that meet trouble. */
const QUESTION_TROUBLE = 0.02

export async function openStage(options: {
  readonly settings: Settings
  readonly chance: Chance
}): Promise<Stage> {
  const { settings, chance } = options
  const directory = await mkdtemp(join(tmpdir(), 'tajo-chaos-'))
  const server = await startPostgres({ isOwn: true })
  const redis = await startRedis({ isOwn: true })
  // As in the product: a server that goes away while types are asked for would end this process.
  const sql = postgres(server.url, { max: 4, fetch_types: false, onnotice: () => undefined })
  await sql.unsafe('alter database postgres set synchronous_commit = on')
  const environment = {
    DATABASE_URL: server.url,
    REDIS_URL: redis.url,
    CREDENTIALS_KEY: Buffer.alloc(32, 3).toString('base64'),
    FILE_ROOT: directory,
    LOG_LEVEL: 'warn',
    DATABASE_CONNECTIONS: '6',
    PORT: '0',
    ...ENVIRONMENTS[settings],
  }
  const config = readConfig({ ...environment, DATA_DIR: join(directory, 'own') })
  const tokens: string[] = await withCommandContext(config, async (context) => {
    const made: string[] = []
    for (let n = 0; n < WORKSPACES; n += 1) {
      made.push((await createWorkspace(context, { name: `Chaos ${n}` })).token)
    }
    return made
  })
  const api = await startAppProcess({ ...environment, ROLE: 'api', LOG_LEVEL: 'error' })
  const honouring = await startRecordingDestination({ honoursKeys: true, keepsRequests: false })
  const forgetful = await startRecordingDestination({ honoursKeys: false, keepsRequests: false })
  honouring.imports.takesMs = IMPORT_MS
  forgetful.imports.takesMs = IMPORT_MS
  const play = new Play({
    sql,
    directory,
    clients: tokens.map((token) => createApiClient({ address: api.address, token })),
    destinations: { IDEMPOTENT: honouring, LOOKUP: forgetful, NONE: forgetful },
    chance,
  })
  return {
    settings,
    environment: { ...environment, ROLE: 'worker' },
    postgres: server,
    redis,
    sql,
    workspaces: WORKSPACES,
    destinations: [honouring, forgetful],
    makeSync: (plan) => play.makeSync(plan),
    turnPage: (sync) => play.turnPage(sync),
    request: (sync) => play.request(sync),
    waitForEnd: (runId) => play.waitForEnd(runId),
    runToEnd: (sync) => play.runToEnd(sync),
    setAside: async (sync) => {
      for (let runs = 0; runs < RUNS_UNTIL_ASIDE[settings]; runs += 1) {
        await play.runToEnd(sync)
      }
    },
    redrive: (sync) => play.redrive(sync),
    gather: (sync) => play.gather(sync),
    audit: async (sync) => audit(await play.gather(sync)),
    close: () =>
      closeAll({ api, destinations: [honouring, forgetful], sql, server, redis, directory }),
  }
}

interface PlayParts {
  readonly sql: postgres.Sql
  readonly directory: string
  readonly clients: readonly ApiClient[]
  readonly destinations: Readonly<Record<SyncPlan['deliveryClass'], RecordingDestination>>
  readonly chance: Chance
}

class Play {
  readonly #parts: PlayParts
  readonly #syncs = new Map<string, LiveSync>()
  readonly #chance: Chance

  constructor(parts: PlayParts) {
    this.#parts = parts
    this.#chance = parts.chance.fork()
    for (const destination of Object.values(parts.destinations)) {
      destination.decide((request) => {
        const sync = this.#syncs.get(request.path)
        return sync
          ? decideReaction(this.#chance, sync, request)
          : { kind: 'answer', status: 404, body: '{"error":"unknown object"}' }
      })
      destination.decideQuestion(() =>
        this.#chance.isTrue(QUESTION_TROUBLE) ? spoilAnswer(this.#chance) : null,
      )
    }
  }

  async makeSync(plan: SyncPlan): Promise<LiveSync> {
    const client = this.#clientOf(plan)
    const path = `/${plan.name}`
    const destination = this.#parts.destinations[plan.deliveryClass]
    await writeFile(join(this.#parts.directory, `${plan.name}.csv`), plan.fileText)
    const globalId = await createSync(client, plan, { url: destination.url, path })
    const syncId = parseGlobalId(globalId)?.id ?? ''
    const { fileText } = plan
    const sync: LiveSync = {
      ...{ plan, globalId, syncId, path, destination, fileText },
      isMended: false,
    }
    this.#syncs.set(path, sync)
    return sync
  }

  async turnPage(sync: LiveSync): Promise<void> {
    sync.isMended = true
    await appendFile(join(this.#parts.directory, `${sync.plan.name}.csv`), sync.plan.appendedText)
    sync.fileText += sync.plan.appendedText
    const client = this.#clientOf(sync.plan)
    const input = { syncId: sync.globalId, pageSize: sync.plan.pageSizes[1] }
    const { updateSync } = await client.request(UpdateSyncMutation, { input })
    const { publishSync } = await client.request(PublishSyncMutation, { syncId: sync.globalId })
    for (const { __typename } of [updateSync, publishSync]) {
      if (__typename !== 'ChangedSync') {
        throw new Error(`${sync.plan.name} could not be changed: ${__typename}.`)
      }
    }
  }

  /** The API's own servers may be away for a moment: a person would ask again. */
  async request(sync: LiveSync): Promise<string> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#requestOnce(sync)
      } catch (error) {
        if (tries >= REQUEST_TRIES) {
          throw error
        }
        await wait(POLL_MS)
      }
    }
  }

  async waitForEnd(runId: string): Promise<string> {
    const deadlineMs = performance.now() + RUN_DEADLINE_MS
    while (performance.now() < deadlineMs) {
      const status = await this.#findStatus(runId)
      if (status !== null && status !== 'queued' && status !== 'running') {
        return status
      }
      await wait(POLL_MS)
    }
    throw new Error(`The run ${runId} did not end within ${RUN_DEADLINE_MS / 60_000} minutes.`)
  }

  async runToEnd(sync: LiveSync): Promise<void> {
    for (let runs = 0; runs < MAX_RUNS; runs += 1) {
      const status = await this.waitForEnd(await this.request(sync))
      if (status === 'succeeded' || status === 'partial') {
        return
      }
    }
    throw new Error(`${sync.plan.name} did not come to its end in ${MAX_RUNS} runs.`)
  }

  async redrive(sync: LiveSync): Promise<void> {
    const client = this.#clientOf(sync.plan)
    const variables = { syncId: sync.globalId }
    const { redriveRecords } = await client.request(RedriveRecordsMutation, variables)
    if (redriveRecords.__typename !== 'RedrivenRecords') {
      throw new Error(`${sync.plan.name} could not be redriven: ${redriveRecords.message}`)
    }
    if (redriveRecords.run) {
      await this.waitForEnd(parseGlobalId(redriveRecords.run.id)?.id ?? '')
    }
  }

  async gather(sync: LiveSync): Promise<Evidence> {
    const { plan } = sync
    const effects = sync.destination.applied.filter(({ path }) => path === sync.path)
    return {
      name: plan.name,
      fileText: sync.fileText,
      deliveryClass: plan.deliveryClass,
      isContactKnown: plan.isContactKnown,
      wasRefused: (record) => isRefusedRecord(record, false),
      effects,
      ...(await readStored(
        this.#parts.sql,
        sync.syncId,
        effects.map(({ key }) => key),
      )),
    }
  }

  async #requestOnce(sync: LiveSync): Promise<string> {
    const client = this.#clientOf(sync.plan)
    const { runSync } = await client.request(RunSyncMutation, { syncId: sync.globalId })
    if (runSync.__typename === 'StartedRun') {
      return parseGlobalId(runSync.run.id)?.id ?? ''
    }
    if (runSync.__typename === 'AlreadyRunning') {
      return parseGlobalId(runSync.runId)?.id ?? ''
    }
    throw new Error(`${sync.plan.name} could not be run: ${runSync.message}`)
  }

  async #findStatus(runId: string): Promise<string | null> {
    try {
      const [row] = await this.#parts.sql<{ status: string }[]>`
        select status from run where id = ${runId}`
      return row?.status ?? null
    } catch {
      return null // PostgreSQL is away: a scenario took it away
    }
  }

  #clientOf(plan: SyncPlan): ApiClient {
    const client = this.#parts.clients[plan.workspace]
    if (!client) {
      throw new Error(`There is no workspace ${plan.workspace}.`)
    }
    return client
  }
}

async function createSync(
  client: ApiClient,
  plan: SyncPlan,
  at: { readonly url: string; readonly path: string },
): Promise<string> {
  const connect = async (type: string, config: Record<string, string>) => {
    const input = { name: `${plan.name} ${type}`, type, config }
    const { createConnection: made } = await client.request(CreateConnectionMutation, { input })
    if (made.__typename !== 'CreateConnectionPayload') {
      throw new Error(made.message)
    }
    return made.connection.id
  }
  const { createSync: created } = await client.request(CreateSyncMutation, {
    input: {
      name: plan.name,
      sourceConnectionId: await connect('file', {}),
      destinationConnectionId: await connect('http', { baseUrl: at.url }),
      stream: `${plan.name}.csv`,
      streamOptions: plan.isSourceNamed ? { identityField: 'id' } : {},
      object: at.path,
      objectOptions: {
        path: plan.path,
        deliveryClass: plan.deliveryClass,
        concurrency: plan.concurrency,
        requestDeadlineMs: plan.requestDeadlineMs,
        ...(plan.path === 'PAGE' ? { maxRecordsPerCall: plan.maxRecordsPerCall } : {}),
        ...(plan.deliveryClass === 'LOOKUP' ? { lookupObject: '/writes/{key}' } : {}),
        ...(plan.isImported ? { importsObject: '/imports', importPollMs: IMPORT_POLL_MS } : {}),
        ...(plan.isContactKnown ? { identityField: 'contact' } : {}),
      },
      mapping: MAPPING,
      onRejected: plan.onRejected,
      pageSize: plan.pageSizes[0],
    },
  })
  if (created.__typename !== 'ChangedSync') {
    throw new Error(`${plan.name}: ${created.message}`)
  }
  const syncId = created.sync.id
  const { publishSync } = await client.request(PublishSyncMutation, { syncId })
  if (publishSync.__typename !== 'ChangedSync') {
    throw new Error(`${plan.name}: ${publishSync.message}`)
  }
  return syncId
}

async function closeAll(parts: {
  readonly api: StartedProcess
  readonly destinations: readonly RecordingDestination[]
  readonly sql: postgres.Sql
  readonly server: TestService
  readonly redis: TestService
  readonly directory: string
}): Promise<void> {
  await parts.api.kill('SIGKILL')
  await Promise.all(parts.destinations.map((destination) => destination.close()))
  await parts.sql.end({ timeout: 5 })
  await Promise.all([parts.server.stop(), parts.redis.stop()])
  await rm(parts.directory, { recursive: true, force: true })
}
