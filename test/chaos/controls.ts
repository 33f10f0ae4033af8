/**
 * Controls: each takes one safety feature away and shows that the auditor then finds the harm, and that
 * the same story with the feature in place ends well.
 *
 * The product has no switch for this. The features are taken away in the database: by triggers that undo
 * what the product's own statements do, and by what a product without remembered pages would have stored.
 * The destination honours no keys (class `none`): nothing but the feature stands between a record and its
 * second writing.
 */

import { startWorker } from './fleet.ts'
import { drawQuietSync, REFUSED_FIRST } from './plan.ts'
import type { Scenario, ScenarioResult } from './scenarios.ts'
import { conclude, killAll, waitForEffects } from './scenarios.ts'
import type { Stage } from './stage.ts'

/** With `isOff` the feature does not work, and the auditor must find doubled records. */
export type Control = (stage: Stage, isOff: boolean) => Promise<ScenarioResult>

export const CONTROLS = {
  fence: controlFence,
  ledger: controlLedger,
  'remembered-pages': controlRememberedPages,
} satisfies Readonly<Record<string, Control>>

/** The same stories with everything in place are scenarios as well. */
export const INTACT: Readonly<Record<string, Scenario>> = {
  'two-workers-forced': (stage) => controlFence(stage, false),
  'killed-before-checkpoint': (stage) => controlLedger(stage, false),
  'page-size-changed-with-record-held': (stage) => controlRememberedPages(stage, false),
}

/** Longer than it takes until a worker is taken over, and shorter than a call may take. */
const ANSWER_AFTER_MS = 6_000

/**
 * Two workers on one sync: the beats of the first, which lives and trusts itself, are hidden from the
 * others, so that a second one takes its run over while a call of it is under way. The fence tells the
 * second which call that is; without it the second sends the same records.
 */
async function controlFence(stage: Stage, isOff: boolean): Promise<ScenarioResult> {
  const workers = [await startWorker(stage.environment), await startWorker(stage.environment)]
  try {
    await install(stage, isOff ? [NO_EPOCHS] : [])
    const sync = await stage.makeSync(
      drawQuietSync({
        ...{ name: `fence-${isOff ? 'off' : 'on'}`, deliveryClass: 'NONE' },
        ...{ maxRecordsPerCall: 10, concurrency: 1, requestDeadlineMs: 20_000 },
      }),
    )
    const apply = { kind: 'apply' as const }
    sync.destination.script(apply, apply, { ...apply, answerAfterMs: ANSWER_AFTER_MS })
    const runId = await stage.request(sync)
    await waitForEffects(sync, 30)
    const holder = await findHolder(stage, runId)
    await install(stage, [hideBeats(holder.workerId)])
    await stage.waitForEnd(runId)
    // What was under way when the run was taken over has its answer by then; another run takes it in.
    const first = workers.find(({ pid }) => pid === holder.pid)
    await first?.find(/"event":"(run\.lost)"/)
    await stage.runToEnd(sync)
    return await conclude(stage, [sync])
  } finally {
    await killAll(workers)
    await uninstall(stage)
  }
}

/** Killed between the recording of a page's answers and its checkpoint: the page is read again. */
async function controlLedger(stage: Stage, isOff: boolean): Promise<ScenarioResult> {
  const workers = [await startWorker(stage.environment, { CHAOS_KILL: 'beforeCheckpoint:5' })]
  try {
    await install(stage, isOff ? [NO_LEDGER] : [])
    const sync = await stage.makeSync(
      drawQuietSync({ name: `ledger-${isOff ? 'off' : 'on'}`, deliveryClass: 'NONE' }),
    )
    const end = stage.runToEnd(sync)
    await workers[0]?.exited
    workers.push(await startWorker(stage.environment))
    await end
    return await conclude(stage, [sync])
  } finally {
    await killAll(workers)
    await uninstall(stage)
  }
}

/**
 * A record is held on the first page, then the page size changes. A product that remembers a cursor and no
 * pages would go back to the held record and read on from there, in pages that begin elsewhere: other keys.
 *
 * With a file, moved rows are no case of their own: a file that changed before the cursor is other data by
 * contract, and is sent again.
 */
async function controlRememberedPages(stage: Stage, isOff: boolean): Promise<ScenarioResult> {
  const workers = [await startWorker(stage.environment)]
  try {
    const name = `pages-${isOff ? 'off' : 'on'}`
    const quiet = drawQuietSync({ name, deliveryClass: 'NONE', pageSizes: [10, 7] })
    const fileText = quiet.fileText.replace(/plain 3$/m, `plain 3 ${REFUSED_FIRST}`)
    const sync = await stage.makeSync({ ...quiet, fileText })
    await stage.runToEnd(sync)
    if (isOff) {
      await stage.sql`delete from held_record where sync_id = ${sync.syncId}`
      await stage.sql`delete from open_page where sync_id = ${sync.syncId}`
      await stage.sql`update sync_fence set reached = saved_cursor where sync_id = ${sync.syncId}`
    }
    await stage.turnPage(sync)
    await stage.runToEnd(sync)
    return await conclude(stage, [sync])
  } finally {
    await killAll(workers)
  }
}

interface Trigger {
  readonly on: string
  readonly event: 'insert' | 'update'
  readonly body: string
}

/** The fence stays where it is: every taking of a run has the same epoch. */
const NO_EPOCHS: Trigger = {
  on: 'sync_fence',
  event: 'update',
  body: 'new.epoch := least(new.epoch, 1); return new;',
}

/** Nothing that is completed is remembered. */
const NO_LEDGER: Trigger = { on: 'delivery', event: 'insert', body: 'return null;' }

function hideBeats(workerId: string): Trigger {
  const body = `if new.id = '${workerId}' then new.beat_n := old.beat_n; end if; return new;`
  return { on: 'worker', event: 'update', body }
}

async function install({ sql }: Stage, triggers: readonly Trigger[]): Promise<void> {
  for (const { on, event, body } of triggers) {
    await sql.unsafe(`
      create function chaos_${on}() returns trigger language plpgsql as $$ begin ${body} end $$;
      create trigger chaos_${on} before ${event} on ${on} for each row execute function chaos_${on}()`)
  }
}

async function uninstall({ sql }: Stage): Promise<void> {
  for (const table of ['sync_fence', 'delivery', 'worker']) {
    await sql.unsafe(`drop function if exists chaos_${table}() cascade`)
  }
}

async function findHolder({ sql }: Stage, runId: string) {
  const [row] = await sql<{ workerId: string; pid: number }[]>`
    select worker.id as "workerId", worker.pid
    from run join worker on worker.id = run.worker_id where run.id = ${runId}`
  if (!row) {
    throw new Error(`Nobody holds the run ${runId}.`)
  }
  return row
}
