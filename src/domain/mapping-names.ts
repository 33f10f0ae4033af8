/** Names in messages: quoted and cut, and the nearest known name for one that is misspelt. */

/** Longest part of a name that a message repeats. */
const MAX_SHOWN = 100

/** A name as messages show it, in quotes. */
export function quoteName(name: string): string {
  return `"${shorten(name)}"`
}

/** Cuts what is too long to be read, without splitting a surrogate pair, and makes it fit to be stored. */
export function shorten(name: string): string {
  const shown = name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name
  return shown.replaceAll('\u0000', '\uFFFD').toWellFormed()
}

/** The end of a message, before its full stop: `; the nearest name is "last_name"`, or nothing when none is near. */
export function suggestName(name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known)
  return nearest === null ? '' : `; the nearest name is ${quoteName(nearest)}`
}

/** The known name with the fewest edits, if it is near enough to be a slip; the first of equals. */
function findNearest(name: string, known: readonly string[]): string | null {
  const plain = foldName(name)
  let nearest: string | null = null
  let fewest = Math.max(1, Math.floor(Math.min(plain.length, MAX_SHOWN) / 3)) + 1
  for (const candidate of known) {
    const folded = foldName(candidate)
    if (Math.abs(folded.length - plain.length) < fewest && plain.length <= MAX_SHOWN) {
      const edits = countEdits(plain, folded)
      if (edits < fewest) {
        nearest = candidate
        fewest = edits
      }
    }
  }
  return nearest
}

/** `lastName`, `LAST_NAME` and `last name` are near to `last_name`. */
function foldName(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_.-]/g, '')
}

/** Levenshtein's distance, one row at a time. */
function countEdits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
