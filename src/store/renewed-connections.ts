/**
 * A pool of connections that is renewed when one of them has fallen silent.
 *
 * A connection may be half open: the other end is gone, or a machine between has forgotten it, and nobody says so.
 * Neither the driver nor the system notices while an answer is awaited (retransmission goes on for a quarter of
 * an hour), and PostgreSQL's own `statement_timeout` cannot reach us. Invariant: whoever asked has an answer or
 * an error within the deadline and the time that is left to the others; no connection stays lost for good. What
 * became of a statement that got no answer is unknown, as it is when a connection breaks.
 */
import type postgres from 'postgres'
import type { Clock } from '../runtime/clock.ts'

export interface RenewalOptions {
  readonly clock: Clock
  /** Longer than any statement may take. */
  readonly answerDeadlineMs: number
  /** How long the statements on the other connections of the pool may go on, in seconds. */
  readonly graceS: number
  open(): postgres.Sql
}

/** A client as the driver makes it, whose statements and transactions are watched. */
export function openRenewedConnections(options: RenewalOptions): postgres.Sql {
  const pool = new RenewedPool(options)
  return new Proxy(pool.client, {
    get: (_, property) => {
      switch (property) {
        case 'unsafe':
          return (...args: Parameters<postgres.Sql['unsafe']>) =>
            pool.watch(pool.client.unsafe(...args))
        case 'begin':
          return (work: (tx: postgres.TransactionSql) => Promise<unknown>) =>
            pool.watch(pool.client.begin(work))
        case 'end':
          return (given?: { timeout?: number }) => pool.end(given)
        default:
          return Reflect.get(pool.client, property)
      }
    },
  })
}

/** A statement or a transaction that is under way. */
interface Asked {
  readonly client: postgres.Sql
  readonly atMs: number
}

class RenewedPool {
  client: postgres.Sql
  readonly #options: RenewalOptions
  /** In the order in which they were asked. */
  readonly #asked = new Set<Asked>()
  readonly #ending = new Set<Promise<void>>()
  readonly #ended = new AbortController()
  #isLooking = false

  constructor(options: RenewalOptions) {
    this.#options = options
    this.client = options.open()
  }

  /** Hands on what the driver gave, and renews the pool when it is not settled in time. */
  watch<Pending extends PromiseLike<unknown>>(pending: Pending): Pending {
    const asked = { client: this.client, atMs: this.#options.clock.monotonicMs() }
    this.#asked.add(asked)
    const settle = () => this.#asked.delete(asked)
    // The driver sends it a turn later, so that it may still be told in which shape its rows are wanted.
    pending.then(settle, settle)
    if (!this.#isLooking) {
      void this.#look()
    }
    return pending
  }

  async end(given?: { readonly timeout?: number }): Promise<void> {
    this.#ended.abort()
    await Promise.all([this.client.end(given), ...this.#ending])
  }

  /** Waits for the oldest, as long as there is one. */
  async #look(): Promise<void> {
    const { clock, answerDeadlineMs } = this.#options
    this.#isLooking = true
    for (
      let [oldest] = this.#asked;
      oldest && !this.#ended.signal.aborted;
      [oldest] = this.#asked
    ) {
      const waitMs = oldest.atMs + answerDeadlineMs - clock.monotonicMs()
      if (waitMs > 0) {
        await clock.sleep(waitMs, this.#ended.signal).catch(() => undefined)
      } else {
        this.#asked.delete(oldest)
        this.#renew(oldest.client)
      }
    }
    this.#isLooking = false
  }

  #renew(silent: postgres.Sql): void {
    if (silent !== this.client) {
      return // others have waited for it as well
    }
    this.client = this.#options.open()
    // What was set on the pool holds for its successor.
    Object.assign(this.client.options.parsers, silent.options.parsers)
    Object.assign(this.client.options.serializers, silent.options.serializers)
    const ended = silent.end({ timeout: this.#options.graceS })
    this.#ending.add(ended)
    void ended.then(() => this.#ending.delete(ended))
  }
}
