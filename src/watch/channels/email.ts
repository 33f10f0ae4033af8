/**
 * Alerts as mails, in plain text.
 *
 * Invariant: a notice is one message, whatever how often it is tried: its Message-ID is made of the notice's
 * id, so that a mailbox that drops what it has shows it once. Both mails of an alert refer to one thread.
 */
import { createTransport, type SMTPSentMessageInfo } from 'nodemailer'
import type { AlertNotice, SendOutcome } from '../../domain/alert-notice.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Channel } from './channel.ts'

export interface EmailSettings {
  /** `smtp://` or `smtps://`, with user and password where they are needed. */
  readonly smtpUrl: string
  /** A server that does not offer TLS is given neither login nor message. */
  readonly needsTls: boolean
  readonly from: string
  readonly to: readonly string[]
}

/** Each shorter than the deadline of a try, so that a server that hangs is named by what it did not do. */
const TIMEOUTS = {
  connectionTimeout: 6_000,
  greetingTimeout: 6_000,
  dnsTimeout: 6_000,
  socketTimeout: 8_000,
}

const MAY_REPEAT =
  'This message may reach you twice: it was sent before, and whether it arrived is not known.'

export function createEmailChannel(settings: EmailSettings, logger: Logger): Channel {
  const { smtpUrl, needsTls, from, to } = settings
  const transport = createTransport({ url: smtpUrl, requireTLS: needsTls, ...TIMEOUTS })
  const domain = from.slice(from.lastIndexOf('@') + 1)
  return {
    name: 'email',
    send: async (notice, signal) => {
      const { id, event, alert, remaining } = notice
      try {
        const answer = await transport.sendMail({
          from: { name: 'tajo-sync', address: from },
          // Those that remain may be written in another form than here, or be of another process's settings.
          to: [...(remaining ?? to)],
          subject: `[${event === 'closed' ? 'closed' : alert.severity}] ${alert.title}`,
          text: describe(notice),
          messageId: `<${id}@${domain}>`,
          references: `<${alert.id}@${domain}>`,
          headers: { 'auto-submitted': 'auto-generated' },
          signal,
        })
        return judgeAnswer(answer, id, logger)
      } catch (error) {
        return judge(error)
      }
    },
  }
}

function describe({ event, isRepetition, alert }: AlertNotice): string {
  const isOver = event === 'closed'
  const lines = [
    ...(isRepetition ? [MAY_REPEAT, ''] : []),
    ...(isOver ? [alert.closing ?? 'It is over.', '', 'What it was about:', ''] : []),
    alert.message,
    '',
    `Workspace: ${alert.workspaceName} (${alert.workspaceId})`,
    ...(alert.syncId ? [`Sync: ${alert.syncName ?? ''} (sync_${alert.syncId})`] : []),
    ...(alert.runId ? [`Run: run_${alert.runId}`] : []),
    `Alert: alert_${alert.id}`,
    `Opened: ${alert.openedAt}`,
    ...(isOver && alert.closedAt ? [`Closed: ${alert.closedAt}`] : []),
  ]
  return `${lines.join('\n')}\n`
}

/**
 * The server took it for some and maybe not for all. Those that it refused for the moment (4xx: a greylist, a full
 * mailbox) are tried again, and only they: the others have it.
 */
function judgeAnswer(answer: SMTPSentMessageInfo, noticeId: string, logger: Logger): SendOutcome {
  const refused = (answer.rejectedErrors ?? []).map(readCodes)
  const remaining = refused
    .filter(({ responseCode }) => responseCode !== null && responseCode < FOR_GOOD)
    .flatMap(({ recipient }) => recipient ?? [])
  const forGood = (answer.rejected?.length ?? 0) - remaining.length
  if (forGood > 0) {
    logger.error('alert.recipients_refused', { noticeId, refused: forGood })
  }
  return remaining.length === 0
    ? { kind: 'sent' }
    : {
        kind: 'sent_in_part',
        remaining,
        reason: `The mail server refused ${remaining.length} of the recipients for the moment.`,
      }
}

/** An answer of a mail server from here on is for good. */
const FOR_GOOD = 500

/** What can only go wrong before the message itself is sent. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'EAUTH',
  'ECONFIG',
  'EDNS',
  'EENVELOPE',
  'ENOAUTH',
  'ETLS',
])

/** Messages of the server may name recipients: only codes are told. */
function judge(error: unknown): SendOutcome {
  const { code, originalCode, responseCode } = readCodes(error)
  if (responseCode !== null) {
    return { kind: 'refused', reason: `The mail server answered ${responseCode} (${code}).` }
  }
  const wasNeverSent = NEVER_SENT.has(code) || originalCode === 'ECONNREFUSED'
  return {
    kind: wasNeverSent ? 'refused' : 'unknown',
    reason:
      code === 'EABORT'
        ? 'The mail server did not answer in time.'
        : `The mail server could not be used (${originalCode ?? code}).`,
  }
}

function readCodes(error: unknown) {
  const facts: Readonly<Record<string, unknown>> = error instanceof Error ? { ...error } : {}
  const text = (name: string) => (typeof facts[name] === 'string' ? facts[name] : null)
  const { responseCode } = facts
  return {
    code: text('code') ?? 'no code',
    originalCode: text('originalCode'),
    recipient: text('recipient'),
    responseCode: typeof responseCode === 'number' ? responseCode : null,
  }
}
