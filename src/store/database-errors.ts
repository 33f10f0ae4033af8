/** What PostgreSQL's errors say, whichever layer has wrapped them. */

const UNIQUE_VIOLATION = '23505'

/** lock_not_available, deadlock_detected, serialization_failure. */
const CONTENTIONS: readonly (string | null)[] = ['55P03', '40P01', '40001']

/** Others held for too long what it needed. Nothing of its transaction was done, and it may be tried again. */
export function isContention(error: unknown): boolean {
  return CONTENTIONS.includes(findSqlState(error))
}

export function isUniqueViolation(error: unknown): boolean {
  return findSqlState(error) === UNIQUE_VIOLATION
}

/** The five characters of SQLSTATE, or null: it is no error of the database. */
function findSqlState(error: unknown): string | null {
  if (!(error instanceof Error)) {
    return null
  }
  return 'code' in error && typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code)
    ? error.code
    : findSqlState(error.cause)
}
