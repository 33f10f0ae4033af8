/**
 * An HTTP API that gives its rows page by page, in the ways that APIs do: a token in the body, counted pages or
 * records, or a header Link. What it answers can be told request by request.
 */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ApiRow = Readonly<Record<string, unknown>> | string | number | null

export interface AskedPage {
  readonly url: URL
  readonly headers: IncomingHttpHeaders
}

export type PageAnswer =
  | {
      readonly kind: 'answer'
      readonly status?: number
      readonly body: unknown
      readonly headers?: Readonly<Record<string, string>>
    }
  /** Half of the body, then the connection closes. */
  | { readonly kind: 'cut' }
  | { readonly kind: 'hang' }

export interface PagedApi {
  readonly baseUrl: string
  readonly asked: readonly AskedPage[]
  /** In the API's order. Whoever changes them changes what is read next. */
  rows: ApiRow[]
  /** What its header Date says; null: it sends none. */
  servedAt: Date | null
  /** Tokens that were given before are not known any more. */
  expireTokens(): void
  /** What a request gets instead of the truth; null: the truth. */
  decide(of: (asked: AskedPage) => PageAnswer | null): void
  close(): Promise<void>
}

export interface PagedApiOptions {
  /** TOKEN: behind a record that the token names. NUMBER: `page`, `offset`. LINK: the number, in the header. */
  readonly by: 'TOKEN' | 'NUMBER' | 'LINK'
  /** Records of a page where nobody asks for `size`. */
  readonly size?: number
  /** Whether the page with the last record names another one. */
  readonly isTokenOnLastPage?: boolean
}

export async function startPagedApi(options: PagedApiOptions): Promise<PagedApi> {
  let decide: (asked: AskedPage) => PageAnswer | null = () => null
  let epoch = 0
  const asked: AskedPage[] = []
  const server = createServer((request, response) => {
    const url = new URL(`http://${request.headers.host}${request.url}`)
    const one: AskedPage = { url, headers: request.headers }
    asked.push(one)
    const answer = decide(one) ?? tellTruth(api.rows, url, options, epoch)
    if (answer.kind === 'answer') {
      const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
      const date = api.servedAt === null ? {} : { date: api.servedAt.toUTCString() }
      const headers = { 'content-type': 'application/json', ...date, ...answer.headers }
      response.sendDate = false
      response.writeHead(answer.status ?? 200, headers).end(text)
    } else if (answer.kind === 'cut') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"items":[{"id":', () => request.socket.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const api: PagedApi = {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    asked,
    rows: [],
    servedAt: null,
    expireTokens: () => {
      epoch += 1
    },
    decide: (of) => {
      decide = of
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return api
}

function tellTruth(
  all: readonly ApiRow[],
  url: URL,
  { by, size: usual = 3, isTokenOnLastPage = false }: PagedApiOptions,
  epoch: number,
): PageAnswer {
  const since = url.searchParams.get('since')
  const rows = since === null ? all : all.filter((row) => String(memberOf(row, 'at')) >= since)
  const size = Number(url.searchParams.get('size') ?? usual)
  const token = url.searchParams.get('cursor')
  if (token !== null && !token.startsWith(`${epoch}:`)) {
    return { kind: 'answer', status: 410, body: { message: 'The cursor has expired.' } }
  }
  const start = token === null ? startOf(url, size) : placeBehind(rows, token)
  const items = rows.slice(start, start + size)
  const hasMore = start + size < rows.length || (isTokenOnLastPage && items.length > 0)
  const last = items.at(-1)
  switch (by) {
    case 'TOKEN': {
      const next = hasMore ? `${epoch}:${memberOf(last ?? null, 'id')}` : null
      return { kind: 'answer', body: { items, paging: { next, hasMore } } }
    }
    case 'NUMBER':
      return { kind: 'answer', body: { items, hasMore } }
    case 'LINK': {
      const page = start / size + 1
      const next = new URL(url)
      next.searchParams.set('page', String(page + 1))
      const links = `<${url.pathname}>; rel="first start"; title="a, \\"b\\"; rel=next"`
      const headers = {
        link: hasMore ? `${links}, <${next.pathname}${next.search}>; rel="next last"` : links,
      }
      return { kind: 'answer', body: items, headers }
    }
  }
}

function startOf({ searchParams }: URL, size: number): number {
  const offset = searchParams.get('offset')
  return offset === null ? (Number(searchParams.get('page') ?? 1) - 1) * size : Number(offset)
}

/** Rows come in the order of their ids; the one that the token names may be gone. */
function placeBehind(rows: readonly ApiRow[], token: string): number {
  const id = Number(token.split(':')[1])
  const index = rows.findIndex((row) => Number(memberOf(row, 'id')) > id)
  return index === -1 ? rows.length : index
}

function memberOf(row: ApiRow, name: string): unknown {
  return typeof row === 'object' && row !== null ? row[name] : undefined
}
