/** Tells the bus what a command did, after its transaction was committed. */
import { announceRun } from '../coordination/announce.ts'
import { STOP_CHANNEL } from '../coordination/bus.ts'
import type { RunProgress } from '../domain/progress.ts'
import type { CommandContext } from './context.ts'

export async function announceProgress(
  context: CommandContext,
  progress: RunProgress,
): Promise<void> {
  await announceRun(context.bus, progress)
}

/** The processes that work look what is wanted of their runs. */
export async function announceStop(context: CommandContext): Promise<void> {
  await context.bus.publish(STOP_CHANNEL, {})
}
