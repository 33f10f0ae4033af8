/**
 * What it says of the records that the server refused a statement.
 *
 * Invariant: no value gets into a reason. PostgreSQL repeats them in its messages, so its words are only quoted where a
 * person wrote them (a trigger's), and made fit to be kept.
 */
import type { Outcome } from '../../../domain/delivery.ts'
import { type PostgresFault, tellFault } from '../../postgres-faults.ts'
import { redact } from '../../redact.ts'

/**
 * About what stands in a record: a value that does not fit (22), a constraint (23), a check of a view (44), what a trigger
 * raised (P0001), the same row twice (21), a row that is too large for an index or a page (54).
 */
const ABOUT_RECORDS = /^(?:22|23|44|21|54|P0001$)/

export function isAboutRecords({ code }: PostgresFault): boolean {
  return ABOUT_RECORDS.test(code)
}

const CONSTRAINTS: Readonly<Record<string, string>> = {
  '23503': 'A row that it refers to is not there',
  '23505': 'Another row has the same value where only one may',
  '23514': 'A check of the table refuses it',
  '23P01': 'It overlaps with another row',
}

/** One sentence. `column`: which one is guilty, where that was found out. */
export function describeRefusal(fault: PostgresFault, column: string | null): string {
  const { code, constraint } = fault
  const named = fault.column ?? column
  if (code === '23502') {
    return named === null
      ? `A column needs a value (${code}).`
      : `The column ${JSON.stringify(named)} needs a value (${code}).`
  }
  if (code.startsWith('23')) {
    const words = CONSTRAINTS[code] ?? 'A constraint of the table refuses it'
    return constraint === null ? `${words} (${code}).` : `${words}: ${constraint} (${code}).`
  }
  if (code === 'P0001') {
    return `The table refuses it: ${redact(fault.words)}`
  }
  const problem = VALUES[code] ?? 'The value does not fit the type'
  return named === null
    ? `${problem} of a column or an expression of the table (${code}).`
    : `${problem} of the column ${JSON.stringify(named)} (${code}).`
}

const VALUES: Readonly<Record<string, string>> = {
  '22001': 'The value is longer than the type',
  '22003': 'The number is out of the range',
  '22007': 'The value has not the form',
  '22008': 'The time is out of the range',
  '22P02': 'The value has not the form',
  '22P05': 'The text has a character that does not fit the type',
}

/** For a statement that was refused for a reason that is about none of the records: nothing was applied. */
export function asRetryable(error: PostgresFault): Extract<Outcome, { kind: 'retryable' }> {
  const { failure, reason } = tellFault(error)
  return { kind: 'retryable', failure, reason, retryAfterMs: null }
}
