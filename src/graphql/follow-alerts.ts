/**
 * Alerts as a stream: those that are open, then each that opens, is acknowledged or closes.
 *
 * Invariants: no change is lost, and none is told twice. The bus carries hints only: with each one, after a
 * gap and when it was quiet for a while the database is read, and what it says is compared with what the
 * client was told. What was closed or acknowledged is read for longer than since the last look, because a
 * transaction may commit later than its time says. A slow client delays the next look, and gathers no queue.
 */
import { type Push, Repeater, type Stop } from '@repeaterjs/repeater'
import { ALERT_CHANNEL, type Bus } from '../coordination/bus.ts'
import type { Clock } from '../runtime/clock.ts'
import { WakeUp } from '../runtime/wake-up.ts'
import type { MovingAlert } from '../store/history/alerts.ts'

export const ALERT_CHANGES = ['open', 'opened', 'acknowledged', 'closed'] as const
export type AlertChange = (typeof ALERT_CHANGES)[number]

export type AlertStreamEvent =
  | { readonly kind: 'alert'; readonly change: AlertChange; readonly alert: MovingAlert }
  | { readonly kind: 'keepAlive' }

export interface FollowAlertsOptions {
  readonly bus: Bus
  readonly clock: Clock
  /** How long the stream may be idle. */
  readonly keepAliveMs: number
  /** What is open, and what was closed or acknowledged within so many milliseconds. Its error ends the stream. */
  read(withinMs: number): Promise<readonly MovingAlert[]>
  /** Throws when the one who listens may not any more. Asked before each further look. */
  assertAllowed(): Promise<void>
}

/** No transaction lasts so long. */
const MARGIN_MS = 120_000

export function followAlerts(
  options: FollowAlertsOptions,
): AsyncIterableIterator<AlertStreamEvent> {
  return new Repeater<AlertStreamEvent>((push, stop) => follow(options, push, stop))
}

async function follow(
  options: FollowAlertsOptions,
  push: Push<AlertStreamEvent>,
  stop: Stop,
): Promise<void> {
  const { bus, clock, keepAliveMs } = options
  const wakeUp = new WakeUp()
  let hasLeft = false
  void stop.then(() => {
    hasLeft = true
    wakeUp.wake()
  })
  const stopListening = await bus.subscribe(ALERT_CHANNEL, () => wakeUp.wake())
  const forgetGaps = bus.onGap(() => wakeUp.wake())
  try {
    const told = new ToldAlerts()
    let lookedAtMs = clock.monotonicMs()
    while (!hasLeft) {
      const nowMs = clock.monotonicMs()
      const events = told.compare(await options.read(nowMs - lookedAtMs + MARGIN_MS))
      lookedAtMs = nowMs
      for (const event of events) {
        if (!hasLeft) {
          await push(event)
        }
      }
      await wakeUp.wait(clock, keepAliveMs)
      if (!hasLeft) {
        await options.assertAllowed()
      }
    }
  } finally {
    forgetGaps()
    await stopListening()
    stop()
  }
}

/** What the client knows. */
export class ToldAlerts {
  /** As last read; null: nothing was read yet. */
  #known: ReadonlyMap<string, MovingAlert> | null = null

  /**
   * What is news to the client. A keep-alive where nothing is, and at the end of the first look, so that it
   * knows that it has all that are open.
   */
  compare(alerts: readonly MovingAlert[]): readonly AlertStreamEvent[] {
    const known = this.#known
    this.#known = new Map(alerts.map((alert) => [alert.id, alert]))
    const events = alerts.flatMap((alert) => {
      const changes = known ? changesOf(alert, known.get(alert.id)) : beginningOf(alert)
      return changes.map((change) => ({ kind: 'alert' as const, change, alert }))
    })
    return known === null || events.length === 0 ? [...events, { kind: 'keepAlive' }] : events
  }
}

function beginningOf(alert: MovingAlert): readonly AlertChange[] {
  return isOpen(alert) ? ['open'] : []
}

function changesOf(alert: MovingAlert, before: MovingAlert | undefined): readonly AlertChange[] {
  if (before) {
    return [
      ...(!isAcknowledged(before) && isAcknowledged(alert) ? (['acknowledged'] as const) : []),
      ...(isOpen(before) && !isOpen(alert) ? (['closed'] as const) : []),
    ]
  }
  if (isOpen(alert)) {
    return ['opened']
  }
  // It opened and closed between two looks; or it was over for long, and somebody acknowledged it.
  return alert.isRecentlyClosed ? ['closed'] : ['acknowledged']
}

function isOpen({ closedAt }: MovingAlert): boolean {
  return closedAt === null
}

function isAcknowledged({ acknowledgedAt }: MovingAlert): boolean {
  return acknowledgedAt !== null
}
