/**
 * What a destination says of records is kept as their reason or as a failure's detail: here the records' own
 * values are taken out of it, whichever connector brought it (I20).
 *
 * Invariants: nothing here throws, because the answer would be lost with its words; what is examined for one answer
 * is bounded (MAX_EXAMINED), because the lease is not renewed meanwhile.
 */

import { ConnectorError } from '../connectors/connector.ts'
import type { DeliveryAnswer } from '../connectors/destination.ts'
import type { Outcome } from '../domain/delivery.ts'
import type { JsonObject } from '../domain/json.ts'
import { type Effort, scrubValues } from '../domain/scrub-values.ts'

/** A record as the source gave it, and as it was mapped. */
interface Row {
  readonly row: JsonObject
  readonly fields: JsonObject
}

type Answer = Exclude<DeliveryAnswer, { kind: 'accepted' }>

/** In the place of words of which is not known whom they name. */
export const UNREPEATABLE = 'The reason that was given cannot be repeated here.'

export function scrubAnswer(answer: Answer, records: readonly Row[]): Answer {
  return answer.kind === 'refused'
    ? { ...answer, reason: scrubReason(answer.reason, records) }
    : { kind: 'answered', outcomes: scrubOutcomes(answer.outcomes, records) }
}

/** One outcome a record. A reason that several have in common may repeat the values of any of them. */
export function scrubOutcomes(
  outcomes: readonly Outcome[],
  records: readonly Row[],
): readonly Outcome[] {
  const spokenOf = new Map<string, Row[]>()
  for (const [index, outcome] of outcomes.entries()) {
    const record = records[index]
    if (outcome.kind !== 'written' && record) {
      const about = spokenOf.get(outcome.reason) ?? []
      about.push(record)
      spokenOf.set(outcome.reason, about)
    }
  }
  if (spokenOf.size === 0) {
    return outcomes
  }
  const effort = { examined: 0 }
  const scrubbed = new Map(
    [...spokenOf].map(([reason, about]) => [reason, scrubReason(reason, about, effort)]),
  )
  return outcomes.map((outcome) =>
    outcome.kind === 'written'
      ? outcome
      : { ...outcome, reason: scrubbed.get(outcome.reason) ?? UNREPEATABLE },
  )
}

export function scrubReason(
  reason: string,
  records: readonly Row[],
  effort: Effort = { examined: 0 },
): string {
  try {
    const said = records.flatMap(({ fields, row }) => [fields, row])
    return scrubValues(reason, said, effort)
  } catch {
    return UNREPEATABLE
  }
}

/** Of what a connector throws, only its own error has a message that people see. */
export function scrubError(error: unknown, records: readonly Row[]): unknown {
  return error instanceof ConnectorError
    ? new ConnectorError(error.code, scrubReason(error.message, records), { cause: error.cause })
    : error
}
