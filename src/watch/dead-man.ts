/**
 * The dead-man check: each hour at minute 13, once across all processes, every workspace is asked whether
 * anything of it has succeeded. Why it exists is told in domain/dead-man.
 *
 * It runs in every process, also in one that only serves the API: where no worker ever starts, nobody else
 * could notice. Each looks every minute or so, by the database's clock, whether the check of the present slot
 * is still to be made; so one that nobody was there for is made at the next start. Invariants: a slot is
 * checked by whoever moves it on in the database, and one whose process died in it by the next that looks
 * (I19); an incident raises one alert, because the database keeps one open at a time; a workspace that gives
 * trouble does not keep the others from being asked.
 */
import { announceAlerts } from '../coordination/announce.ts'
import type { Bus } from '../coordination/bus.ts'
import { type AlertChannel, type NewAlert, silenceIncident } from '../domain/alert.ts'
import {
  decideCheck,
  decideSilence,
  describeSilence,
  SILENCE_CLOSINGS,
  type Silence,
} from '../domain/dead-man.ts'
import { unreachable } from '../runtime/assert.ts'
import { type Instant, instantAt } from '../runtime/clock.ts'
import type { IdSource } from '../runtime/random.ts'
import { DueRounds, type RoundsOptions } from '../runtime/service.ts'
import { closeIncident, raiseAlert } from '../store/alerts.ts'
import type { Database } from '../store/database.ts'
import { type AskedWorkspace, listWorkspaceFacts } from '../store/silences.ts'
import { findCheck, finishCheck, takeCheck } from '../store/watch-checks.ts'

export interface DeadManOptions extends RoundsOptions {
  readonly database: Database
  readonly bus: Bus
  readonly ids: IdSource
  readonly channels: readonly AlertChannel[]
  /** How long nothing must have succeeded. */
  readonly windowMs: number
  /** The minute of every hour, in UTC. */
  readonly minute: number
}

/** The name of the check in the database. */
export const DEAD_MAN_CHECK = 'dead_man'

/** Workspaces that one statement asks for. */
const WORKSPACES_PER_LOOK = 200

/** Counts of workspaces. */
type Figures = {
  /** Those that have an active sync, and had it for long enough to be asked. */
  asked: number
  silent: number
  raised: number
  closed: number
  /** Those that gave trouble: they are asked again with the next check. */
  failed: number
}

export class DeadMan extends DueRounds<DeadManOptions> {
  constructor(options: DeadManOptions) {
    super('dead-man', options)
  }

  protected async round(signal: AbortSignal, now: Instant | null): Promise<void> {
    const { database, minute, logger } = this.options
    const seen = await findCheck(database, DEAD_MAN_CHECK, now)
    const decision = decideCheck({ ...seen, minute })
    if (decision.kind === 'rest') {
      return
    }
    const { slotMs } = decision
    const taken = await takeCheck(database, DEAD_MAN_CHECK, { slotMs, seen })
    if (!taken) {
      return // another process was faster
    }
    const figures = await this.#askAll(signal, seen.nowMs)
    if (!figures) {
      return // this process stops: the check is taken up by the next that looks in a few minutes
    }
    await finishCheck(database, DEAD_MAN_CHECK, { taken, figures, now })
    logger.info('dead_man.checked', { slotAt: instantAt(slotMs).toISOString(), ...figures })
  }

  /** Null: it was stopped on the way. */
  async #askAll(signal: AbortSignal, nowMs: number): Promise<Figures | null> {
    const figures: Figures = { asked: 0, silent: 0, raised: 0, closed: 0, failed: 0 }
    let after: string | null = null
    do {
      const page: readonly AskedWorkspace[] = await listWorkspaceFacts(this.options.database, {
        after,
        limit: WORKSPACES_PER_LOOK,
      })
      for (const workspace of page) {
        if (signal.aborted) {
          return null
        }
        await this.#tryAsk(workspace, nowMs, figures)
      }
      after = page.length === WORKSPACES_PER_LOOK ? (page.at(-1)?.workspaceId ?? null) : null
    } while (after !== null)
    return figures
  }

  async #tryAsk(workspace: AskedWorkspace, nowMs: number, figures: Figures): Promise<void> {
    try {
      await this.#ask(workspace, nowMs, figures)
    } catch (error) {
      figures.failed += 1
      const { workspaceId } = workspace
      this.options.logger.error('dead_man.not_asked', { workspaceId }, error)
    }
  }

  async #ask(workspace: AskedWorkspace, nowMs: number, figures: Figures): Promise<void> {
    const { database, bus, windowMs, channels, logger } = this.options
    const { workspaceId } = workspace
    const decision = decideSilence(workspace, { nowMs, windowMs })
    switch (decision.kind) {
      case 'not_asked':
        return
      case 'alive':
        figures.asked += 1
        return
      case 'silent': {
        const { silence } = decision
        figures.asked += 1
        figures.silent += 1
        if (await raiseAlert(database, this.#toAlert(workspace, silence), channels)) {
          figures.raised += 1
          logger.warn('workspace.silent', { workspaceId, silence })
          await announceAlerts(bus)
        }
        return
      }
      case 'over': {
        const { why } = decision
        figures.asked += why === 'succeeded' ? 1 : 0
        const incident = silenceIncident(workspaceId)
        if (await closeIncident(database, incident, SILENCE_CLOSINGS[why])) {
          figures.closed += 1
          logger.info('workspace.silence_over', { workspaceId, why })
          await announceAlerts(bus)
        }
        return
      }
      default:
        unreachable(decision)
    }
  }

  #toAlert(workspace: AskedWorkspace, silence: Exclude<Silence, 'queue_stuck'>): NewAlert {
    const { windowMs, ids } = this.options
    const { workspaceId, activeSyncs, runsInFlight } = workspace
    const activeSince = toText(workspace.activeSinceMs)
    const lastSucceeded = toText(workspace.lastSucceededMs)
    const lastRun = toText(workspace.lastRunMs)
    const runs = { lastSucceeded, lastRun, runsInFlight }
    const told = { workspaceId, windowMs, activeSyncs, activeSince, ...runs }
    return {
      id: ids.next(),
      workspaceId,
      audience: 'tajo',
      severity: 'critical',
      kind: 'workspace_silent',
      incident: silenceIncident(workspaceId),
      syncId: null,
      runId: null,
      ...describeSilence(silence, { ...told, activeSince: activeSince ?? '' }),
      facts: {
        silence,
        windowMs,
        activeSyncs,
        activeSince,
        lastSucceededAt: lastSucceeded,
        lastRunAt: lastRun,
        lastEndedAt: toText(workspace.lastEndedMs),
        runsInFlight,
      },
    }
  }
}

function toText(ms: number | null): string | null {
  return ms === null ? null : instantAt(ms).toISOString()
}
