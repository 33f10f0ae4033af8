/**
 * A transaction that ends with its connection.
 *
 * postgres.js 3.4 tells at once that the connection of a transaction is gone, and goes on with it all the
 * same: what the work still asks for, and then the driver's own rollback, it sends on that connection. That
 * ends the process, because nothing is there to write to; or, where the pool has opened the connection
 * again meanwhile, it is carried out there by itself, outside of any transaction.
 *
 * Invariant: once the connection is gone, nothing of the transaction is sent any more.
 */
import type postgres from 'postgres'
import { type PendingRows, type SentQuery, sentBy } from './driver-rows.ts'
import { isConnectionLost } from './unavailable.ts'

/** Commits what `work` did on the session it is given, or nothing. */
export async function transact<T>(
  client: postgres.Sql,
  work: (session: postgres.Sql) => Promise<T>,
): Promise<T> {
  const life = new TransactionLife()
  const begun = client.begin((inner) =>
    life.unlessOver(work(life.guard(inner as unknown as postgres.Sql))),
  ) as Promise<T>
  begun.catch((error: unknown) => life.end(error))
  return await Promise.race([begun, life.isOver])
}

class TransactionLife {
  /** Rejects when the connection is gone. */
  readonly isOver: Promise<never>
  #ended: { readonly error: unknown } | null = null
  #reject: (error: unknown) => void = () => undefined

  constructor() {
    this.isOver = new Promise((_, reject) => {
      this.#reject = reject
    })
    this.isOver.catch(() => undefined)
  }

  end(error: unknown): void {
    this.#ended ??= { error }
    this.#reject(error)
  }

  /** What the work came to; never settles when its connection is gone: the driver would go on with it. */
  unlessOver<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = (settleAs: () => void) => (this.#ended ? undefined : settleAs())
      work.then(
        (result) => settle(() => resolve(result)),
        (error: unknown) => settle(() => reject(error)),
      )
    })
  }

  guard(session: postgres.Sql): postgres.Sql {
    return new Proxy(session, {
      get: (target, property, receiver) =>
        property === 'unsafe'
          ? (...args: Parameters<typeof session.unsafe>) => this.#send(() => target.unsafe(...args))
          : Reflect.get(target, property, receiver),
    })
  }

  #send(send: () => PendingRows): SentQuery {
    return sentBy(send, async (sendOnce) => {
      if (this.#ended) {
        throw this.#ended.error
      }
      try {
        return await sendOnce()
      } catch (error) {
        if (isConnectionLost(error)) {
          this.end(error)
        }
        throw error
      }
    })
  }
}
