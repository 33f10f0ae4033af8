/**
 * A test run: reads the next records of the source and tells what the draft makes of them.
 *
 * Invariant (I23): it makes no call that writes. The destination's connector is opened for what it knows by itself
 * (what it would not take at all); no lease is taken, nothing is reserved, no page is stored, no cursor moves.
 */
import type { DestinationWriter } from '../connectors/destination.ts'
import type { SourceReader } from '../connectors/source.ts'
import { canonicalJson } from '../domain/json.ts'
import type { CompiledMapping } from '../domain/mapping.ts'
import type { SourceRecord } from '../domain/page.ts'
import { scrub } from '../domain/scrub.ts'
import { type TestRecord, tellProblem, tellRecord } from '../domain/test-run.ts'
import { atStep, unlessStopped } from './attempt-stop.ts'
import { scrubReason } from './scrub-answers.ts'

export interface TestToRun {
  readonly reader: SourceReader
  readonly writer: Pick<DestinationWriter, 'describeUnsendable'>
  readonly mapping: CompiledMapping
  /** Where the next run would start. */
  readonly from: string | null
  /** Most records to read. */
  readonly limit: number
  readonly signal: AbortSignal
}

/** Throws an attempt's stop. */
export async function testRecords(test: TestToRun): Promise<readonly TestRecord[]> {
  const { reader, limit, signal } = test
  const told: TestRecord[] = []
  let { from } = test
  while (told.length < limit) {
    const request = { from, to: null, limit: limit - told.length, signal }
    const read = await unlessStopped(signal, () =>
      atStep('reading', () => reader.readPage(request)),
    )
    if (read.kind !== 'page') {
      break
    }
    for (const record of read.records.slice(0, limit - told.length)) {
      told.push(testRecord(test, told.length, record))
    }
    from = read.to
  }
  return told
}

function testRecord(
  { mapping, writer }: TestToRun,
  position: number,
  record: SourceRecord,
): TestRecord {
  if (record.problem !== undefined) {
    return tellProblem(position, { field: null, reason: scrub(record.problem) })
  }
  const row = record.fields
  const mapped = mapping.map(row)
  if (mapped.kind === 'rejected') {
    return tellProblem(position, { field: mapped.field, reason: scrub(mapped.reason) })
  }
  const { fields } = mapped
  const json = canonicalJson(fields)
  const refusal = writer.describeUnsendable({ fields, json })
  return refusal === null
    ? tellRecord(position, fields, json)
    : tellProblem(position, { field: null, reason: scrubReason(refusal, [{ fields, row }]) })
}
