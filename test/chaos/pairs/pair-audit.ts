/**
 * What must be true of a pair once nothing runs any more, told from the model's rows.
 *
 * Uses nothing of the product. What may be missing at the destination is nothing: whatever was in doubt has been settled
 * by then, and no record is refused.
 */
import { checkAttempts, checkRuns, type Finding, limit, type Told } from '../auditor.ts'
import type { StoredEvidence } from '../read-evidence.ts'
import type { Row } from './pair.ts'

export interface PairEvidence extends StoredEvidence {
  readonly name: string
  /** Each row that is in the source, as it is there now. */
  readonly sourceRows: readonly Row[]
  /** The newest version that each row ever had, also of rows that were taken away. */
  readonly newest: ReadonlyMap<number, number>
  readonly writes: readonly Row[]
  readonly destinationRows: readonly Row[]
  readonly isExact: boolean
  /** How many writes may have been repeated, since nobody knew that they had been made. */
  readonly mostRepeated: number
}

export interface PairAudit {
  readonly findings: readonly Finding[]
  readonly rows: number
  readonly writes: number
  /** Writes of a version that was written before. */
  readonly repeated: number
}

export function auditPair(evidence: PairEvidence): PairAudit {
  const repeated = countRepeated(evidence.writes)
  const told = [
    ...checkLost(evidence),
    ...checkOrder(evidence),
    ...checkRepeated(evidence, repeated),
    ...checkLeft(evidence),
    ...checkRuns(evidence),
    ...checkAttempts(evidence),
  ]
  return {
    findings: limit(told.map(([kind, detail]) => ({ kind, sync: evidence.name, detail }))),
    rows: evidence.sourceRows.length,
    writes: evidence.writes.length,
    repeated,
  }
}

function countRepeated(writes: readonly Row[]): number {
  return writes.length - new Set(writes.map(({ id, version }) => `${id}.${version}`)).size
}

function* checkLost({ sourceRows, destinationRows, newest }: PairEvidence): Iterable<Told> {
  const there = new Map(destinationRows.map(({ id, version }) => [id, version]))
  for (const { id, version } of sourceRows) {
    const found = there.get(id)
    if (found === undefined) {
      yield ['lost', `Row ${id} is not at the destination.`]
    } else if (found !== version) {
      yield ['stale', `Row ${id} has version ${version}; the destination has ${found}.`]
    }
  }
  for (const [id, version] of there) {
    if (version > (newest.get(id) ?? 0)) {
      yield ['invented', `Row ${id} never had the version ${version}.`]
    }
  }
}

/** An older version never comes after a newer one. */
function* checkOrder({ writes }: PairEvidence): Iterable<Told> {
  const last = new Map<number, number>()
  for (const { id, version } of writes) {
    const before = last.get(id) ?? 0
    if (version < before) {
      yield ['stale', `Version ${version} of row ${id} was written after ${before}.`]
    }
    last.set(id, version)
  }
}

function* checkRepeated(
  { writes, isExact, mostRepeated }: PairEvidence,
  repeated: number,
): Iterable<Told> {
  if (isExact && repeated > 0) {
    const seen = new Set<string>()
    for (const { id, version } of writes) {
      const name = `${id}.${version}`
      if (seen.has(name)) {
        yield ['doubled', `Version ${version} of row ${id} took effect twice.`]
      }
      seen.add(name)
    }
  } else if (repeated > mostRepeated) {
    yield ['doubled', `${repeated} writes were repeated; ${mostRepeated} can have been in flight.`]
  }
}

function* checkLeft({ openPages, held, intents, fence }: PairEvidence): Iterable<Told> {
  if (openPages.length > 0) {
    yield ['checkpoint', `${openPages.length} pages are still open.`]
  }
  if (held.length > 0) {
    yield ['held', `${held.length} records are held.`]
  }
  if (intents.length > 0) {
    yield ['intent', `${intents.length} intents are still there.`]
  }
  if (fence.savedCursor !== fence.reached) {
    yield ['checkpoint', 'The saved cursor is not where delivery has come.']
  }
}
