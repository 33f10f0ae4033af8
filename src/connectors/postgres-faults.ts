/**
 * What it means that PostgreSQL, or the way to it, did not do what it was asked.
 *
 * Invariant: nothing that the server says of a row gets out: neither DETAIL nor the parameters of a statement are
 * kept, and its words are only quoted where they cannot repeat a value, or made fit to be kept (redact.ts).
 */
import type { FailureCode } from '../domain/failure.ts'
import { isJsonObject } from '../domain/json.ts'
import { ConnectorError } from './connector.ts'

/** A statement or a connection that failed, with nothing of what the driver attached to it. */
export class PostgresFault extends Error {
  override readonly name = 'PostgresFault'
  /** SQLSTATE, or what the network or the driver calls it. */
  readonly code: string
  /** Whether the server itself refused the statement: then nothing of it was applied. */
  readonly isAnswer: boolean
  /** Of the server, in its language; may repeat a value. Empty where it said nothing. */
  readonly words: string
  readonly column: string | null
  readonly constraint: string | null

  constructor(error: unknown) {
    const told = isObject(error) ? error : {}
    const code = readText(told, 'code') ?? 'UNKNOWN'
    super(`PostgreSQL: ${code}.`)
    this.code = code
    const severity = readText(told, 'severity_local') ?? readText(told, 'severity')
    // FATAL ends the connection, and may come while a commit waits for a standby: it says nothing of the statement.
    this.isAnswer =
      severity !== null && SQLSTATE.test(code) && readText(told, 'severity') === 'ERROR'
    this.words = severity === null ? '' : (readText(told, 'message') ?? '')
    this.column = readText(told, 'column_name')
    this.constraint = readText(told, 'constraint_name')
  }
}

const SQLSTATE = /^[0-9A-Z]{5}$/

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value instanceof Error || isJsonObject(value)
}

function readText(of: Readonly<Record<string, unknown>>, member: string): string | null {
  const value = of[member]
  return typeof value === 'string' && value !== '' ? value : null
}

/** No answer in time. The connection is given up with it. */
export class DeadlinePassedError extends Error {
  override readonly name = 'DeadlinePassedError'
  readonly deadlineMs: number

  constructor(deadlineMs: number) {
    super(`No answer came within ${deadlineMs / 1000} s.`)
    this.deadlineMs = deadlineMs
  }
}

interface Meaning {
  readonly failure: FailureCode
  /** A whole sentence without the code. */
  readonly words: string
  /** Whether the server's own words name what is wrong and cannot repeat a value. */
  readonly isQuoted?: boolean
}

/** The first that the code begins with. */
const MEANINGS: readonly (readonly [string, Meaning])[] = [
  ['28', { failure: 'connection_unauthorized', words: 'The server refused the sign-in.' }],
  ['3D000', { failure: 'node_failed', words: 'The server has no such database.' }],
  ['42501', { failure: 'node_failed', words: 'The role may not do this', isQuoted: true }],
  [
    '42',
    {
      failure: 'node_failed',
      words: 'The server does not understand the statement',
      isQuoted: true,
    },
  ],
  ['3F', { failure: 'node_failed', words: 'The server has no such schema.' }],
  ['25006', { failure: 'node_failed', words: 'The server, or the transaction, is read-only.' }],
  ['0A', { failure: 'node_failed', words: 'The server cannot do this', isQuoted: true }],
  [
    '55P03',
    { failure: 'provider_unavailable', words: 'Another transaction kept a row for too long.' },
  ],
  [
    '57014',
    { failure: 'provider_unavailable', words: 'The server did not finish the statement in time.' },
  ],
  ['57', { failure: 'provider_unavailable', words: 'The server ended the connection.' }],
  [
    '53',
    {
      failure: 'provider_unavailable',
      words: 'The server has no room, memory or connection left.',
    },
  ],
  [
    '40',
    { failure: 'provider_unavailable', words: 'The statement lost against another transaction.' },
  ],
  ['08', { failure: 'provider_unavailable', words: 'The connection broke.' }],
  ['58', { failure: 'provider_unavailable', words: 'The machine of the server failed.' }],
  ['XX', { failure: 'provider_unavailable', words: 'The server failed inside.' }],
]

/** Who gave the address or the certificate can mend it, and nobody else. */
const MISDIRECTED =
  /^(?:ENOTFOUND$|ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_(?:GET|VERIFY)_|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT|HOSTNAME_MISMATCH|INVALID_CA|EPROTO$)/

export interface Told {
  readonly failure: FailureCode
  readonly reason: string
}

/** What the failure of a whole statement or connection means, as one sentence. */
export function tellFault(error: PostgresFault | DeadlinePassedError): Told {
  if (error instanceof DeadlinePassedError) {
    return { failure: 'provider_unavailable', reason: error.message }
  }
  const { code } = error
  const found = MEANINGS.find(([start]) => SQLSTATE.test(code) && code.startsWith(start))?.[1]
  if (found) {
    return { failure: found.failure, reason: word(found, error) }
  }
  if (SQLSTATE.test(code)) {
    return { failure: 'node_failed', reason: `The server refused the statement (${code}).` }
  }
  return MISDIRECTED.test(code)
    ? { failure: 'node_failed', reason: `No connection could be made to this host (${code}).` }
    : { failure: 'provider_unavailable', reason: `The server is out of reach (${code}).` }
}

/** Longest quotation of the server, in characters. */
const MAX_QUOTED_LENGTH = 200
/** Such messages name columns, tables and functions between double quotes; a literal of a query stands between single ones. */
const LITERAL = /'[^']*'/g

function word({ words, isQuoted }: Meaning, error: PostgresFault): string {
  const own = words.replace(/\.$/, '')
  if (isQuoted !== true || error.words === '') {
    return `${own} (${error.code}).`
  }
  const line = error.words.replace(/[\p{Cc}\s]+/gu, ' ').replace(LITERAL, "'…'")
  return `${own}: ${line.slice(0, MAX_QUOTED_LENGTH).toWellFormed().replace(/\.$/, '')} (${error.code}).`
}

/** Everything that is not ours, as the seam wants it; ConnectorError and a signal's reason stay what they are. */
export function asConnectorError(error: unknown): unknown {
  if (error instanceof PostgresFault || error instanceof DeadlinePassedError) {
    const { failure, reason } = tellFault(error)
    return new ConnectorError(failure, reason)
  }
  return error
}
