/**
 * How many requests a token may make in a window of time, in all processes together.
 *
 * It protects the database from a script that has gone wild; nothing correct rests on it. With Redis out of
 * reach each process counts for itself, and lets no request wait.
 */

export interface RequestLimitSettings {
  /** Requests that one caller may make within a window; 0: as many as it likes. */
  readonly maxRequests: number
  /** Whole seconds. A window begins with a caller's first request after its last window. */
  readonly windowS: number
}

export interface RequestLimit extends RequestLimitSettings {
  /** Counts one request of the caller. Milliseconds until it may come again, or null: it may go on. Never throws. */
  take(caller: string): Promise<number | null>
}
