/**
 * One POST to an address that the operator configured, and what its outcome says.
 *
 * Invariants: no redirect is followed; only an answer tells that something arrived or did not. Whether it did
 * when there is none is unknown, unless no connection was made.
 */
import type { SendOutcome } from '../../domain/alert-notice.ts'

const GONE = 410
const REQUEST_TIMEOUT = 408

/** Errors of a connection that was never made: not a byte was sent. */
const NEVER_CONNECTED: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
])

export async function post(
  url: string,
  request: {
    readonly headers: Readonly<Record<string, string>>
    readonly body: string | Uint8Array<ArrayBuffer>
    readonly signal: AbortSignal
  },
): Promise<SendOutcome> {
  try {
    const response = await fetch(url, { ...request, method: 'POST', redirect: 'manual' })
    await response.body?.cancel()
    return judge(response.status)
  } catch (error) {
    if (request.signal.aborted) {
      return { kind: 'unknown', reason: 'It did not answer in time.' }
    }
    const code = findCode(error)
    return {
      kind: NEVER_CONNECTED.has(code) ? 'refused' : 'unknown',
      reason: `It could not be reached (${code}).`,
    }
  }
}

function judge(status: number): SendOutcome {
  if (status >= 200 && status < 300) {
    return { kind: 'sent' }
  }
  const reason = `It answered with status ${status}.`
  if (status === GONE) {
    return { kind: 'gone', reason }
  }
  return { kind: mayHaveArrived(status) ? 'unknown' : 'refused', reason }
}

/** A proxy's page or a receiver's own error: it may have taken the message before that. */
function mayHaveArrived(status: number): boolean {
  return status >= 500 || status === REQUEST_TIMEOUT
}

/** The code of the innermost error; messages may hold the address, and with it a secret. */
function findCode(error: unknown): string {
  let code = 'no code'
  for (let current = error; current instanceof Error; current = current.cause) {
    code = 'code' in current && typeof current.code === 'string' ? current.code : code
  }
  return code
}
