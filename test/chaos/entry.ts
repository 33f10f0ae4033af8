/**
 * The app as a process that can be killed, stopped or blocked at a fault point.
 *
 * It is composed as main.ts does it, with a fault hook on top: production configuration has no test
 * switches. What the environment arms, each as `point:n`, "when that point is reached for the n-th time":
 *   CHAOS_KILL   SIGKILL to itself
 *   CHAOS_STOP   SIGSTOP to itself; somebody else sends SIGCONT
 *   CHAOS_BLOCK  with a third part, milliseconds: nothing else runs in this process for so long
 *   CHAOS_HOLD   with a third part, a path: nothing else runs in this process until that file is there
 *   CHAOS_HURRY  milliseconds, without a point: a wait that would be longer lasts so long
 *   CHAOS_FREE   nothing holds a call up, whatever its rate
 *   CHAOS_SHOP   the address of the stand-in shop, where every shop is found
 * Each is told on stdout before it happens, as `chaos <mode> <point> <epoch milliseconds>`.
 */
import { existsSync, writeSync } from 'node:fs'
import { startApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { FREE_GATE } from '../../src/connectors/call-gate.ts'
import { FAULT_POINTS, type FaultHook, type FaultPoint } from '../../src/engine/fault-points.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'

interface ArmedFault {
  readonly point: FaultPoint
  readonly nth: number
  carryOut(): void
}

const HOLD_LOOK_MS = 20

const MODES = {
  KILL: () => process.kill(process.pid, 'SIGKILL'),
  STOP: () => process.kill(process.pid, 'SIGSTOP'),
  BLOCK: (ms: string) => {
    const endMs = performance.now() + Number(ms)
    while (performance.now() < endMs) {
      // Nothing else gets its turn: timers, answers, beats.
    }
  },
  HOLD: (path: string) => {
    const word = new Int32Array(new SharedArrayBuffer(4))
    while (!existsSync(path)) {
      Atomics.wait(word, 0, 0, HOLD_LOOK_MS)
    }
  },
} as const

function readArmed(mode: keyof typeof MODES): ArmedFault[] {
  const text = process.env[`CHAOS_${mode}`]
  if (!text) {
    return []
  }
  const [name, nth, third = ''] = text.split(':')
  const point = FAULT_POINTS.find((known) => known === name)
  if (!point || !Number.isInteger(Number(nth))) {
    throw new Error(`CHAOS_${mode}: ${text} is not point:n with a fault point of the engine.`)
  }
  const carryOut = () => {
    writeSync(1, `chaos ${mode.toLowerCase()} ${point} ${Date.now()}\n`)
    MODES[mode](third)
  }
  return [{ point, nth: Number(nth), carryOut }]
}

function createFaults(): FaultHook {
  const armed = (Object.keys(MODES) as (keyof typeof MODES)[]).flatMap(readArmed)
  const reached = new Map<FaultPoint, number>()
  return (point) => {
    const count = (reached.get(point) ?? 0) + 1
    reached.set(point, count)
    for (const fault of armed) {
      if (fault.point === point && fault.nth === count) {
        fault.carryOut()
      }
    }
  }
}

function createClock(): Clock {
  const hurryMs = Number(process.env['CHAOS_HURRY'] || Number.POSITIVE_INFINITY)
  const sleep: Clock['sleep'] = (ms, signal) => systemClock.sleep(Math.min(ms, hurryMs), signal)
  return { ...systemClock, sleep }
}

const shop = process.env['CHAOS_SHOP']
const app = await startApp(readConfig(process.env), {
  faults: createFaults(),
  clock: createClock(),
  ...(process.env['CHAOS_FREE'] ? { openGate: () => FREE_GATE } : {}),
  ...(shop === undefined ? {} : { baseUrlOfShop: () => shop }),
})
process.stdout.write(`tajo-sync serves ${app.address}/health\n`)
process.once('SIGTERM', () => void app.stop().then(() => process.exit(0)))
