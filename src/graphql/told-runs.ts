/** What the clients of a stream of runs know of each run, and what of it is still to be told. */
import type { RunProgress } from '../domain/progress.ts'
import { isFinal } from '../domain/run.ts'
import {
  isNews,
  type KnownProgress,
  knownFrom,
  type ToldProgress,
  toldNow,
} from './told-progress.ts'

export class ToldRuns {
  readonly #known = new Map<string, KnownProgress>()
  /** The newest state of each run that is still to be told. */
  readonly #pending = new Map<string, ToldProgress>()

  /** A hint. False: the run is not known, so only the database can say whether it is in flight or long over. */
  hear(progress: RunProgress): boolean {
    const known = this.#known.get(progress.runId)
    if (known) {
      this.#offer(toldNow(progress), known)
    }
    return known !== undefined
  }

  /** What the stream begins with: the runs in flight are news, and those that have just ended are not. */
  begin(runs: readonly ToldProgress[]): void {
    for (const told of runs) {
      if (isFinal(told.progress.status)) {
        this.#known.set(told.progress.runId, knownFrom(told))
      }
    }
    this.look(runs)
  }

  /** The runs in flight and those that have ended since the look before. What is not among them is over and was told. */
  look(runs: readonly ToldProgress[]): void {
    const seen = new Set(runs.map(({ progress }) => progress.runId))
    for (const runId of this.#known.keys()) {
      if (!seen.has(runId) && !this.#pending.has(runId)) {
        this.#known.delete(runId)
      }
    }
    for (const told of runs) {
      this.#offer(told, this.#known.get(told.progress.runId))
    }
  }

  /** In the order in which they became news. */
  pendingIds(): readonly string[] {
    return [...this.#pending.keys()]
  }

  hasPending(): boolean {
    return this.#pending.size > 0
  }

  take(runId: string): ToldProgress | null {
    const told = this.#pending.get(runId) ?? null
    this.#pending.delete(runId)
    return told
  }

  #offer(told: ToldProgress, known: KnownProgress | undefined): void {
    if (known === undefined || isNews(told, known)) {
      this.#known.set(told.progress.runId, knownFrom(told))
      this.#pending.set(told.progress.runId, told)
    }
  }
}
