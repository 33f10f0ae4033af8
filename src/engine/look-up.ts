/**
 * Asks a destination of class `lookup` for writes, and how far it is to be believed that one is not there.
 *
 * A place that leads nowhere says of every write that it is not there, and so does one that knew of it once;
 * to send it again would write it twice. So a destination that says so is asked for writes that it has
 * confirmed before. Invariant: one that has none of these is not believed, and nothing is sent again (I12).
 */
import type { LookUp, LookupAnswer } from '../connectors/destination.ts'
import { failure } from '../domain/failure.ts'
import { assert } from '../runtime/assert.ts'
import { failAttempt, unlessStopped } from './attempt-stop.ts'

/** More than one: a record may have been deleted at the destination, and its key with it. */
const MAX_CONFIRMED = 3

/** The last writes that the destination has confirmed. */
export class ConfirmedWrites {
  #keys: readonly string[]

  constructor(keys: readonly string[]) {
    this.#keys = keys
  }

  /** Their delivery keys, the newest first. */
  get keys(): readonly string[] {
    return this.#keys
  }

  note(keys: readonly string[]): void {
    const newest = keys.slice(-MAX_CONFIRMED).reverse()
    this.#keys = [...new Set([...newest, ...this.#keys])].slice(0, MAX_CONFIRMED)
  }
}

export interface AskedWrites {
  /** In the order of the keys. */
  readonly answers: readonly LookupAnswer[]
  /** The place has shown that it knows of writes. False: there was none to ask for. */
  readonly isProven: boolean
}

/** `confirmed`: keys of writes that should be there. Throws an attempt's stop. */
export async function askForWrites(
  lookUp: LookUp,
  request: {
    readonly deliveryKeys: readonly string[]
    readonly confirmed: readonly string[]
    readonly signal: AbortSignal
  },
): Promise<AskedWrites> {
  const { confirmed, signal } = request
  const answers = await ask(lookUp, request.deliveryKeys, signal)
  if (isAnyFound(answers) || !answers.some(({ kind }) => kind === 'absent')) {
    return { answers, isProven: true }
  }
  const control = await ask(lookUp, confirmed, signal)
  if (control.length === 0 || isAnyFound(control)) {
    return { answers, isProven: control.length > 0 }
  }
  const silent = control.find(({ kind }) => kind === 'unknown')
  if (!silent) {
    throw failAttempt(failure('node_failed', { step: 'writing', detail: describeDenied(lookUp) }))
  }
  const believed = answers.map((answer) => (answer.kind === 'absent' ? silent : answer))
  return { answers: believed, isProven: true }
}

async function ask(lookUp: LookUp, deliveryKeys: readonly string[], signal: AbortSignal) {
  if (deliveryKeys.length === 0) {
    return []
  }
  const answers = await unlessStopped(signal, () => lookUp.ask({ deliveryKeys, signal }))
  assert(answers.length === deliveryKeys.length, 'A destination answers for each key.')
  return answers
}

function isAnyFound(answers: readonly LookupAnswer[]): boolean {
  return answers.some(({ kind }) => kind === 'found')
}

function describeDenied({ object }: LookUp): string {
  return `Asked at ${object}, the destination knows nothing of writes that it has confirmed, so that it is not believed that another one is not there: mend where it is asked, or declare that it cannot be asked.`
}
