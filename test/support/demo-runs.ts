/** Runs the demo as its visitor does, and reads what it prints. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parse } from 'csv-parse/sync'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Longer than the demo's own deadline, so that it is the demo that says what took so long. */
export const DEMO_TIMEOUT_MS = 150_000

export interface DemoEnd {
  readonly code: number | null
  readonly output: string
  /** What stands behind each label of the proof. */
  readonly figures: Readonly<Record<string, number>>
}

export async function runDemo(...args: readonly string[]): Promise<DemoEnd> {
  const demo = spawn(process.execPath, ['--import', 'tsx', 'src/demo/demo.ts', ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const take = (chunk: Buffer) => {
    output += chunk.toString('utf8')
  }
  demo.stdout.on('data', take)
  demo.stderr.on('data', take)
  await once(demo, 'close')
  const lines = [...output.matchAll(/^ {2}([a-zA-Z ]+?) {2,}(\d+)$/gm)]
  return {
    code: demo.exitCode,
    output,
    figures: Object.fromEntries(lines.map(([, label, figure]) => [label, Number(figure)])),
  }
}

/** Records in the demo's file. */
export async function countCustomers(): Promise<number> {
  const text = await readFile(new URL('../../src/demo/data/customers.csv', import.meta.url))
  return parse(text, { columns: true }).length
}
