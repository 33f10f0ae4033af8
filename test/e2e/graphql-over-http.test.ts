/** The specification of GraphQL over HTTP, by its official audits, against the running server. */
import { type AuditResult, auditServer } from 'graphql-http'
import { describe, expect, it } from 'vitest'
import { useApi } from '../support/app.ts'

const api = useApi()

/** What fails; a request of the suite is sent with `headers` besides its own. */
async function audit(headers: Readonly<Record<string, string>>) {
  const { token } = await api().makeWorkspace()
  const results = await auditServer({
    url: `${api().address}/graphql`,
    fetchFn: (url: string, init: RequestInit = {}) => {
      const own = new Headers(init.headers)
      own.set('authorization', `Bearer ${token}`)
      for (const [name, value] of Object.entries(headers)) {
        own.set(name, value)
      }
      return fetch(url, { ...init, headers: own })
    },
  })
  expect(results.length).toBeGreaterThan(60)
  return results.filter(({ status }) => status !== 'ok').map(describeAudit)
}

const describeAudit = ({ id, name }: AuditResult) => `${id} ${name}`

describe('the audits of graphql-http', () => {
  it('pass, all of them: those that MUST, SHOULD and MAY', async () => {
    expect(await audit({ 'graphql-require-preflight': '1' })).toEqual([])
  })

  it('that only MAY pass ask by GET, which is refused without the header that a browser asks for first', async () => {
    const failed = await audit({})
    expect(failed.length).toBeGreaterThan(0)
    expect(failed.filter((name) => !/ MAY .*GET/.test(name))).toEqual([])
  })
})
