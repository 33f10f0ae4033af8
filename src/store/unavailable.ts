/**
 * Tells a database that is away, or could not carry out what it was asked, from a statement that is wrong.
 *
 * Whoever sees one of these knows nothing about the statement: it may have been committed before its answer
 * was lost. Invariant: only what passes by itself counts. A statement that is refused for what it says is
 * none of these, and neither is one that took too long.
 */
import { DrizzleQueryError } from 'drizzle-orm'
import { WordedError } from '../runtime/worded-error.ts'

/** The database is away, or could not carry out a statement. Whether it did is unknown. */
export class DatabaseUnavailableError extends WordedError {
  override readonly name = 'DatabaseUnavailableError'
  /** PostgreSQL's SQLSTATE, or what the driver or the network calls it. */
  readonly code: string

  constructor(code: string, options: ErrorOptions) {
    super(`The database of this installation ${describe(code)} (${code}).`, options)
    this.code = code
  }
}

function describe(code: string): string {
  if (code.startsWith('53')) {
    return 'had no disk, memory or connection left'
  }
  return /^(55|40)/.test(code) ? 'kept a row from it for too long' : 'was out of reach'
}

/**
 * Connection exceptions, no resources left (disk, memory, connections), the operator's shutdown (`57P01` and
 * its kin, but not a canceled statement), errors of its machine; then a lock that was not to be had in
 * time, the victim of a deadlock or of a conflict, and a transaction that stood idle.
 */
const SQLSTATE = /^(08...|53...|57P0.|58...|55P03|40P01|40001|25P03)$/

const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECT_TIMEOUT',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
])

/** Whether the driver says that the connection is gone, and not only the statement. */
export function isConnectionLost(error: unknown): boolean {
  return CONNECTION_CODES.has(findCode(error) ?? '')
}

/** What the driver threw, under its name here; anything else as it is. */
export function nameUnavailable(error: unknown): unknown {
  if (error instanceof DatabaseUnavailableError) {
    return error
  }
  const code = findCode(error)
  return code !== null && (SQLSTATE.test(code) || CONNECTION_CODES.has(code))
    ? new DatabaseUnavailableError(code, { cause: error })
    : error
}

function findCode(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return typeof code === 'string' ? code : null
}

/** Null: not the database is at fault. An error of somebody else's connection is none of the store's. */
export function findUnavailable(error: unknown): DatabaseUnavailableError | null {
  const told = error instanceof DrizzleQueryError ? nameUnavailable(error.cause) : error
  return told instanceof DatabaseUnavailableError ? told : null
}
