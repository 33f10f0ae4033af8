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

export type PendingRows = postgres.PendingQuery<postgres.Row[]>
type Rows = Awaited<PendingRows>

/** A query as the builder awaits it: as it is, or as lists of values. */
export interface SentQuery extends PromiseLike<Rows> {
  values(): SentQuery
}

/** A query that is sent by `carry`, once it is awaited, as the driver's own queries are. */
export function sentBy(
  send: () => PendingRows,
  carry: (send: () => Promise<Rows>) => Promise<Rows>,
): SentQuery {
  return {
    // biome-ignore lint/suspicious/noThenProperty: it takes the place of a query, which has one.
    then: (onRows, onError) => carry(async () => await send()).then(onRows, onError),
    values: () => sentBy(() => send().values() as unknown as PendingRows, carry),
  }
}

/** The builder's queries of the pool. */
export function denseQuery(send: () => PendingRows): SentQuery {
  return sentBy(send, async (sendOnce) => dense(await sendUnsent(sendOnce)))
}
