/** Tells the bus where a run or an alert stands now, after that was committed. Best effort: the database is the truth. */
import { progressToMessage, type RunProgress } from '../domain/progress.ts'
import { ALERT_CHANNEL, type Bus, runChannel, WAKE_CHANNEL } from './bus.ts'

/** Whoever watches the run hears of it; a run that is queued wakes the pools. */
export async function announceRun(bus: Bus, progress: RunProgress): Promise<void> {
  await bus.publish(runChannel(progress.runId), progressToMessage(progress))
  if (progress.status === 'queued') {
    await bus.publish(WAKE_CHANNEL, {})
  }
}

/** The same for many runs, of which the queued ones wake the pools once. */
export async function announceRuns(bus: Bus, runs: readonly RunProgress[]): Promise<void> {
  await Promise.all(
    runs.map((progress) => bus.publish(runChannel(progress.runId), progressToMessage(progress))),
  )
  if (runs.some(({ status }) => status === 'queued')) {
    await bus.publish(WAKE_CHANNEL, {})
  }
}

/** After an alert was raised, acknowledged or closed: its senders look at once, and whoever watches alerts. */
export async function announceAlerts(bus: Bus): Promise<void> {
  await bus.publish(ALERT_CHANNEL, {})
}
