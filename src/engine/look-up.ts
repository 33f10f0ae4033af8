/**
 * Asks a destination of class `lookup` for writes, and how far it is to be believed that one is there, or is not.
 *
 * A place that leads nowhere says of every write that it is not there, and so does one that knew of it once;
 * to send it again would write it twice. So a destination that says so is asked for writes that it has
 * confirmed before (confirmed-writes.ts). A place that has an answer for every path says of every write that it
 * is there; to take it for written would lose it. So one that says so is asked for a write that nobody made.
 * Invariants (I12): where nothing of what was confirmed is found, it is not believed that a write is not there;
 * where what nobody made is found, it is not believed that one is there. Nothing is sent again then, nor
 * taken for written.
 */
import type { LookUp, LookupAnswer, Unanswered } from '../connectors/destination.ts'
import { failure } from '../domain/failure.ts'
import { assert, unreachable } from '../runtime/assert.ts'
import { failAttempt, unlessStopped } from './attempt-stop.ts'
import type { ConfirmedWrites } from './confirmed-writes.ts'

export interface AskedWrites {
  /** In the order of the keys. */
  readonly answers: readonly LookupAnswer[]
  /** The place has shown that it knows of writes. False: there was none to ask for. */
  readonly isProven: boolean
}

interface Asked {
  readonly confirmed: ConfirmedWrites
  readonly signal: AbortSignal
}

/**
 * `known`: keys of confirmed writes that are asked for rather than others, such as those of before a wait.
 * Throws an attempt's stop.
 */
export async function askForWrites(
  lookUp: LookUp,
  request: Asked & {
    readonly deliveryKeys: readonly string[]
    readonly known: readonly string[]
  },
): Promise<AskedWrites> {
  const { confirmed, known, signal } = request
  const answers = await ask(lookUp, request.deliveryKeys, signal)
  if (isAny('found', answers)) {
    return { answers: distrust(answers, await askForNone(lookUp, request)), isProven: true }
  }
  if (!isAny('absent', answers)) {
    return { answers, isProven: true }
  }
  const control = await ask(lookUp, await confirmed.findSettled(known, signal), signal)
  if (control.length === 0) {
    return { answers, isProven: false }
  }
  return { answers: distrust(answers, await judge(lookUp, control, request)), isProven: true }
}

/** Why it is not said whether the place knows of writes, or null: it does. */
async function judge(
  lookUp: LookUp,
  control: readonly LookupAnswer[],
  asked: Asked,
): Promise<Unanswered | null> {
  if (isAny('found', control)) {
    return await askForNone(lookUp, asked)
  }
  const silent = control.find((answer) => answer.kind === 'unknown')
  if (silent) {
    return silent
  }
  throw placeFailed(describeDenied(lookUp))
}

/** Asks for a write that nobody made, once an attempt. Null: it is not there; else why that is not said. */
async function askForNone(
  lookUp: LookUp,
  { confirmed, signal }: Asked,
): Promise<Unanswered | null> {
  if (confirmed.isToldApart) {
    return null
  }
  const [answer] = await ask(lookUp, [confirmed.makeKeyOfNone()], signal)
  assert(answer !== undefined, 'A destination answers for each key.')
  switch (answer.kind) {
    case 'found':
      throw placeFailed(describeIndifferent(lookUp))
    case 'absent':
      confirmed.noteToldApart()
      return null
    case 'unknown':
      return answer
    default:
      return unreachable(answer)
  }
}

async function ask(lookUp: LookUp, deliveryKeys: readonly string[], signal: AbortSignal) {
  if (deliveryKeys.length === 0) {
    return []
  }
  const answers = await unlessStopped(signal, () => lookUp.ask({ deliveryKeys, signal }))
  assert(answers.length === deliveryKeys.length, 'A destination answers for each key.')
  return answers
}

function isAny(kind: LookupAnswer['kind'], answers: readonly LookupAnswer[]): boolean {
  return answers.some((answer) => answer.kind === kind)
}

/** What the place said counts for nothing as long as it is not said whether it knows. */
function distrust(
  answers: readonly LookupAnswer[],
  silent: Unanswered | null,
): readonly LookupAnswer[] {
  return silent === null
    ? answers
    : answers.map((answer) => (answer.kind === 'unknown' ? answer : silent))
}

function placeFailed(detail: string) {
  return failAttempt(failure('node_failed', { step: 'writing', detail }))
}

function describeDenied({ object }: LookUp): string {
  return `Asked at ${object}, the destination knows nothing of writes that it has confirmed, so that it is not believed that another one is not there: mend where it is asked, or declare that it cannot be asked.`
}

function describeIndifferent({ object }: LookUp): string {
  return `Asked at ${object}, the destination has a write that nobody made, so that it is not believed that another one is there: mend where it is asked, or declare that it cannot be asked.`
}
