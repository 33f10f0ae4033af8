/**
 * A query or mutation is answered in time, with an error where it takes too long.
 *
 * From then on none of its fields is resolved any more, so nothing more is asked of the database; the statement
 * that is under way is ended by the database's own limit (`statement_timeout`). A mutation that has begun is
 * not cut: it commits or it does not, and a repetition with its client key tells which.
 */
import { type ExecutionArgs, GraphQLError, getOperationAST, OperationTypeNode } from 'graphql'
import type { Clock } from '../runtime/clock.ts'

type Execute = (args: ExecutionArgs & { readonly signal: AbortSignal }) => unknown

export async function executeInTime(
  execute: Execute,
  args: ExecutionArgs,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<unknown> {
  const [late, answered] = [new AbortController(), new AbortController()]
  const isLate = clock.sleep(timeoutMs, answered.signal).then(
    () => {
      late.abort(new GraphQLError(describe(args, timeoutMs), { extensions: EXTENSIONS }))
      return { errors: [late.signal.reason] }
    },
    () => undefined,
  )
  try {
    return await Promise.race([execute({ ...args, signal: late.signal }), isLate])
  } catch (error) {
    if (late.signal.aborted) {
      return { errors: [late.signal.reason] }
    }
    throw error
  } finally {
    answered.abort()
  }
}

const EXTENSIONS = { code: 'TIMEOUT', http: { status: 504 } }

function describe({ document, operationName }: ExecutionArgs, timeoutMs: number): string {
  const operation = getOperationAST(document, operationName)?.operation
  return operation === OperationTypeNode.MUTATION
    ? `The mutation was not done within ${timeoutMs} ms. Whether it still is will be told by a repetition with the same clientKey.`
    : `The query was not answered within ${timeoutMs} ms: ask for less.`
}
