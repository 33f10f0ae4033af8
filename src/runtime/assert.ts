/** A bug: something that must hold did not. Never shown to a person; logged with its stack. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) {
    throw new InvariantError(message)
  }
}

/** The default branch of every switch over a union: the compiler proves that it is never reached. */
export function unreachable(value: never): never {
  throw new InvariantError(`Unexpected value: ${JSON.stringify(value)}.`)
}
