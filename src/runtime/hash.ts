/** SHA-256, for the domain, which imports nothing. */
import { hash } from 'node:crypto'

/** Over the UTF-8 of a text: 64 lower-case hexadecimal characters. One call, because a Hash object costs three times as much. */
export function sha256(text: string): string {
  return hash('sha256', text, 'hex')
}
