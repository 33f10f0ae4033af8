/** SHA-256, for the domain, which imports nothing. */
import { createHash, timingSafeEqual } from 'node:crypto'

/** 32 bytes over the UTF-8 of a text. */
export function sha256(text: string): Uint8Array {
  return createHash('sha256').update(text, 'utf8').digest()
}

/** Compares without telling by its duration where the texts differ. */
export function isSameSecret(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
