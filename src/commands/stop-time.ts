/** By when a running run has stopped that is asked to now. */
import { isJsonObject } from '../domain/json.ts'
import { stopsWithinMs } from '../domain/run.ts'
import { type Instant, instantAt } from '../runtime/clock.ts'
import type { Handle } from '../store/database.ts'
import { findCallInFlight } from '../store/stop-wishes.ts'
import type { CommandContext } from './context.ts'

/** The call that is under way is awaited, so its deadline counts. */
export async function findStopTime(
  tx: Handle,
  context: Pick<CommandContext, 'registry'>,
  runId: string,
): Promise<Instant> {
  const { now, destination } = await findCallInFlight(tx, runId)
  const connector = destination && context.registry.destinations.get(destination.type)
  const deadlineMs =
    connector && isJsonObject(destination.options)
      ? connector.requestDeadlineMs(destination.options)
      : 0
  return instantAt(now.getTime() + stopsWithinMs(deadlineMs))
}
