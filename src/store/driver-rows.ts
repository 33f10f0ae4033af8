/**
 * What the driver's answers need before they can be trusted.
 *
 * When the server ends a connection, postgres.js 3.4 answers the statement under way with
 * `CONNECTION_CLOSED` and keeps the server's own word, which is fatal, for the first statement that would
 * open the connection again. That one is never sent; nor is one that the server does not let in.
 *
 * It counts the rows of an answer for each connection, and does not begin anew when an answer
 * breaks off: after an error, or the end of the connection, in the middle of it. The next answer on that
 * connection then stands behind as many holes, so that its first row is missing: a run that is ours
 * looks lost. The rows themselves are right, and only the next answer is concerned.
 */
import type postgres from 'postgres'

/** The rows of an answer without the holes in front of them. */
export function dense<Rows extends readonly unknown[]>(rows: Rows): Rows {
  return rows.length === 0 || 0 in rows ? rows : (rows.filter(() => true) as unknown as Rows)
}

/** Sends again, once, what was refused before it was sent. */
export async function sendUnsent<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send()
  } catch (error) {
    if (error instanceof Error && 'severity' in error && error.severity === 'FATAL') {
      return await send()
    }
    throw error
  }
}

type PendingRows = postgres.PendingQuery<postgres.Row[]>

/** A query of the builder, which awaits it as it is or as lists of values. */
export function denseQuery(
  send: () => PendingRows,
): PromiseLike<unknown> & { values(): PromiseLike<unknown> } {
  return {
    // biome-ignore lint/suspicious/noThenProperty: as the driver's own queries, it is sent when it is awaited.
    then: (onRows, onError) => sendUnsent(send).then(dense).then(onRows, onError),
    values: () => denseQuery(() => send().values() as unknown as PendingRows),
  }
}
