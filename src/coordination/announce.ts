/** Tells the bus where a run or an alert stands now, after that was committed. Best effort: the database is the truth. */
import { progressToMessage, type RunProgress } from '../domain/progress.ts'
import {
  ALERT_CHANNEL,
  type Bus,
  runChannel,
  syncRunsChannel,
  WAKE_CHANNEL,
  workspaceRunsChannel,
} from './bus.ts'

/** Whoever watches the run, its sync or its workspace hears of it. */
export async function announceProgress(bus: Bus, progress: RunProgress): Promise<void> {
  const { runId, syncId, workspaceId } = progress
  const channels = [runChannel(runId), syncRunsChannel(syncId), workspaceRunsChannel(workspaceId)]
  const message = progressToMessage(progress)
  await Promise.all(channels.map((channel) => bus.publish(channel, message)))
}

/** The same; a run that is queued wakes the pools. */
export async function announceRun(bus: Bus, progress: RunProgress): Promise<void> {
  await announceRuns(bus, [progress])
}

/** The same for many runs, of which the queued ones wake the pools once. */
export async function announceRuns(bus: Bus, runs: readonly RunProgress[]): Promise<void> {
  const isAnyQueued = runs.some(({ status }) => status === 'queued')
  await Promise.all([
    ...runs.map((progress) => announceProgress(bus, progress)),
    isAnyQueued ? bus.publish(WAKE_CHANNEL, {}) : null,
  ])
}

/** After an alert was raised, acknowledged or closed: its senders look at once, and whoever watches alerts. */
export async function announceAlerts(bus: Bus): Promise<void> {
  await bus.publish(ALERT_CHANNEL, {})
}
