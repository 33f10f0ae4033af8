/**
 * The floor: the same statements, prepared, and their rows as JSON. It knows no GraphQL, roles or errors, and shapes
 * nothing but the attempts into their runs.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import postgres from 'postgres'
import { sha256 } from '../../../src/runtime/hash.ts'
import type { Handle } from '../../../src/store/database.ts'
import { findAttempts, listRuns } from '../../../src/store/history/run-pages.ts'
import { CONNECTIONS } from './serve-ours.ts'

const AT_FIRST = '00000000-0000-0000-0000-000000000000'

export async function connectBare(databaseUrl: string): Promise<string> {
  const client = postgres(databaseUrl, { max: CONNECTIONS, fetch_types: false })
  const page = await readStatement((handle) =>
    listRuns(handle, AT_FIRST, {
      page: { after: AT_FIRST, before: null, limit: 51, isFromEnd: false },
      filter: { standings: ['provider_unavailable'] },
    }),
  )
  const attempts = await readStatement((handle) => findAttempts(handle, []))
  const send = (text: string, parameters: readonly unknown[]) =>
    client.unsafe(text, parameters as never[], { prepare: true })
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const { workspaceId, after } = JSON.parse(Buffer.concat(chunks).toString('utf8'))
      const token = sha256((request.headers.authorization ?? '').slice(7))
      const [found] = await send('select id, role from access_token where token_hash = $1', [
        Buffer.from(token, 'hex'),
      ])
      if (!found) {
        response.writeHead(401).end()
        return
      }
      const runs = await send(
        page.text,
        page.parameters.map((value, n) =>
          value === AT_FIRST
            ? n === page.parameters.lastIndexOf(AT_FIRST)
              ? after
              : workspaceId
            : value,
        ),
      )
      const shown = runs.slice(0, 50)
      const tried = await send(attempts.text, [
        `{${shown.map(({ id }) => id).join(',')}}`,
        ...attempts.parameters.slice(1),
      ])
      const byRun = new Map<unknown, unknown[]>()
      for (const one of tried) {
        const known = byRun.get(one['runId'])
        if (known) {
          known.push(one)
        } else {
          byRun.set(one['runId'], [one])
        }
      }
      const body = JSON.stringify({
        runs: shown.map((run) => ({ ...run, attempts: byRun.get(run['id']) ?? [] })),
        hasNextPage: runs.length > 50,
      })
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function readStatement(ask: (handle: Handle) => Promise<unknown>) {
  const dialect = new PgDialect()
  let read = dialect.sqlToQuery(sql``)
  await ask({
    rows: (statement: Parameters<Handle['rows']>[0]) => {
      read = dialect.sqlToQuery(statement)
      return Promise.resolve([])
    },
  } as unknown as Handle)
  return { text: read.sql, parameters: read.params }
}
