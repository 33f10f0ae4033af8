/**
 * The storm: syncs run side by side while their workers are killed, and each is audited when it is done.
 *
 * A sync runs to the end of its file, is audited, gets more rows, another page size and a mended
 * destination, runs again and is audited again. Where rejected records are set aside it runs until they are, and they
 * are brought back once the destination is mended. Then its lane takes the next one. When there have been
 * enough kills, and one at every place, the lanes finish what they have begun.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { type Audit, audit, auditLedger, type Finding } from './auditor.ts'
import type { Evidence } from './evidence.ts'
import { Fleet, KILL_PLACES, type Kill, type KillPlace } from './fleet.ts'
import { drawSync } from './plan.ts'
import { readWholeLedger } from './read-evidence.ts'
import type { Chance } from './seeded.ts'
import type { Settings } from './servers.ts'
import type { LiveSync, Stage } from './stage.ts'

export interface StormOptions {
  readonly stage: Stage
  readonly chance: Chance
  readonly kills: number
  readonly workers: number
  readonly lanes: number
  readonly maxRows: number
  /** Told every so often what has happened so far. */
  report(line: string): void
  /** Given what the auditor was given where it found something. */
  keep(sync: LiveSync, evidence: Evidence): Promise<void>
}

export interface StormFigures {
  readonly killsByPlace: ReadonlyMap<KillPlace, number>
  readonly missingPlaces: readonly KillPlace[]
  readonly syncs: number
  readonly runs: number
  readonly attempts: number
  readonly records: number
  readonly effects: number
  readonly doubled: number
  readonly lost: number
  readonly held: number
  /** Records that were set aside, and how many of them are so still. */
  readonly setAside: number
  readonly leftAside: number
  readonly inDoubt: number
  /** One a run that a killed worker held, in milliseconds, shortest first. */
  readonly runningAgainMs: readonly number[]
  readonly findings: readonly Finding[]
  /** What went wrong besides. */
  readonly faults: readonly string[]
}

/** Timing of the fleet: what a take-over takes at most, with these settings. */
const OUTLIVE_MS: Readonly<Record<Settings, number>> = { fast: 4_000, default: 32_000 }
const WATCH_MS: Readonly<Record<Settings, number>> = { fast: 4_000, default: 20_000 }
const REPORT_MS = 10_000
/** After so many it is no use to go on. */
const MAX_FAULTS = 20

export async function raiseStorm(options: StormOptions): Promise<StormFigures> {
  const { stage, chance } = options
  const fleet = new Fleet({
    sql: stage.sql,
    environment: stage.environment,
    size: options.workers,
    chance: chance.fork(),
    outliveMs: OUTLIVE_MS[stage.settings],
    watchMs: WATCH_MS[stage.settings],
  })
  const storm = new Storm(options, fleet)
  fleet.start()
  const reports = storm.reportProgress()
  try {
    await Promise.race([storm.runLanes(), fleet.failed])
  } finally {
    storm.isOver = true
    await reports
    await fleet.stop()
  }
  return await storm.sum()
}

class Storm {
  isOver = false
  readonly #options: StormOptions
  readonly #fleet: Fleet
  readonly #audits: Audit[] = []
  readonly #faults: string[] = []
  #made = 0
  #setAside = 0

  constructor(options: StormOptions, fleet: Fleet) {
    this.#options = options
    this.#fleet = fleet
  }

  async runLanes(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.lanes }, () => this.#runLane()))
  }

  async #runLane(): Promise<void> {
    while (!this.#isEnough() && this.#faults.length < MAX_FAULTS) {
      try {
        await this.#runOneSync()
      } catch (error) {
        this.#faults.push(error instanceof Error ? error.message : String(error))
      }
    }
  }

  async #runOneSync(): Promise<void> {
    const { stage, chance, maxRows } = this.#options
    const name = `s${this.#made}`
    this.#made += 1
    const plan = drawSync(chance, {
      ...{ name, workspaces: stage.workspaces, maxRows },
      hasRefusals: true,
    })
    const sync = await stage.makeSync(plan)
    await stage.runToEnd(sync)
    let told = await this.#audit(sync)
    if (told.findings.length === 0 && plan.onRejected === 'QUARANTINE') {
      await stage.setAside(sync)
      told = await this.#audit(sync)
      this.#setAside += told.setAside
    }
    if (told.findings.length === 0) {
      await stage.turnPage(sync)
      // Of what is brought back and in doubt then, the auditor could not tell which rows it is.
      if (plan.deliveryClass !== 'NONE') {
        await stage.redrive(sync)
      }
      await stage.runToEnd(sync)
      told = await this.#audit(sync)
    }
    this.#audits.push(told)
  }

  async #audit(sync: LiveSync): Promise<Audit> {
    const evidence = await this.#options.stage.gather(sync)
    const told = audit(evidence)
    if (told.findings.length > 0) {
      await this.#options.keep(sync, evidence)
    }
    return told
  }

  #isEnough(): boolean {
    const isEnough =
      this.#fleet.kills.length >= this.#options.kills && this.#fleet.missing().length === 0
    if (isEnough) {
      this.#fleet.spare()
    }
    return isEnough
  }

  async reportProgress(): Promise<void> {
    let dueMs = performance.now() + REPORT_MS
    while (!this.isOver) {
      await wait(100)
      if (performance.now() >= dueMs) {
        dueMs += REPORT_MS
        const { kills, broken } = this.#fleet
        const records = this.#audits.reduce((sum, one) => sum + one.records, 0)
        const findings = this.#audits.reduce((sum, one) => sum + one.findings.length, 0)
        this.#options.report(
          `kills ${kills.length} of ${this.#options.kills}, syncs begun ${this.#made}, audited ${this.#audits.length} with ${records} records, findings ${findings}, faults ${this.#faults.length + broken.length}`,
        )
      }
    }
  }

  async sum(): Promise<StormFigures> {
    const { stage } = this.#options
    const { kills, broken } = this.#fleet
    const [counted] = await stage.sql<{ runs: number; attempts: number }[]>`
      select (select count(*)::int from run) as runs, (select count(*)::int from attempt) as attempts`
    const applied = new Set(
      stage.destinations.flatMap((destination) => destination.applied.map(({ key }) => key)),
    )
    const ofAll = auditLedger(await readWholeLedger(stage.sql), applied)
    const add = (of: (audit: Audit) => number) =>
      this.#audits.reduce((sum, audit) => sum + of(audit), 0)
    return {
      killsByPlace: countKills(kills),
      missingPlaces: this.#fleet.missing(),
      syncs: this.#audits.length,
      runs: counted?.runs ?? 0,
      attempts: counted?.attempts ?? 0,
      records: add((audit) => audit.records),
      effects: add((audit) => audit.effects),
      doubled: add((audit) => audit.doubled),
      lost: add((audit) => audit.lost),
      held: add((audit) => audit.held),
      setAside: this.#setAside,
      leftAside: add((audit) => audit.setAside),
      inDoubt: add((audit) => audit.inDoubt),
      runningAgainMs: await measureRunningAgain(stage, kills),
      findings: [...this.#audits.flatMap((audit) => audit.findings), ...ofAll],
      faults: [
        ...this.#faults,
        ...broken.map((output) => `A worker ended by itself: ${output.slice(-1_000)}`),
      ],
    }
  }
}

function countKills(kills: readonly Kill[]): ReadonlyMap<KillPlace, number> {
  return new Map(
    KILL_PLACES.map((place) => [place, kills.filter((kill) => kill.place === place).length]),
  )
}

/** From each kill to the next attempt of each run that the killed worker held. */
async function measureRunningAgain(stage: Stage, kills: readonly Kill[]): Promise<number[]> {
  const taken: number[] = []
  for (const kill of kills) {
    const rows = await stage.sql<{ startedMs: number }[]>`
      select extract(epoch from next.started_at)::float8 * 1000 as "startedMs"
      from (select id from worker
            where pid = ${kill.pid} and started_at <= to_timestamp(${kill.atMs / 1000}::float8)
            order by started_at desc limit 1) as killed
      join attempt as cut on cut.worker_id = killed.id
        and cut.outcome = 'recovered'
      join attempt as next on next.run_id = cut.run_id and next.number = cut.number + 1`
    taken.push(...rows.map(({ startedMs }) => startedMs - kill.atMs))
  }
  return taken.sort((a, b) => a - b)
}
