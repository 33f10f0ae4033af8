/** The page of docs/examples in a browser, served from another origin than the API, as a frontend is. */
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openApi, type TestApi } from '../support/app.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { makeToken } from '../support/factories.ts'
import { runSteps } from '../support/run-steps.ts'
import { getChromium } from '../support/service-binaries.ts'
import { makePublishedSync } from '../support/sync-steps.ts'

const TIMEOUT_MS = 120_000
const fileOf = (path: string) => readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)))

/** What the page says lies beside it. */
const FILES: Readonly<Record<string, readonly [type: string, path: string]>> = {
  '/': ['text/html', 'docs/examples/dashboard.html'],
  '/graphql-sse.js': ['text/javascript', 'node_modules/graphql-sse/umd/graphql-sse.min.js'],
}

function servePage(): Server {
  return createServer(async (request, response) => {
    const found = FILES[request.url ?? '']
    response.writeHead(found ? 200 : 404, { 'content-type': found?.[0] ?? 'text/plain' })
    response.end(found ? await fileOf(found[1]) : '')
  })
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

describe('dashboard.html', { timeout: TIMEOUT_MS }, () => {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')
  let pages: Server
  let origin: string
  let browser: Browser

  beforeAll(async () => {
    pages = servePage()
    await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${portOf(pages)}`
    browser = await chromium.launch({
      executablePath: getChromium(),
      // As root there is no sandbox.
      args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    })
  }, TIMEOUT_MS)
  afterAll(async () => {
    await browser.close()
    pages.closeAllConnections()
    await new Promise((resolve) => pages.close(resolve))
  })

  async function watch(api: TestApi, token: string) {
    const page = await browser.newPage()
    await page.goto(origin)
    await page.getByLabel('API').fill(`${api.address}/graphql`)
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Watch' }).click()
    return page
  }

  it('shows the runs of the workspace as they go on, whatever a sync is called', async () => {
    const api = await openApi(database(), {
      settings: { keepAliveMs: 200 },
      limits: { allowedOrigins: [origin] },
    })
    const { putRun, failRun } = runSteps(() => api)
    const workspace = await api.makeWorkspace()
    const name = '<b>Orders</b> & "more"'
    const sync = await makePublishedSync(api, workspace, { name })
    const runId = await putRun(workspace, sync, { status: 'running' })
    const { token } = await makeToken(api.database, workspace.workspaceId, { role: 'viewer' })
    const page = await watch(api, token)
    await page.getByRole('status').getByText('Connected.').waitFor()
    const row = page.locator(`tr[id="${runId}"]`)
    await row.getByText('RUNNING').waitFor()
    expect(await row.locator('td').allInnerTexts()).toEqual([
      ...[name, runId, 'RUNNING', '0', '0', '0'],
    ])
    await failRun(runId)
    await row.getByText('FAILED').waitFor()
    await page.close()
    await api.stop()
  })

  it('is told nothing where its origin is not allowed', async () => {
    const api = await openApi(database())
    const { token } = await api.makeWorkspace()
    const page = await watch(api, token)
    await page.getByRole('status').getByText('Failed to fetch').waitFor()
    expect(await page.locator('tbody tr').count()).toBe(0)
    await page.close()
    await api.stop()
  })
})
