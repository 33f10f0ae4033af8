/**
 * What a token may do in its workspace. Each role may do what those before it may.
 *
 * `viewer` reads and watches. `operator` keeps syncs running: retries, runs, pauses, cancels, settles what is in
 * doubt. `publisher` changes what they do: connections, mappings, what is published. `admin` says who may do what.
 */
export const ROLES = ['viewer', 'operator', 'publisher', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** Whether one role includes another. */
export function includesRole(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}
