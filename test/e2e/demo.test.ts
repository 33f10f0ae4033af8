/** The demo as its visitor runs it: the app is killed in mid-page, and the run that was asked for goes on (I6). */
import { describe, expect, it } from 'vitest'
import { countCustomers, DEMO_TIMEOUT_MS, runDemo } from '../support/demo-runs.ts'

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
    DEMO_TIMEOUT_MS,
  )

  it('refuses an option that it does not have', async () => {
    const { code, output } = await runDemo('--fast')
    expect(code).toBe(2)
    expect(output).toContain("Unknown option '--fast'")
    expect(output).toContain('Usage: npm run demo')
  })
})
