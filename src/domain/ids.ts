/** Ids are UUIDs (version 7: they sort by the time they were made) in lower-case text. */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/**
 * SHA-256 over the UTF-8 of a text, as 64 lower-case hexadecimal characters. Handed in, so that the
 * domain imports nothing. Digests and keys are hexadecimal text until a statement decodes them.
 */
export type Hash = (text: string) => string

/** The lowest id that is made at or after this moment of the wall clock (milliseconds since 1970, not before). */
export function firstIdAt(ms: number): string {
  const time = Math.max(ms, 0).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}
