/**
 * Reads a page of the source, and tries again where that may help.
 *
 * A read changes nothing at the other system, so it may be repeated as often as there is hope. Invariant: waiting ends
 * with the attempt's signal; how often and how long is the domain's decision, the same as for a call.
 */
import { ConnectorError } from '../connectors/connector.ts'
import type { ReadRequest, ReadResult, SourceReader } from '../connectors/source.ts'
import { decideCallWait } from '../domain/retry.ts'
import type { Clock } from '../runtime/clock.ts'
import { drawChance, type Random } from '../runtime/random.ts'
import { atStep, unlessStopped } from './attempt-stop.ts'

export interface ReadContext {
  readonly reader: SourceReader
  readonly clock: Clock
  readonly random: Random
  readonly signal: AbortSignal
}

/** Throws an attempt's stop. */
export async function readPage(
  { reader, clock, random, signal }: ReadContext,
  request: Omit<ReadRequest, 'signal'>,
): Promise<ReadResult> {
  const read = () => unlessStopped(signal, () => reader.readPage({ ...request, signal }))
  return await atStep('reading', async () => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await read()
      } catch (error) {
        const waitMs = mayPass(error)
          ? decideCallWait(tries, error.retryAfterMs, drawChance(random))
          : null
        if (waitMs === null) {
          throw error
        }
        await clock.sleep(waitMs, signal)
      }
    }
  })
}

function mayPass(error: unknown): error is ConnectorError {
  return (
    error instanceof ConnectorError &&
    (error.code === 'provider_unavailable' || error.code === 'provider_rate_limited')
  )
}
