/** The demo's proof can fail (the control). `npm run test:exhaustive` runs it. */
import { describe, expect, it } from 'vitest'
import { countCustomers, DEMO_TIMEOUT_MS, runDemo } from '../support/demo-runs.ts'

describe('npm run demo', () => {
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
    DEMO_TIMEOUT_MS,
  )
})
