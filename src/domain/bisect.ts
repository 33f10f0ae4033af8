/**
 * Finding the guilty records of a bulk call that was refused as a whole.
 *
 * Halve the suspect part and set the other half aside; what was set aside is sent in one last call. Of
 * 10,000 records with one guilty among them that takes at most 15 further calls (sending every half by
 * itself takes 27). Records of one identity stay together, so that their order is kept.
 */

/** Splits suspects into two parts of about the same number of records, never through a group. */
export function splitSuspects<T>(
  suspects: readonly T[],
  groupOf: (item: T) => string,
): { readonly first: readonly T[]; readonly second: readonly T[] } | null {
  const groups = new Map<string, T[]>()
  for (const item of suspects) {
    const group = groups.get(groupOf(item))
    if (group) {
      group.push(item)
    } else {
      groups.set(groupOf(item), [item])
    }
  }
  if (groups.size < 2) {
    return null
  }
  const first = new Set<T>()
  for (const group of groups.values()) {
    if (first.size > 0 && first.size + group.length > suspects.length / 2) {
      break
    }
    for (const item of group) {
      first.add(item)
    }
  }
  return {
    first: suspects.filter((item) => first.has(item)),
    second: suspects.filter((item) => !first.has(item)),
  }
}
