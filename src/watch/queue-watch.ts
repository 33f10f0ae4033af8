/**
 * Notices runs that are due and that no worker takes, long before their workspace has been silent for a day.
 *
 * It belongs to the same incident as the silence that would follow (domain/alert's `silenceIncident`): one
 * alert, which says that the queue is stuck, and closes with the next success. Invariants: a run counts only
 * if it was overdue already when this process looked before, so that a process which has just started, or was
 * asleep, gives the workers their minute; a queue that moves, however slowly, raises nothing: or alerts would
 * open and close with every run.
 */
import { announceAlerts } from '../coordination/announce.ts'
import type { Bus } from '../coordination/bus.ts'
import { type AlertChannel, type NewAlert, silenceIncident } from '../domain/alert.ts'
import { describeStuckQueue, type Silence } from '../domain/dead-man.ts'
import { type Instant, instantAt } from '../runtime/clock.ts'
import type { IdSource } from '../runtime/random.ts'
import { DueRounds, type RoundsOptions } from '../runtime/service.ts'
import { raiseAlert } from '../store/alerts.ts'
import type { Database } from '../store/database.ts'
import { listStuckQueues, readMoment, type StuckQueue } from '../store/silences.ts'

export interface QueueWatchOptions extends RoundsOptions {
  readonly database: Database
  readonly bus: Bus
  readonly ids: IdSource
  readonly channels: readonly AlertChannel[]
  /** How long a run may be due. */
  readonly stuckAfterMs: number
}

/** Workspaces that one statement asks for. */
const WORKSPACES_PER_LOOK = 200

const SILENCE: Silence = 'queue_stuck'

export class QueueWatch extends DueRounds<QueueWatchOptions> {
  /** When it looked last; null: never. */
  #lookedAtMs: number | null = null

  constructor(options: QueueWatchOptions) {
    super('queue-watch', options)
  }

  protected async round(signal: AbortSignal, now: Instant | null): Promise<void> {
    const { database, stuckAfterMs } = this.options
    const nowMs = await readMoment(database, now)
    const lookedAtMs = Math.min(this.#lookedAtMs ?? nowMs, nowMs)
    const isFirst = this.#lookedAtMs === null
    this.#lookedAtMs = nowMs
    if (isFirst) {
      return
    }
    let after: string | null = null
    do {
      const page: readonly StuckQueue[] = await listStuckQueues(database, {
        after,
        limit: WORKSPACES_PER_LOOK,
        overdueMs: lookedAtMs - stuckAfterMs,
      })
      for (const queue of page) {
        await this.#tryRaise(queue)
      }
      after = page.length === WORKSPACES_PER_LOOK ? (page.at(-1)?.workspaceId ?? null) : null
    } while (after !== null && !signal.aborted)
  }

  /** One workspace's trouble does not keep the others from being noticed. */
  async #tryRaise(queue: StuckQueue): Promise<void> {
    const { database, bus, channels, logger } = this.options
    const { workspaceId, waitingRuns } = queue
    try {
      if (await raiseAlert(database, this.#toAlert(queue), channels)) {
        logger.warn('workspace.silent', { workspaceId, silence: SILENCE, waitingRuns })
        await announceAlerts(bus)
      }
    } catch (error) {
      logger.error('queue_watch.not_raised', { workspaceId }, error)
    }
  }

  #toAlert({ workspaceId, waitingRuns, oldestRunId, oldestDueMs }: StuckQueue): NewAlert {
    const { stuckAfterMs, ids } = this.options
    const oldestDue = instantAt(oldestDueMs).toISOString()
    return {
      id: ids.next(),
      workspaceId,
      audience: 'tajo',
      severity: 'critical',
      kind: 'workspace_silent',
      incident: silenceIncident(workspaceId),
      syncId: null,
      runId: oldestRunId,
      ...describeStuckQueue({ workspaceId, waitingRuns, oldestDue, stuckAfterMs }),
      facts: { silence: SILENCE, stuckAfterMs, waitingRuns, oldestDueAt: oldestDue },
    }
  }
}
