/** Waits for something that other processes bring about. */
import { setTimeout as wait } from 'node:timers/promises'

const LOOK_MS = 20
const DEADLINE_MS = 60_000

export async function waitUntil(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + DEADLINE_MS
  while (!(await isTrue())) {
    if (performance.now() > deadlineMs) {
      throw new Error(`It did not happen within ${DEADLINE_MS / 1000} s: ${isTrue}`)
    }
    await wait(LOOK_MS)
  }
}
