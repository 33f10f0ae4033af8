import { WordedError } from '../runtime/worded-error.ts'

/**
 * Leases: one holder a name, in Redis or in this process.
 *
 * Invariant: a lease is changed only by a caller that names the value it believes to be there
 * (compare-and-set, compare-and-delete). Correctness never rests on it: PostgreSQL's fence refuses
 * whoever is out of date.
 */

export type TakeResult =
  | { readonly kind: 'taken' }
  /** Somebody else's token is there. */
  | { readonly kind: 'held'; readonly heldBy: string }

/** Every method throws {@link CoordinationUnavailableError} when Redis is out of reach. */
export interface Leases {
  /** Takes a free lease for `lifeMs`. Taking what one already holds is `taken` and renews it. */
  take(name: string, token: string, lifeMs: number): Promise<TakeResult>
  /**
   * Puts `token` in the place of `heldBy`, if that is still what is there (or nothing is, or already
   * `token`: the answer to a first try may have been lost). False: it is somebody else's.
   */
  replace(name: string, heldBy: string, token: string, lifeMs: number): Promise<boolean>
  /** False: the lease is gone or another's, and it stays so; a renewal never takes. */
  renew(name: string, token: string, lifeMs: number): Promise<boolean>
  /** Compare-and-delete. False: it was not ours any more. */
  release(name: string, token: string): Promise<boolean>
  /** The token that is there, or null. */
  findHolder(name: string): Promise<string | null>
}

/** Redis did not answer in time, or refused. Whether what was asked for has been done is unknown. */
export class CoordinationUnavailableError extends WordedError {
  override readonly name = 'CoordinationUnavailableError'
}
