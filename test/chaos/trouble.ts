/**
 * What the destination does to a call: applies it, refuses records, or makes trouble that the sender sees.
 *
 * Invariant: no trouble is applied to a record that the destination refuses, so that what it did can be
 * told from the file alone.
 */
import type { Reaction, RecordedRequest } from '../support/recording-destination.ts'
import { REFUSED, REFUSED_FIRST, type SyncPlan } from './plan.ts'
import type { Chance } from './seeded.ts'

export interface Temper {
  readonly plan: Pick<SyncPlan, 'isRefusedWhole' | 'isImported' | 'trouble'>
  /** Once mended it refuses only what it refuses always. */
  readonly isMended: boolean
}

export function isRefusedRecord(record: unknown, isMended: boolean): boolean {
  const note = String((record as { note?: unknown } | null)?.note ?? '')
  return note.endsWith(REFUSED) || (!isMended && note.endsWith(REFUSED_FIRST))
}

const REFUSAL = { status: 'rejected', reason: 'The note is not acceptable.' }
const SLOW_DOWN: Reaction = {
  kind: 'answer',
  status: 429,
  body: '{"error":"slow down"}',
  headers: { 'retry-after': '1' },
}
const MAINTENANCE: Reaction = { kind: 'answer', status: 503, body: '{"error":"maintenance"}' }
const UNPROCESSABLE: Reaction = {
  kind: 'answer',
  status: 422,
  body: '{"error":"The note is not acceptable."}',
}

export function decideReaction(
  chance: Chance,
  { plan, isMended }: Temper,
  request: RecordedRequest,
): Reaction {
  const body = JSON.parse(request.body) as { records?: readonly { record: unknown }[] }
  const records = body.records ? body.records.map(({ record }) => record) : [body]
  const hasRefused = records.some((record) => isRefusedRecord(record, isMended))
  if (chance.isTrue(plan.trouble)) {
    const call = { isPage: body.records !== undefined, hasRefused }
    return plan.isImported ? makeImportTrouble(chance, hasRefused) : makeTrouble(chance, call)
  }
  if (hasRefused && (!body.records || plan.isRefusedWhole)) {
    return UNPROCESSABLE
  }
  const of = (key: string, record: unknown) =>
    isRefusedRecord(record, isMended) ? REFUSAL : { status: 'written', id: key.slice(0, 12) }
  if (plan.isImported) {
    return { kind: 'accept', of }
  }
  return hasRefused ? { kind: 'results', of } : { kind: 'apply' }
}

/** What a question gets instead of an answer. */
export function spoilAnswer(chance: Chance): Reaction {
  return chance.pick<Reaction>([
    SLOW_DOWN,
    MAINTENANCE,
    { kind: 'reset' },
    { kind: 'answer', status: 500, body: '{"error":"oops"}' },
    { kind: 'answer', status: 404, body: '<html>not here</html>' },
  ])
}

/** The import is never begun, begun without a word, or tells less than all. */
function makeImportTrouble(chance: Chance, hasRefused: boolean): Reaction {
  const never: readonly Reaction[] = [
    SLOW_DOWN,
    MAINTENANCE,
    { kind: 'reset' },
    { kind: 'hang' },
    { kind: 'answer', status: 500, body: '{"error":"oops"}' },
  ]
  if (hasRefused) {
    return chance.pick([SLOW_DOWN, ...never])
  }
  const { of } = answerPartly(chance)
  return chance.pick<Reaction>([
    { kind: 'accept', isAnswered: false },
    { kind: 'accept', isAnswered: false },
    { kind: 'accept', of },
    ...never,
  ])
}

function makeTrouble(
  chance: Chance,
  call: { readonly isPage: boolean; readonly hasRefused: boolean },
): Reaction {
  const isApplied = !call.hasRefused && chance.isTrue(0.5)
  const troubles: [Reaction, ...Reaction[]] = [
    SLOW_DOWN,
    MAINTENANCE,
    { kind: 'reset', isApplied },
    { kind: 'halfBody', isApplied },
    { kind: 'hang', isApplied },
    { kind: 'answer', status: 500, body: '{"error":"oops"}', isApplied },
    { kind: 'answer', status: 502, body: '<html>bad gateway</html>', isApplied },
  ]
  if (call.isPage && !call.hasRefused) {
    troubles.push(answerPartly(chance))
  }
  return chance.pick(troubles)
}

/** Some records written, some to be sent again, some without a word. */
function answerPartly(chance: Chance): Extract<Reaction, { kind: 'results' }> {
  const drawn = new Map<string, number>()
  return {
    kind: 'results',
    of: (key) => {
      // Asked twice of each key, for what is applied and for what is answered: the same both times.
      const draw = drawn.get(key) ?? chance.next()
      drawn.set(key, draw)
      if (draw < 0.6) {
        return { status: 'written', id: key.slice(0, 12) }
      }
      return draw < 0.8 ? { status: 'retry' } : null
    },
  }
}
