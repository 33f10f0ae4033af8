/** Alerts in the log: one structured line each, and no configuration. */
import type { AlertNotice } from '../../domain/alert-notice.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Channel } from './channel.ts'

export function createLogChannel(logger: Logger): Channel {
  return {
    name: 'log',
    send: (notice) => {
      const event = `alert.${notice.event}`
      const bindings = describe(notice)
      if (notice.event === 'closed') {
        logger.info(event, bindings)
      } else if (notice.alert.severity === 'critical') {
        logger.error(event, bindings)
      } else {
        logger.warn(event, bindings)
      }
      return Promise.resolve({ kind: 'sent' })
    },
  }
}

function describe({ id, isRepetition, alert }: AlertNotice) {
  return {
    noticeId: id,
    isRepetition,
    alertId: alert.id,
    severity: alert.severity,
    audience: alert.audience,
    kind: alert.kind,
    workspaceId: alert.workspaceId,
    syncId: alert.syncId,
    runId: alert.runId,
    title: alert.title,
    message: alert.message,
    facts: JSON.stringify(alert.facts),
    openedAt: alert.openedAt,
    closedAt: alert.closedAt,
    closing: alert.closing,
  }
}
