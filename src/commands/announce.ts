/** Tells the bus what a command did, after its transaction was committed. Best effort: the database is the truth. */
import { runChannel, WAKE_CHANNEL } from '../coordination/bus.ts'
import { progressToMessage, type RunProgress } from '../domain/progress.ts'
import type { CommandContext } from './context.ts'

export async function announceProgress(
  context: CommandContext,
  progress: RunProgress,
): Promise<void> {
  await context.bus.publish(runChannel(progress.runId), progressToMessage(progress))
  if (progress.status === 'queued') {
    await context.bus.publish(WAKE_CHANNEL, {})
  }
}
