/** Ids are UUIDs (version 7: they sort by the time they were made) in lower-case text. */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** SHA-256 over a text: 32 bytes. Handed in, so that the domain imports nothing. */
export type Hash = (text: string) => Uint8Array

/** Bytes as lower-case hexadecimal text. */
export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) {
    text += HEX[byte]
  }
  return text
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
