import { WordedError } from './worded-error.ts'

/** A bug: something that must hold did not. Never shown to a person; logged with its stack. */
export class InvariantError extends WordedError {
  override readonly name = 'InvariantError'
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) {
    throw new InvariantError(message)
  }
}

/** The default branch of every switch over a union: the compiler proves that it is never reached. */
export function unreachable(value: never): never {
  throw new InvariantError(`Unexpected value: ${nameOf(value)}.`)
}

/** The member of the union, and nothing that it carries. */
function nameOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) {
    return JSON.stringify(value)
  }
  return 'kind' in value ? JSON.stringify(value.kind) : 'an object'
}
