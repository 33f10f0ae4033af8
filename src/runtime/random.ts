/** Chance, handed in: ids, tokens, and the starting points that must differ between processes. */
import { randomBytes } from 'node:crypto'
import type { Clock } from './clock.ts'

export interface Random {
  bytes(count: number): Uint8Array
}

export const systemRandom: Random = { bytes: (count) => randomBytes(count) }

/** From 0 to 1, both included. */
export function drawChance(random: Random): number {
  const [high = 0, low = 0] = random.bytes(2)
  return (high * 256 + low) / 65_535
}

/** Makes UUIDs of version 7 (RFC 9562): 48 bits of wall-clock milliseconds, then a counter and chance. */
export interface IdSource {
  next(): string
}

/** Ids of one source sort in the order in which they were made, also within a millisecond and when the clock is set back. */
export function createIdSource(clock: Clock, random: Random): IdSource {
  let lastMs = 0
  let counter = 0
  return {
    next: () => {
      const nowMs = clock.now().getTime()
      if (nowMs > lastMs) {
        lastMs = nowMs
        counter = 0
      } else {
        counter += 1
        if (counter > 0xfff) {
          lastMs += 1
          counter = 0
        }
      }
      return formatUuid7(lastMs, counter, random.bytes(8))
    },
  }
}

function formatUuid7(ms: number, counter: number, chance: Uint8Array): string {
  const time = ms.toString(16).padStart(12, '0')
  const tail = Buffer.from(chance)
  tail[0] = ((tail[0] ?? 0) & 0x3f) | 0x80
  const hex = tail.toString('hex')
  const sequence = counter.toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence}-${hex.slice(0, 4)}-${hex.slice(4)}`
}
