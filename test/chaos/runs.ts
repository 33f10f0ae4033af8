/** Asks for runs as a person would, and waits for their ends as the database tells them. */
import { setTimeout as wait } from 'node:timers/promises'
import type postgres from 'postgres'
import type { ApiClient } from '../../src/client/api-client.ts'
import { RunSyncMutation } from '../../src/client/documents.ts'
import { parseGlobalId } from '../../src/graphql/global-id.ts'

/** A sync, and who asks for its runs. */
export interface RunnableSync {
  readonly name: string
  readonly client: ApiClient
  /** As the API shows it. */
  readonly globalId: string
}

/** Runs until the source is done: each may be closed after five take-overs in a row. */
const MAX_RUNS = 40
const RUN_DEADLINE_MS = 15 * 60_000
const POLL_MS = 100
const REQUEST_TRIES = 100

/** Returns the run's id. The API's own servers may be away for a moment: a person would ask again. */
export async function requestRun(sync: RunnableSync): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await requestOnce(sync)
    } catch (error) {
      if (tries >= REQUEST_TRIES) {
        throw error
      }
      await wait(POLL_MS)
    }
  }
}

/** Returns the final status. */
export async function waitForRunEnd(sql: postgres.Sql, runId: string): Promise<string> {
  const deadlineMs = performance.now() + RUN_DEADLINE_MS
  while (performance.now() < deadlineMs) {
    const status = await findStatus(sql, runId)
    if (status !== null && status !== 'queued' && status !== 'running') {
      return status
    }
    await wait(POLL_MS)
  }
  throw new Error(`The run ${runId} did not end within ${RUN_DEADLINE_MS / 60_000} minutes.`)
}

/** Runs until one has come to the end of the source. Throws when that takes too many. */
export async function runToEnd(sql: postgres.Sql, sync: RunnableSync): Promise<void> {
  for (let runs = 0; runs < MAX_RUNS; runs += 1) {
    const status = await waitForRunEnd(sql, await requestRun(sync))
    if (status === 'succeeded' || status === 'partial') {
      return
    }
  }
  throw new Error(`${sync.name} did not come to its end in ${MAX_RUNS} runs.`)
}

async function requestOnce({ client, globalId, name }: RunnableSync): Promise<string> {
  const { runSync } = await client.request(RunSyncMutation, { syncId: globalId })
  if (runSync.__typename === 'StartedRun') {
    return parseGlobalId(runSync.run.id)?.id ?? ''
  }
  if (runSync.__typename === 'AlreadyRunning') {
    return parseGlobalId(runSync.runId)?.id ?? ''
  }
  throw new Error(`${name} could not be run: ${runSync.message}`)
}

async function findStatus(sql: postgres.Sql, runId: string): Promise<string | null> {
  try {
    const [row] = await sql<{ status: string }[]>`select status from run where id = ${runId}`
    return row?.status ?? null
  } catch {
    return null // PostgreSQL is away: a scenario took it away
  }
}
