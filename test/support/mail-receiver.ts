/** A mail server that keeps what it takes. */
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** Unfolded, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface MailReceiver {
  readonly url: string
  readonly mails: readonly ReceivedMail[]
  /** The next message is answered for like this after it was sent. `hang`: not at all. */
  answerNext(answer: 'hang' | { readonly code: number }): void
  /** Refuses this recipient; null: takes it again. */
  refuse(recipient: string, code?: number | null): void
  close(): Promise<void>
}

export async function startMailReceiver(): Promise<MailReceiver> {
  const mails: ReceivedMail[] = []
  const refused = new Map<string, number>()
  let next: 'hang' | { readonly code: number } | null = null
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onRcptTo: ({ address }, _session, callback) => {
      const code = refused.get(address)
      callback(code === undefined ? null : fail(code))
    },
    onData: (stream, { envelope }, callback) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        const to = envelope.rcptTo.map(({ address }) => address)
        mails.push({ from, to, ...parse(Buffer.concat(chunks).toString('utf8')) })
        const answer = next
        next = null
        if (answer !== 'hang') {
          callback(answer === null ? null : fail(answer.code))
        }
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const address = server.server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    answerNext: (answer) => {
      next = answer
    },
    refuse: (recipient, code = 550) => {
      if (code === null) {
        refused.delete(recipient)
      } else {
        refused.set(recipient, code)
      }
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

function fail(responseCode: number): Error {
  return Object.assign(new Error('Not here.'), { responseCode })
}

function parse(message: string): Pick<ReceivedMail, 'headers' | 'text'> {
  const end = message.indexOf('\r\n\r\n')
  const lines = message
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  return { headers: Object.fromEntries(headers), text: message.slice(end + 4) }
}
