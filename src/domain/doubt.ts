/**
 * Settling what is in doubt: a person says what became of a delivery whose answer was lost.
 *
 * Invariant: nothing is settled whose call may still be under way: its attempt is over, and its quiet time
 * has passed since (I16).
 */

const SETTLEMENTS = ['delivered', 'send_again'] as const
/** What a person found out at the destination. */
export type Settlement = (typeof SETTLEMENTS)[number]

/**
 * Why a person is asked about a delivery that was not left by a destination of class `none`. `class_changed`:
 * it was sent under a class by which it cannot be settled any more. `import_out_of_reach`: nobody tells what became
 * of its import, where that was begun nor where the sync says now. `lookup_moved`: it is not there where the sync
 * says now, and nothing shows that it would be.
 */
export const DOUBT_CAUSES = ['class_changed', 'import_out_of_reach', 'lookup_moved'] as const
export type DoubtCause = (typeof DOUBT_CAUSES)[number]

/** An intent as it stands: the positions that it still names. */
export interface Doubt {
  readonly positions: readonly number[]
  /** Its attempt is still running. */
  readonly isInFlight: boolean
  /** Its quiet time has passed. */
  readonly isQuiet: boolean
}

/** What was settled of an intent before. */
export interface SettledBefore {
  readonly positions: readonly number[]
  readonly settlement: Settlement
}

export type SettleDecision =
  /** `indexes`: the places of the wanted positions in the intent. `rest`: all others. */
  | {
      readonly kind: 'settle'
      readonly indexes: readonly number[]
      readonly rest: readonly number[]
    }
  | { readonly kind: 'noop' }
  | { readonly kind: 'refuse'; readonly why: 'not_found' | 'in_flight' }
  /** It was settled otherwise. */
  | { readonly kind: 'refuse'; readonly why: 'settled'; readonly as: Settlement }

/** `position`: the record, or null for all that the intent names. `doubt`: null when there is no such intent any more. */
export function decideSettle(facts: {
  readonly position: number | null
  readonly settlement: Settlement
  readonly doubt: Doubt | null
  readonly before: readonly SettledBefore[]
}): SettleDecision {
  const { position, doubt } = facts
  const places = doubt ? [...doubt.positions.entries()] : []
  const isWanted = ([, at]: readonly [number, number]) => position === null || at === position
  const indexes = places.filter(isWanted).map(([index]) => index)
  if (!doubt || indexes.length === 0) {
    return decideRepeated(facts)
  }
  if (doubt.isInFlight || !doubt.isQuiet) {
    return { kind: 'refuse', why: 'in_flight' }
  }
  const rest = places.filter((place) => !isWanted(place)).map(([index]) => index)
  return { kind: 'settle', indexes, rest }
}

/** The intent does not name the position: it was settled before, or never did. */
function decideRepeated(facts: {
  readonly position: number | null
  readonly settlement: Settlement
  readonly before: readonly SettledBefore[]
}): SettleDecision {
  const { position, settlement, before } = facts
  const same = before.filter(({ positions }) => position === null || positions.includes(position))
  const other = same.find((deed) => deed.settlement !== settlement)
  if (other) {
    return { kind: 'refuse', why: 'settled', as: other.settlement }
  }
  return same.length > 0 ? { kind: 'noop' } : { kind: 'refuse', why: 'not_found' }
}
