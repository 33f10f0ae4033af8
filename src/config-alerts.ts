/**
 * The part of the environment that says where alerts are sent. Read by config.ts, and by nothing else.
 *
 * Invariant: a channel is configured as a whole or not at all; half of one ends the start.
 */
import { z } from 'zod'
import type { AlertChannel } from './domain/alert.ts'
import type { ChannelSettings } from './watch/channels/open-channels.ts'

export interface AlertSettings extends ChannelSettings {
  /** How long a lost wake-up of the senders can go unnoticed. */
  readonly pollMs: number
}

const SECRET_PREFIX = 'whsec_'
/** As the Standard Webhooks specification says. */
const SECRET_BYTES = { least: 24, most: 64 }

/** What cannot be read as an address is another rule's. */
const holdsFor = (text: string, rule: (url: URL) => boolean) =>
  !URL.canParse(text) || rule(new URL(text))
const hasLogin = ({ username, password }: URL) => username !== '' || password !== ''
const hasHost = ({ hostname }: URL) => hostname !== ''
/** All else that the address of a mail server may set could undo what is said elsewhere: that TLS is needed. */
const setsTlsOnly = ({ searchParams }: URL) =>
  [...searchParams.keys()].every((name) => name.startsWith('tls.'))
const isOwnMachine = ({ hostname }: URL) => /^(localhost|127(\.\d+){3}|\[::1\])$/i.test(hostname)

const ADDRESS = /^[^\s@<>,;"]+@[^\s@<>,;"]+$/
const readAddresses = (text: string) => text.split(',').map((address) => address.trim())

export const ALERT_ENVIRONMENT = {
  ALERT_WEBHOOK_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
    .refine(
      (text) => holdsFor(text, (url) => !hasLogin(url)),
      'must not contain a user or a password',
    )
    .optional(),
  ALERT_WEBHOOK_SECRET: z
    .string()
    .refine(
      isSecret,
      `must be ${SECRET_PREFIX} and ${SECRET_BYTES.least} to ${SECRET_BYTES.most} bytes in base64 (make one with: echo "${SECRET_PREFIX}$(openssl rand -base64 32)")`,
    )
    .optional(),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: 'must be an smtp:// or smtps:// address' })
    .refine((text) => holdsFor(text, hasHost), 'must name a host, such as smtp://mail.example.com')
    .refine((text) => holdsFor(text, setsTlsOnly), 'may set nothing after a ? but tls.… options')
    .optional(),
  SMTP_ALLOW_CLEARTEXT: z.enum(['true', 'false']).default('false'),
  ALERT_EMAIL_FROM: z
    .string()
    .regex(ADDRESS, 'must be an e-mail address, such as alerts@example.com')
    .optional(),
  ALERT_EMAIL_TO: z
    .string()
    .refine(
      (text) => readAddresses(text).every((address) => ADDRESS.test(address)),
      'must be e-mail addresses with commas between them',
    )
    .optional(),
  SENTRY_DSN: z
    .string()
    .regex(
      /^https?:\/\/[^\s:@/]+@[^\s@]+\/\d+$/,
      'must be a DSN of Sentry, such as https://key@o1.ingest.sentry.io/2',
    )
    .optional(),
  ALERT_POLL_MS: z.coerce
    .number('must be a whole number of milliseconds')
    .int()
    .min(10)
    .max(60_000)
    .default(5_000),
}

const schema = z.object(ALERT_ENVIRONMENT)
type AlertEnvironment = z.infer<typeof schema>

/** Whether each rule holds, and what is wrong where it does not. */
export function alertRules(env: AlertEnvironment): readonly (readonly [boolean, string])[] {
  return [
    [
      (env.ALERT_WEBHOOK_URL === undefined) === (env.ALERT_WEBHOOK_SECRET === undefined),
      'ALERT_WEBHOOK_URL and ALERT_WEBHOOK_SECRET go together: every webhook is signed. Set both, or neither.',
    ],
    [
      new Set(EMAIL_VARIABLES.map((variable) => env[variable] === undefined)).size === 1,
      'SMTP_URL, ALERT_EMAIL_FROM and ALERT_EMAIL_TO go together: set all of them, or none.',
    ],
  ]
}

const EMAIL_VARIABLES = ['SMTP_URL', 'ALERT_EMAIL_FROM', 'ALERT_EMAIL_TO'] as const

export function toAlertSettings(env: AlertEnvironment): AlertSettings {
  const { ALERT_WEBHOOK_URL: url, ALERT_WEBHOOK_SECRET: secret } = env
  const { SMTP_URL: smtpUrl, ALERT_EMAIL_FROM: from, ALERT_EMAIL_TO: to } = env
  return {
    pollMs: env.ALERT_POLL_MS,
    webhook: url !== undefined && secret !== undefined ? { url, secret } : null,
    email:
      smtpUrl !== undefined && from !== undefined && to !== undefined
        ? { smtpUrl, needsTls: needsTls(env, new URL(smtpUrl)), from, to: readAddresses(to) }
        : null,
    sentryDsn: env.SENTRY_DSN ?? null,
  }
}

/** A login is not sent over a network in the clear, unless whoever runs this says so. */
function needsTls({ SMTP_ALLOW_CLEARTEXT: allowed }: AlertEnvironment, url: URL): boolean {
  return hasLogin(url) && !isOwnMachine(url) && allowed === 'false'
}

/** The channels that a notice is written for. */
export function listChannels(settings: AlertSettings): readonly AlertChannel[] {
  return [
    'log',
    ...(settings.webhook ? (['webhook'] as const) : []),
    ...(settings.email ? (['email'] as const) : []),
    ...(settings.sentryDsn === null ? [] : (['sentry'] as const)),
  ]
}

function isSecret(text: string): boolean {
  const encoded = text.slice(SECRET_PREFIX.length)
  const key = Buffer.from(encoded, 'base64')
  return (
    text.startsWith(SECRET_PREFIX) &&
    // What is no base64 would be left out in silence, and the signatures be others than the receiver's.
    key.toString('base64') === encoded &&
    key.length >= SECRET_BYTES.least &&
    key.length <= SECRET_BYTES.most
  )
}
