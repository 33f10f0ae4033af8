/**
 * The health of the process: the one thing that is served without a token.
 *
 *   GET /health         the whole report: 200 when every part is healthy, else 503
 *   GET /health/live    200 as long as the process answers, also while it drains: to start it anew would
 *                       mend nothing
 *   GET /health/ready   200 when it may be sent requests: every part of its own is healthy, and it does not
 *                       drain; what is wrong with the whole deployment would be so in any other process
 */
import type { ServerResponse } from 'node:http'
import type { Logger } from '../runtime/logger.ts'
import { respondJson } from './respond.ts'

export interface HealthCheck {
  readonly isHealthy: boolean
  /** What was found, in a few words without secrets; null: nothing to add. */
  readonly detail: string | null
  /** It is about all processes together, not about this one. */
  readonly isShared?: true
}

/** One entry for each part that was asked. The process is healthy when all of them are. */
export type HealthReport = Readonly<Record<string, HealthCheck>>

export interface HealthParts {
  readonly logger: Logger
  ask(): Promise<HealthReport>
  isDraining(): boolean
}

type Respond = (response: ServerResponse, parts: HealthParts) => Promise<void> | void

const ENDPOINTS: ReadonlyMap<string | undefined, Respond> = new Map<string, Respond>([
  ['/health', (response, parts) => respondReport(response, parts, () => true)],
  ['/health/live', (response) => respondJson(response, 200, { status: 'alive' })],
  [
    '/health/ready',
    (response, parts) =>
      parts.isDraining()
        ? respondJson(response, 503, { status: 'draining' })
        : respondReport(response, parts, ({ isShared }) => !isShared),
  ],
])

/** Answers a request for the health of the process. False: it is for something else. */
export async function respondHealth(
  response: ServerResponse,
  path: string | undefined,
  parts: HealthParts,
): Promise<boolean> {
  const respond = ENDPOINTS.get(path)
  await respond?.(response, parts)
  return respond !== undefined
}

/** The body names each part; the status goes by those that count. */
async function respondReport(
  response: ServerResponse,
  { ask, logger }: HealthParts,
  counts: (check: HealthCheck) => boolean,
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
  const isHealthy = Object.values(checks).every((check) => check.isHealthy || !counts(check))
  const status = isHealthy ? 'healthy' : 'unhealthy'
  respondJson(response, isHealthy ? 200 : 503, { status, checks })
}
