/**
 * Worker processes, and who kills them when.
 *
 * Most are armed to kill themselves at a fault point, the least-hit point first; the others are killed from
 * outside at a random moment after they have taken a run. Whoever ends is replaced.
 *
 * Invariant: every kill is outlived, for as long as a take-over needs, by a worker that was there before
 * it (the guardian). "Running again within 30 s" presupposes that somebody is left; the guardian changes,
 * and is then killed like the others.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type postgres from 'postgres'
import { FAULT_POINTS, type FaultPoint } from '../../src/engine/fault-points.ts'
import { type StartedProcess, startScript } from '../support/processes.ts'
import { findBuilt } from '../support/programs.ts'
import type { Chance } from './seeded.ts'

export type KillPlace = FaultPoint | 'random'
export const KILL_PLACES: readonly KillPlace[] = [...FAULT_POINTS, 'random']

export interface Kill {
  readonly place: KillPlace
  readonly pid: number
  /** Milliseconds since 1970. */
  readonly atMs: number
}

export interface FleetOptions {
  readonly sql: postgres.Sql
  readonly environment: Readonly<Record<string, string>>
  readonly size: number
  readonly chance: Chance
  /** How long a guardian lives on after it has been relieved. */
  readonly outliveMs: number
  /** How often the guardian changes. */
  readonly watchMs: number
  /** Where workers are to die; who is armed with another point would never do so. Default: all. */
  readonly points?: readonly FaultPoint[]
}

interface Member {
  readonly process: StartedProcess
  readonly armed: FaultPoint | null
  kill: Kill | null
}

/** Share of the workers that are armed with a fault point. */
const ARMED_SHARE = 0.7
/** These are passed once a run; the others at every page or call. */
const RARE_POINTS: ReadonlySet<FaultPoint> = new Set(['afterClaim', 'afterLease', 'beforeFinish'])
const LOOK_MS = 100
/** Workers that may end by themselves before it is no use to start more. */
const MAX_BROKEN = 5

export class Fleet {
  readonly kills: Kill[] = []
  /** Workers that ended without having been killed, with what they printed. */
  readonly broken: string[] = []
  readonly #options: FleetOptions
  readonly #points: readonly FaultPoint[]
  readonly #members = new Set<Member>()
  readonly #guardians = new Set<Member>()
  readonly #armedWith = new Map<FaultPoint, number>()
  readonly #work: Promise<void>[] = []
  /** Rejects when workers do not live. */
  readonly failed: Promise<never>
  #fail: (error: Error) => void = () => undefined
  #isKilling = true
  #isStopping = false

  constructor(options: FleetOptions) {
    this.#options = options
    this.#points = options.points ?? FAULT_POINTS
    this.failed = new Promise((_, reject) => {
      this.#fail = reject
    })
    this.failed.catch(() => undefined)
  }

  start(): void {
    for (let n = 0; n < this.#options.size; n += 1) {
      this.#spawn()
    }
    this.#work.push(this.#relieveGuardians())
  }

  /** From now on nobody is killed from outside or armed any more; who is armed already may still die. */
  spare(): void {
    this.#isKilling = false
  }

  /** Points at which nobody has died yet. */
  missing(): readonly KillPlace[] {
    const places: readonly KillPlace[] = [...this.#points, 'random']
    return places.filter((place) => this.kills.every((kill) => kill.place !== place))
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all([...this.#members].map((member) => member.process.kill('SIGKILL')))
    await Promise.all(this.#work)
  }

  #spawn(): void {
    const { environment } = this.#options
    const armed = this.#chooseArming()
    const process = startScript(
      findBuilt('test/chaos/entry.ts'),
      armed ? { ...environment, CHAOS_KILL: armed.text } : environment,
    )
    const member: Member = { process, armed: armed?.point ?? null, kill: null }
    this.#members.add(member)
    if (!armed && this.#guardians.size === 0) {
      this.#guardians.add(member)
    }
    this.#work.push(this.#watch(member))
    if (!armed) {
      this.#work.push(this.#killSometime(member))
    }
  }

  /** Null: this one is killed from outside, or guards. */
  #chooseArming(): { readonly point: FaultPoint; readonly text: string } | null {
    const { chance } = this.#options
    if (!this.#isKilling || this.#guardians.size === 0 || !chance.isTrue(ARMED_SHARE)) {
      return null
    }
    const least = Math.min(...this.#points.map((point) => this.#armedWith.get(point) ?? 0))
    const candidates = this.#points.filter((p) => (this.#armedWith.get(p) ?? 0) === least)
    const point = chance.pick(candidates as [FaultPoint, ...FaultPoint[]])
    this.#armedWith.set(point, least + 1)
    const nth = RARE_POINTS.has(point) ? chance.whole(1, 2) : chance.whole(1, 12)
    return { point, text: `${point}:${nth}` }
  }

  async #watch(member: Member): Promise<void> {
    await member.process.exited
    this.#members.delete(member)
    this.#guardians.delete(member)
    if (this.#isStopping) {
      return
    }
    const told = /^chaos kill (\w+) (\d+)$/m.exec(member.process.output())
    if (told && member.armed) {
      this.kills.push({ place: member.armed, pid: member.process.pid, atMs: Number(told[2]) })
    } else if (member.kill) {
      this.kills.push(member.kill)
    } else {
      this.broken.push(member.process.output())
    }
    if (this.broken.length >= MAX_BROKEN) {
      this.#fail(new Error(`Workers end by themselves: ${member.process.output()}`))
      return
    }
    this.#spawn()
  }

  /** Once it has taken a run and guards no more, at any instruction. */
  async #killSometime(member: Member): Promise<void> {
    const { chance } = this.#options
    while (this.#members.has(member) && !this.#isStopping) {
      await wait(LOOK_MS)
      const isFair = this.#isKilling && this.#guardians.size > 0 && !this.#guardians.has(member)
      if (isFair && (await this.#holdsRun(member))) {
        await wait(chance.whole(0, 1_000))
        if (this.#isKilling && !this.#guardians.has(member) && this.#members.has(member)) {
          member.kill = { place: 'random', pid: member.process.pid, atMs: Date.now() }
          await member.process.kill('SIGKILL')
        }
      }
    }
  }

  async #holdsRun(member: Member): Promise<boolean> {
    const rows = await this.#options.sql`
      select from run join worker on worker.id = run.worker_id
      where run.status = 'running' and worker.pid = ${member.process.pid} limit 1`
    return rows.length > 0
  }

  async #relieveGuardians(): Promise<void> {
    const { watchMs, outliveMs } = this.#options
    let dueMs = performance.now() + watchMs
    while (!this.#isStopping) {
      await wait(LOOK_MS)
      const next = [...this.#members].find((m) => !m.armed && !m.kill && !this.#guardians.has(m))
      if (performance.now() < dueMs || !next) {
        continue
      }
      const before = [...this.#guardians]
      this.#guardians.add(next)
      const relievedMs = performance.now() + outliveMs
      while (performance.now() < relievedMs && !this.#isStopping) {
        await wait(LOOK_MS)
      }
      for (const guardian of before) {
        this.#guardians.delete(guardian)
      }
      dueMs = performance.now() + watchMs
    }
  }
}

/** One worker without any kill but what is armed. */
export async function startWorker(
  environment: Readonly<Record<string, string>>,
  faults: Readonly<Record<string, string>> = {},
): Promise<StartedProcess> {
  const started = startScript(findBuilt('test/chaos/entry.ts'), { ...environment, ...faults })
  await started.find(/(serves) http/)
  return started
}
