/** The health endpoint: the one thing that is served without a token. */
import type { ServerResponse } from 'node:http'
import type { Logger } from '../runtime/logger.ts'
import { respondJson } from './respond.ts'

export interface HealthCheck {
  readonly isHealthy: boolean
  /** What was found, in a few words without secrets; null: nothing to add. */
  readonly detail: string | null
}

/** One entry for each part that was asked. The process is healthy when all of them are. */
export type HealthReport = Readonly<Record<string, HealthCheck>>

/** Answers 200 when every part is healthy, else 503; the body names each part. */
export async function respondHealth(
  response: ServerResponse,
  ask: () => Promise<HealthReport>,
  logger: Logger,
): Promise<void> {
  let checks: HealthReport
  try {
    checks = await ask()
  } catch (error) {
    logger.error('health.failed', {}, error)
    checks = {
      process: { isHealthy: false, detail: 'The health of the parts could not be asked.' },
    }
  }
  const isHealthy = Object.values(checks).every((check) => check.isHealthy)
  const status = isHealthy ? 'healthy' : 'unhealthy'
  respondJson(response, isHealthy ? 200 : 503, { status, checks })
}
