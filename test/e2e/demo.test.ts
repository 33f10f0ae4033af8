/** The demo as its visitor runs it: the app is killed in mid-page, and the run that was asked for goes on (I6). */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parse } from 'csv-parse/sync'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Longer than the demo's own deadline, so that it is the demo that says what took so long. */
const TIMEOUT_MS = 150_000

describe('npm run demo', () => {
  it(
    'kills the app in mid-page, goes on, and finds nothing lost and nothing doubled',
    async () => {
      const customers = await countCustomers()
      const { code, output, figures } = await runDemo('--exit')
      expect({ code, output }).toMatchObject({ code: 0 })
      expect(figures).toMatchObject({
        'records in the file': customers,
        'records read': customers,
        'effects at the CRM': customers,
        doubled: 0,
        lost: 0,
        changed: 0,
      })
      expect(figures['replayed from the ledger']).toBeGreaterThan(0)
      expect(figures['sent again with the same key']).toBeGreaterThan(0)
      expect(output).toContain('Its attempts: 1 recovered, 2 completed.')
    },
    TIMEOUT_MS,
  )

  it(
    'finds the doubled records of a CRM that does not keep to what the sync was told of it',
    async () => {
      const { code, output, figures } = await runDemo('--exit', '--crm-forgets-keys')
      expect({ code, output }).toMatchObject({ code: 1 })
      const { doubled = 0 } = figures
      expect(doubled).toBeGreaterThan(0)
      expect(figures).toMatchObject({
        lost: 0,
        'effects at the CRM': (await countCustomers()) + doubled,
      })
      expect(output).toContain(`${doubled} records were written to the CRM twice.`)
    },
    TIMEOUT_MS,
  )

  it('refuses an option that it does not have', async () => {
    const { code, output } = await runDemo('--fast')
    expect(code).toBe(2)
    expect(output).toContain("Unknown option '--fast'")
    expect(output).toContain('Usage: npm run demo')
  })
})

interface DemoEnd {
  readonly code: number | null
  readonly output: string
  /** What stands behind each label of the proof. */
  readonly figures: Readonly<Record<string, number>>
}

async function runDemo(...args: readonly string[]): Promise<DemoEnd> {
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

async function countCustomers(): Promise<number> {
  const text = await readFile(new URL('../../src/demo/data/customers.csv', import.meta.url))
  return parse(text, { columns: true }).length
}
