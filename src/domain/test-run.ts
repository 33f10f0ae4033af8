/**
 * Test runs: a look at what a draft makes of the next records of its source.
 *
 * Invariant (I23): a test run writes nothing but its own row, its attempt and its result. It is of the draft and
 * never of a publication, so neither the watchmen nor the books of the sync know of it.
 */
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'

export const MAX_TEST_RECORDS = 100
export const DEFAULT_TEST_RECORDS = 10
/** Longer mapped records are not shown, in characters of their JSON. */
const MAX_SHOWN_LENGTH = 16_384
/** How long what came of the records is kept: as long as the ledger remembers. */
export const TEST_RECORDS_LIFE_MS = 7 * 24 * 60 * 60 * 1000

/** Why a record would not be sent. */
export interface TestProblem {
  /** Of the mapping; null: it is about the record as a whole. */
  readonly field: string | null
  readonly reason: string
}

export interface TestRecord {
  /** From where the test began to read: 0 is the first. */
  readonly position: number
  /** As it would be sent; null: there is a problem, or it is too large to be shown. */
  readonly fields: JsonObject | null
  readonly isTooLarge: boolean
  readonly problem: TestProblem | null
}

export function tellRecord(position: number, fields: JsonObject, json: string): TestRecord {
  const isTooLarge = json.length > MAX_SHOWN_LENGTH
  return { position, fields: isTooLarge ? null : fields, isTooLarge, problem: null }
}

export function tellProblem(position: number, problem: TestProblem): TestRecord {
  return { position, fields: null, isTooLarge: false, problem }
}

/** Reads what was kept. Throws RangeError for what this product did not write: that is a bug. */
export function readTestRecords(kept: JsonValue): readonly TestRecord[] {
  if (!Array.isArray(kept)) {
    throw new RangeError('A stored test has another shape than it was written with.')
  }
  return kept.map((record) => {
    if (!isJsonObject(record) || typeof record['position'] !== 'number') {
      throw new RangeError('A stored test record has another shape than it was written with.')
    }
    const { position, fields = null, isTooLarge, problem = null } = record
    return {
      position,
      fields: isJsonObject(fields) ? fields : null,
      isTooLarge: isTooLarge === true,
      problem: isJsonObject(problem)
        ? { field: textOf(problem['field']), reason: textOf(problem['reason']) ?? '' }
        : null,
    }
  })
}

/** What the sealed text of a run is bound to. */
export function sealedFor(runId: string): string {
  return `test run ${runId}`
}

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}
