/**
 * The bus: wake-ups and progress hints between processes.
 *
 * It carries hints, never truth: a message arrives at most once and may be lost. Whoever listens reads
 * the database after subscribing, and again after a gap.
 */
import type { JsonObject } from '../domain/json.ts'

/** Ends a subscription. May be called twice; the last listener of a channel in a process gives the channel up. */
export type Unsubscribe = () => Promise<void>

export interface Bus {
  /** Best effort: resolves also when the message could not be sent (it is logged), and never throws. */
  publish(channel: string, message: JsonObject): Promise<void>
  /**
   * Resolves when messages published from now on are heard. With Redis out of reach it resolves too,
   * within seconds: `onGap` tells when they are heard. What arrives is a JSON object, and otherwise
   * unchecked: the listener validates it. A listener that throws is logged and harms no other.
   */
  subscribe(channel: string, listener: (message: unknown) => void): Promise<Unsubscribe>
  /**
   * Calls back when what is subscribed to is heard again after it was not: messages in between are gone.
   * Returns the way to stop.
   */
  onGap(listener: () => void): () => void
}

/** Wakes the pools: a run may be due. */
export const WAKE_CHANNEL = 'runs.wake'

/** Tells the processes that work: somebody paused a sync or canceled a run. */
export const STOP_CHANNEL = 'runs.stop'

/** Tells senders and watchers of alerts: one was raised, closed or acknowledged. */
export const ALERT_CHANNEL = 'alerts'

/** Progress of one run. */
export function runChannel(runId: string): string {
  return `run.${runId}`
}

/** Progress of the runs of one sync. */
export function syncRunsChannel(syncId: string): string {
  return `sync.${syncId}.runs`
}

/** Progress of all runs of a workspace. */
export function workspaceRunsChannel(workspaceId: string): string {
  return `workspace.${workspaceId}.runs`
}
