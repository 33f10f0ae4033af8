/**
 * Everything around the workers: servers (servers.ts), the destinations, and the syncs that are made, run and audited
 * on them.
 *
 * Invariant: a sync is audited only when no run of it is queued or running.
 */
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type postgres from 'postgres'
import type { ApiClient } from '../../src/client/api-client.ts'
import {
  CreateConnectionMutation,
  CreateSyncMutation,
  PublishSyncMutation,
  UpdateSyncMutation,
} from '../../src/client/documents.ts'
import { RedriveRecordsMutation } from '../../src/client/quarantine-documents.ts'
import { parseGlobalId } from '../../src/graphql/global-id.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import type { TestService } from '../support/services.ts'
import { type Audit, audit } from './auditor.ts'
import type { Evidence } from './evidence.ts'
import { MAPPING, type SyncPlan } from './plan.ts'
import { readStored } from './read-evidence.ts'
import { type RunnableSync, requestRun, runToEnd, waitForRunEnd } from './runs.ts'
import type { Chance } from './seeded.ts'
import { openServers, type Settings } from './servers.ts'
import { decideReaction, isRefusedRecord, spoilAnswer } from './trouble.ts'

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
  const servers = await openServers(settings, WORKSPACES)
  const clients = await servers.openApi()
  const honouring = await startRecordingDestination({ honoursKeys: true, keepsRequests: false })
  const forgetful = await startRecordingDestination({ honoursKeys: false, keepsRequests: false })
  honouring.imports.takesMs = IMPORT_MS
  forgetful.imports.takesMs = IMPORT_MS
  const play = new Play({
    ...servers,
    clients,
    destinations: { IDEMPOTENT: honouring, LOOKUP: forgetful, NONE: forgetful },
    chance,
  })
  return {
    ...servers,
    settings,
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
    close: async () => {
      await servers.close()
      await Promise.all([honouring.close(), forgetful.close()])
    },
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

  request(sync: LiveSync): Promise<string> {
    return requestRun(this.#runnable(sync))
  }

  waitForEnd(runId: string): Promise<string> {
    return waitForRunEnd(this.#parts.sql, runId)
  }

  runToEnd(sync: LiveSync): Promise<void> {
    return runToEnd(this.#parts.sql, this.#runnable(sync))
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

  #runnable({ plan, globalId }: LiveSync): RunnableSync {
    return { name: plan.name, client: this.#clientOf(plan), globalId }
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
