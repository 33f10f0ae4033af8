/** The channels that are configured. The log always is one. */
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Channel } from './channel.ts'
import { createEmailChannel, type EmailSettings } from './email.ts'
import { createLogChannel } from './log.ts'
import { openSentryChannel } from './sentry.ts'
import { createWebhookChannel, type WebhookSettings } from './webhook.ts'

/** Null: not configured. */
export interface ChannelSettings {
  readonly webhook: WebhookSettings | null
  readonly email: EmailSettings | null
  readonly sentryDsn: string | null
}

/** Throws `SentryMissingError` where Sentry is configured and its package is not installed. */
export async function openChannels(
  settings: ChannelSettings,
  parts: {
    readonly clock: Clock
    readonly logger: Logger
    /** Where alerts are written, whatever else is. */
    readonly alertLog: Logger
  },
): Promise<readonly Channel[]> {
  const { webhook, email, sentryDsn } = settings
  const { clock, logger, alertLog } = parts
  return [
    createLogChannel(alertLog),
    ...(webhook ? [createWebhookChannel(webhook, clock)] : []),
    ...(email ? [createEmailChannel(email, logger)] : []),
    ...(sentryDsn === null ? [] : [await openSentryChannel(sentryDsn)]),
  ]
}
