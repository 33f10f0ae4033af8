/**
 * The app as main.ts starts it, for the bench of subscriptions: it tells its parent what it holds, after a
 * collection of garbage, which needs `--expose-gc`.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { startApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { keepHeapSmall } from '../../src/runtime/memory.ts'

/** What the process holds at a moment at which it has nothing to do. */
export interface Held {
  readonly heapBytes: number
  readonly residentBytes: number
  /** Sockets, timers and the like. */
  readonly resources: number
}

/** What a socket leaves behind is let go in later turns of the loop. */
const TURNS = 3
const TURN_MS = 200

async function measure(): Promise<Held> {
  for (let turn = 0; turn < TURNS; turn += 1) {
    await wait(TURN_MS)
    globalThis.gc?.()
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  const resources = process.getActiveResourcesInfo().length
  return { heapBytes: heapUsed + external, residentBytes: rss, resources }
}

keepHeapSmall()
const app = await startApp(readConfig(process.env))
process.on('message', () => {
  void measure().then((held) => process.send?.(held))
})
process.on('disconnect', () => process.exit(0))
process.stdout.write(`tajo-sync serves ${app.address}/graphql\n`)
