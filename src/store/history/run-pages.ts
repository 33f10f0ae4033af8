/**
 * Pages of run history and of the DLQ, and the attempts of what they show. Every read names the workspace (I13).
 *
 * These are the statements that dashboards ask for all day, so each is prepared, and none reads more than its page,
 * however many runs there are: what is filtered by where runs stand or why they were started reads the first rows of
 * each combination from an index, and merges them. Left to itself PostgreSQL would walk all runs from the newest on,
 * until enough of them fit.
 */
import { type SQL, sql } from 'drizzle-orm'
import { firstIdAt } from '../../domain/ids.ts'
import { RUN_CAUSES, type RunCause } from '../../domain/run.ts'
import { RUN_STANDINGS, type RunStanding } from '../../domain/run-standing.ts'
import type { Instant } from '../../runtime/clock.ts'
import type { Handle } from '../database.ts'
import { type Selected, selectList, toSelected } from '../prepared-rows.ts'
import { attempt } from '../schema.ts'
import type { KeysetPage } from './keyset.ts'
import { RUN_COLUMNS } from './runs.ts'

export interface RunFilter {
  readonly syncId?: string
  /** Null or not given: any. */
  readonly standings?: readonly RunStanding[] | null
  /** Any of these; empty: any. */
  readonly causes?: readonly RunCause[]
  /** When it was asked for: the moment itself included. */
  readonly createdFrom?: Instant
  /** The moment itself not included. */
  readonly createdTo?: Instant
}

/**
 * Ids say when they were made, by the clock of the process that made them, and `created_at` by the database's. A process
 * whose clock differs by 30 s is unhealthy; a day is beyond any doubt, and costs a page at most the runs of a day.
 */
const CLOCK_SLACK_MS = 24 * 3_600_000

const RUN_LIST = selectList(RUN_COLUMNS)

export type ListedRun = Selected<typeof RUN_COLUMNS>

export async function listRuns(
  handle: Handle,
  workspaceId: string,
  options: { readonly page: KeysetPage; readonly filter: RunFilter },
): Promise<readonly ListedRun[]> {
  const { page, filter } = options
  const { syncId, standings = null, causes = [] } = filter
  const isOfAny = standings === null && causes.length === 0
  const ids =
    syncId !== undefined || isOfAny
      ? sql`select run.id from run
          where run.workspace_id = ${workspaceId}
            ${syncId === undefined ? sql`` : sql`and run.sync_id = ${syncId}`}
            ${standings === null ? sql`` : sql`and run.standing = any (${textArray(standings)})`}
            ${causes.length === 0 ? sql`` : sql`and run.cause = any (${textArray(causes)})`}
            ${isInRange(page, filter)}`
      : sql`select found.id
          from unnest(${textArray(standings ?? RUN_STANDINGS)}) as wanted (standing)
          cross join unnest(${textArray(causes.length === 0 ? RUN_CAUSES : causes)}) as given (cause)
          cross join lateral (
            select run.id from run
            where run.workspace_id = ${workspaceId}
              and run.standing = wanted.standing and run.cause = given.cause
              ${isInRange(page, filter)}
            ${firstOf('run', page)}) as found`
  return await readRuns(handle, sql`/* history.listRuns */`, { ids, page })
}

/** The DLQ: failed and partial runs that no retry has resolved. */
export async function listFailures(
  handle: Handle,
  workspaceId: string,
  options: { readonly page: KeysetPage; readonly filter: Omit<RunFilter, 'causes'> },
): Promise<readonly ListedRun[]> {
  const { page, filter } = options
  const { syncId, standings = null } = filter
  const isOpen = sql`run.status in ('failed', 'partial') and run.resolved_at is null
    and run.cause <> 'test'`
  const ids =
    syncId !== undefined
      ? sql`select run.id from run
          where run.workspace_id = ${workspaceId} and run.sync_id = ${syncId} and ${isOpen}
            ${standings === null ? sql`` : sql`and run.standing = any (${textArray(standings)})`}
            ${isInRange(page, filter)}`
      : sql`select found.id
          from unnest(${textArray(standings ?? RUN_STANDINGS)}) as wanted (standing)
          cross join lateral (
            select run.id from run
            where run.workspace_id = ${workspaceId}
              and run.standing = wanted.standing and ${isOpen}
              ${isInRange(page, filter)}
            ${firstOf('run', page)}) as found`
  return await readRuns(handle, sql`/* history.listFailures */`, { ids, page })
}

/** `ids`: more than the page may be, in any order. Each is looked up by itself: no plan can read the table instead. */
async function readRuns(
  handle: Handle,
  name: SQL,
  { ids, page }: { readonly ids: SQL; readonly page: KeysetPage },
): Promise<readonly ListedRun[]> {
  const rows = await handle.rows(sql`${name}
    with listed as (
      select candidate.id from (${ids}) as candidate
      ${firstOf('candidate', page)})
    select shown.*
    from listed
    cross join lateral (select ${RUN_LIST} from run where run.id = listed.id limit 1) as shown
    order by listed.id ${directionOf(page)}`)
  return toSelected(RUN_COLUMNS, rows)
}

function firstOf(table: 'run' | 'candidate', page: KeysetPage): SQL {
  return sql`order by ${sql.raw(table)}.id ${directionOf(page)} limit ${page.limit}`
}

function directionOf({ isFromEnd }: KeysetPage): SQL {
  return isFromEnd ? sql`asc` : sql`desc`
}

/** Of the page, and of the time that is asked for. */
function isInRange(
  { after, before }: KeysetPage,
  { createdFrom, createdTo }: Pick<RunFilter, 'createdFrom' | 'createdTo'>,
): SQL {
  return sql.join(
    [
      after === null ? sql`` : sql`and run.id < ${after}`,
      before === null ? sql`` : sql`and run.id > ${before}`,
      createdFrom === undefined
        ? sql``
        : sql`and run.created_at >= ${createdFrom.toISOString()}
            and run.id >= ${firstIdAt(createdFrom.getTime() - CLOCK_SLACK_MS)}`,
      createdTo === undefined
        ? sql``
        : sql`and run.created_at < ${createdTo.toISOString()}
            and run.id < ${firstIdAt(createdTo.getTime() + CLOCK_SLACK_MS)}`,
    ],
    sql` `,
  )
}

/** One parameter, however many values: else each number of them would be a statement of its own. */
function textArray(values: readonly string[]): SQL {
  return sql`${`{${values.join(',')}}`}::text::text[]`
}

const ATTEMPT_COLUMNS = {
  runId: attempt.runId,
  number: attempt.number,
  workerId: attempt.workerId,
  startedAt: attempt.startedAt,
  finishedAt: attempt.finishedAt,
  outcome: attempt.outcome,
  failureCode: attempt.failureCode,
  failureStep: attempt.failureStep,
  failureSubject: attempt.failureSubject,
  failureDetail: attempt.failureDetail,
}
const ATTEMPT_LIST = selectList(ATTEMPT_COLUMNS)

export type HistoricAttempt = Selected<typeof ATTEMPT_COLUMNS>

/** Attempts that are shown of a run, the newest ones; take-overs and drains add to the allowance of 5. */
const MAX_ATTEMPTS_SHOWN = 50

/** The attempts of runs that the caller has already read within its workspace, in the order of their numbers. */
export async function findAttempts(
  handle: Handle,
  runIds: readonly string[],
): Promise<readonly HistoricAttempt[]> {
  const rows = await handle.rows(sql`/* history.findAttempts */
    select shown.*
    from unnest(${`{${runIds.join(',')}}`}::text::uuid[]) as asked (run_id)
    cross join lateral (
      select ${ATTEMPT_LIST} from attempt
      where attempt.run_id = asked.run_id
      order by attempt.number desc limit ${MAX_ATTEMPTS_SHOWN}) as shown
    order by shown."runId", shown.number`)
  return toSelected(ATTEMPT_COLUMNS, rows)
}
