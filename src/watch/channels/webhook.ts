/**
 * Alerts as webhooks, signed as the Standard Webhooks specification says (docs/alerts.md).
 *
 * Invariant: what is signed is the body as it is sent, its id and the time of this try. The id is that of the
 * notice, so that a receiver knows a repetition.
 */
import { Webhook } from 'standardwebhooks'
import type { AlertNotice } from '../../domain/alert-notice.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Channel } from './channel.ts'
import { post } from './post.ts'

export interface WebhookSettings {
  readonly url: string
  /** `whsec_` and the key in base64. */
  readonly secret: string
}

export function createWebhookChannel({ url, secret }: WebhookSettings, clock: Clock): Channel {
  const signer = new Webhook(secret)
  return {
    name: 'webhook',
    send: (notice, signal) => {
      const body = JSON.stringify(describe(notice))
      const sentAt = clock.now()
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'tajo-sync',
        'webhook-id': notice.id,
        'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
        'webhook-signature': signer.sign(notice.id, sentAt, body),
      }
      return post(url, { headers, body, signal })
    },
  }
}

/** Ids and names as in the API. */
function describe({ event, isRepetition, alert }: AlertNotice) {
  const { syncId, runId } = alert
  return {
    type: `alert.${event}`,
    timestamp: event === 'closed' ? alert.closedAt : alert.openedAt,
    isRepetition,
    data: {
      id: `alert_${alert.id}`,
      audience: alert.audience.toUpperCase(),
      severity: alert.severity.toUpperCase(),
      kind: alert.kind.toUpperCase(),
      title: alert.title,
      message: alert.message,
      workspace: { id: alert.workspaceId, name: alert.workspaceName },
      sync: syncId && { id: `sync_${syncId}`, name: alert.syncName },
      run: runId && { id: `run_${runId}` },
      facts: alert.facts,
      openedAt: alert.openedAt,
      closedAt: alert.closedAt,
      closing: alert.closing,
    },
  }
}
