import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../../src/config.ts'

const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const WEBHOOK = { ALERT_WEBHOOK_URL: 'https://example.com/a', ALERT_WEBHOOK_SECRET: SECRET }
const EMAIL = {
  SMTP_URL: 'smtps://user:password@localhost',
  ALERT_EMAIL_FROM: 'alerts@example.com',
  ALERT_EMAIL_TO: 'a@example.com, b@localhost',
}
const SENTRY = { SENTRY_DSN: 'https://key@o1.ingest.sentry.io/42' }

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    return error instanceof ConfigError ? error.problems : [String(error)]
  }
}

describe('the channels of alerts', () => {
  it('are those that are configured, and always the log', () => {
    expect(readConfig({}).alertChannels).toEqual(['log'])
    expect(readConfig(EMAIL).alertChannels).toEqual(['log', 'email'])
    const { alertChannels, alerts } = readConfig({ ...WEBHOOK, ...EMAIL, ...SENTRY })
    expect(alertChannels).toEqual(['log', 'webhook', 'email', 'sentry'])
    expect(alerts).toEqual({
      pollMs: 5_000,
      webhook: { url: 'https://example.com/a', secret: SECRET },
      email: {
        smtpUrl: EMAIL.SMTP_URL,
        needsTls: false,
        from: 'alerts@example.com',
        to: ['a@example.com', 'b@localhost'],
      },
      sentryDsn: SENTRY.SENTRY_DSN,
    })
  })

  it.each<[Record<string, string>, boolean]>([
    [{ SMTP_URL: 'smtp://me:pw@mail.example.com' }, true],
    [{ SMTP_URL: 'smtp://me:pw@mail.example.com?tls.servername=example.com' }, true],
    [{ SMTP_URL: 'smtp://:pw@mail.example.com' }, true],
    [{ SMTP_URL: 'smtp://me:pw@localhost.example.com' }, true],
    [{ SMTP_URL: 'smtp://me:pw@mail.example.com', SMTP_ALLOW_CLEARTEXT: 'true' }, false],
    [{ SMTP_URL: 'smtp://me:pw@localhost:25' }, false],
    [{ SMTP_URL: 'smtp://me:pw@127.0.0.1' }, false],
    [{ SMTP_URL: 'smtp://me:pw@[::1]' }, false],
    [{ SMTP_URL: 'smtp://mail.example.com' }, false],
  ])(
    'with mails, and a login only over TLS unless something else is said: %o',
    (given, needsTls) => {
      expect(readConfig({ ...EMAIL, ...given }).alerts.email).toMatchObject({ needsTls })
    },
  )

  it.each<[Record<string, string>, RegExp]>([
    [{ ALERT_WEBHOOK_URL: 'https://example.com/' }, /^ALERT_WEBHOOK_URL and ALERT_WEBHOOK_SECRET/],
    [{ ALERT_WEBHOOK_SECRET: SECRET }, /^ALERT_WEBHOOK_URL and ALERT_WEBHOOK_SECRET go together/],
    [
      { ALERT_WEBHOOK_URL: 'ftp://example.com/', ALERT_WEBHOOK_SECRET: SECRET },
      /^ALERT_WEBHOOK_URL: must be an http/,
    ],
    [
      { ALERT_WEBHOOK_URL: 'https://me:too@example.com/', ALERT_WEBHOOK_SECRET: SECRET },
      /^ALERT_WEBHOOK_URL: must not contain a user or a password/,
    ],
    [
      { ALERT_WEBHOOK_URL: 'https://:pw@example.com/', ALERT_WEBHOOK_SECRET: SECRET },
      /^ALERT_WEBHOOK_URL: must not contain a user or a password/,
    ],
    [{ ...EMAIL, SMTP_URL: 'smtp://' }, /^SMTP_URL: must name a host/],
    [{ ...EMAIL, SMTP_URL: 'smtps:mail.example.com' }, /^SMTP_URL: must name a host/],
    [
      { ...EMAIL, SMTP_URL: 'smtp://me:pw@example.com?requireTLS=false' },
      /^SMTP_URL: may set nothing after a \? but tls\.… options/,
    ],
    [{ ...EMAIL, SMTP_ALLOW_CLEARTEXT: 'yes' }, /^SMTP_ALLOW_CLEARTEXT: /],
    [
      { ALERT_WEBHOOK_URL: 'https://example.com/', ALERT_WEBHOOK_SECRET: 'whsec_c2hvcnQ=' },
      /^ALERT_WEBHOOK_SECRET: must be whsec_ and 24 to 64 bytes in base64/,
    ],
    [
      { SMTP_URL: 'smtp://localhost' },
      /^SMTP_URL, ALERT_EMAIL_FROM and ALERT_EMAIL_TO go together/,
    ],
    [{ ALERT_EMAIL_TO: 'a@example.com' }, /^SMTP_URL, ALERT_EMAIL_FROM and ALERT_EMAIL_TO/],
    [{ ALERT_EMAIL_TO: 'a@example.com,,' }, /^ALERT_EMAIL_TO: must be e-mail addresses/],
    [{ SENTRY_DSN: 'https://sentry.io/42' }, /^SENTRY_DSN: must be a DSN of Sentry/],
    [{ ALERT_POLL_MS: '0' }, /^ALERT_POLL_MS: /],
  ])('are refused with one sentence that names what is wrong: %o', (given, problem) => {
    const problems = problemsOf(given)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(problem)
  })
})
