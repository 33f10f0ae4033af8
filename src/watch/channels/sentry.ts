/**
 * Alerts as events at Sentry.
 *
 * Of Sentry's packages only the core is used, and it is loaded only where it is configured: it is an optional
 * dependency. The SDK of Node has four times its size, hooks into everything, and its `captureEvent` and
 * `flush` do not say whether an event has arrived. Invariants: an event counts as sent when Sentry has answered
 * so; every try of a notice is the same event, and all of an incident are one issue.
 */
import type { Event, SeverityLevel } from '@sentry/core'
import type { AlertNotice } from '../../domain/alert-notice.ts'
import { parseInstant } from '../../runtime/clock.ts'
import type { Channel } from './channel.ts'
import { post } from './post.ts'

const PACKAGE = '@sentry/core@11.12.0'

/** The package is not there. The message is for whoever starts the process. */
export class SentryMissingError extends Error {
  override readonly name = 'SentryMissingError'

  constructor(options: ErrorOptions) {
    super(
      `SENTRY_DSN is set, and the optional package for it is not installed: run npm install --no-save ${PACKAGE}, or unset SENTRY_DSN.`,
      options,
    )
  }
}

type SentryCore = typeof import('@sentry/core')

/** Throws {@link SentryMissingError}. */
export async function openSentryChannel(
  dsn: string,
  load: () => Promise<SentryCore> = () => import('@sentry/core'),
): Promise<Channel> {
  const core = await load().catch((cause: unknown) => {
    throw new SentryMissingError({ cause })
  })
  const target = core.dsnFromString(dsn)
  if (!target) {
    throw new TypeError('SENTRY_DSN: it is not a DSN of Sentry.')
  }
  const url = core.getEnvelopeEndpointWithUrlEncodedAuth(target)
  return {
    name: 'sentry',
    send: (notice, signal) => {
      const envelope = core.createEventEnvelope(toEvent(notice), target)
      const body = toBytes(core.serializeEnvelope(envelope))
      return post(url, {
        headers: { 'content-type': 'application/x-sentry-envelope' },
        body,
        signal,
      })
    },
  }
}

/** Sentry takes a second event of the same id for the first one. */
function toEvent({ id, event, isRepetition, alert }: AlertNotice): Event {
  const at = parseInstant((event === 'closed' ? alert.closedAt : null) ?? alert.openedAt)
  return {
    event_id: id.replaceAll('-', ''),
    ...(at && { timestamp: at.getTime() / 1_000 }),
    platform: 'node',
    logger: `alert.${event}`,
    level: levelOf(event, alert.severity),
    message: event === 'closed' ? `Closed: ${alert.title}` : alert.title,
    fingerprint: [alert.incident],
    tags: {
      workspace: alert.workspaceId,
      sync: alert.syncId,
      kind: alert.kind,
      audience: alert.audience,
      event,
    },
    extra: {
      message: alert.message,
      facts: alert.facts,
      alertId: alert.id,
      runId: alert.runId,
      closing: alert.closing,
      isRepetition,
    },
  }
}

function levelOf(
  event: AlertNotice['event'],
  severity: AlertNotice['alert']['severity'],
): SeverityLevel {
  if (event === 'closed') {
    return 'info'
  }
  return severity === 'critical' ? 'fatal' : 'warning'
}

function toBytes(serialized: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(
    typeof serialized === 'string' ? new TextEncoder().encode(serialized) : serialized,
  )
}
