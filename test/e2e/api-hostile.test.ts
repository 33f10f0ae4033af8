/**
 * 20,000 malformed and hostile requests (`npm test`: a part of them): each has an answer, none of them breaks the
 * server, tells how it is made, or what another workspace has.
 */
import { Agent, type IncomingMessage, request } from 'node:http'
import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import { ViewerQuery } from '../../src/client/documents.ts'
import { useApi } from '../support/app.ts'
import { hostileRequest } from '../support/hostile-arbitraries.ts'
import { type HostileRequest, listHostileRequests } from '../support/hostile-requests.ts'
import { makeMarkedWorld, readWorld } from '../support/marked-world.ts'

const api = useApi()

const GENERATED = inject('isExhaustive') ? 20_000 : 2_000
const AT_ONCE = 24
const CHUNK = 500
const DEADLINE_MS = 30_000
const MAX_SHOWN = 10

interface Answer {
  readonly status: number
  readonly text: string
}

/** What the server would never say of its own accord: a stack, a statement, a file of its own. */
const TELLING =
  /\n\s+at |node_modules|file:\/\/|\.(ts|js|mjs):\d+|\b(select|insert into|update|delete from)\b [^"]+ (from|values|set|where)\b|Failed query|PostgresError|DrizzleQueryError|relation \\?"|RangeError|TypeError|Maximum call stack/

/** Why the answer is not one that a stranger may get; null: it is. */
function findFault({ status, text }: Answer, secrets: readonly string[], given: HostileRequest) {
  if (status >= 500) {
    return 'It is an error of the server.'
  }
  const [told] = TELLING.exec(text) ?? []
  if (told !== undefined && !isEcho(told, given)) {
    return `It tells ${JSON.stringify(told)}.`
  }
  const secret = secrets.find((one) => text.includes(one))
  // An id that was given may be named in the answer.
  return secret === undefined || isEcho(secret, given) ? null : `It tells ${secret}.`
}

function isEcho(text: string, { path, body }: HostileRequest): boolean {
  return path.includes(text) || body?.includes(text) === true
}

/** Sends it as it stands, and reads all of the answer, or the beginning of one that has no end. */
function send(agent: Agent, token: string | null, given: HostileRequest): Promise<Answer> {
  const { hostname, port } = new URL(api().address)
  const authorization = token === null ? {} : { authorization: `Bearer ${token}` }
  const length = given.body === null ? {} : { 'content-length': String(given.body.length) }
  return new Promise((resolve, reject) => {
    const headers = { ...authorization, ...length, ...given.headers }
    const { method, path } = given
    const sent = request({ agent, hostname, port, method, path, headers }, (response) => {
      readAnswer(response).then(resolve, reject)
    })
    sent.setTimeout(DEADLINE_MS, () => sent.destroy(new Error('There was no answer.')))
    sent.on('error', reject)
    sent.end(given.body ?? undefined)
  })
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const isEndless = response.headers['content-type']?.startsWith('text/event-stream') === true
  const chunks: Buffer[] = []
  for await (const chunk of response) {
    chunks.push(chunk as Buffer)
    if (isEndless && chunks.length > 1) {
      break
    }
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }
}

/** Sends them, some at once; what is wrong with their answers. */
async function sendAll(
  requests: readonly HostileRequest[],
  token: string | null,
  secrets: readonly string[],
): Promise<string[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const faults: string[] = []
  const left = [...requests]
  const work = async () => {
    for (let given = left.pop(); given !== undefined; given = left.pop()) {
      const answer = await send(agent, token, given).catch((error: Error) => error)
      const fault = answer instanceof Error ? String(answer) : findFault(answer, secrets, given)
      if (fault !== null) {
        const shown = answer instanceof Error ? '' : answer.text.slice(0, 500)
        const { method, path, body } = given
        const sent = `${method} ${path.slice(0, 200)} ${body?.toString().slice(0, 500) ?? ''}`
        faults.push(`${fault}\n  sent: ${sent}\n  answer: ${shown}`)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  agent.destroy()
  return faults
}

describe('hostile requests', () => {
  it('of the hand list are answered, and tell nothing', { timeout: 120_000 }, async () => {
    const [owner, stranger] = [await makeMarkedWorld(api()), await makeMarkedWorld(api())]
    const before = await readWorld(api(), owner)
    const requests = listHostileRequests(Object.values(owner.ids))
    expect(requests.length).toBeGreaterThan(300)
    for (const token of [stranger.workspace.token, null, 'tajo_\u00ff']) {
      expect((await sendAll(requests, token, owner.secrets)).slice(0, MAX_SHOWN)).toEqual([])
    }
    expect(await readWorld(api(), owner)).toEqual(before)
    expect(await stranger.workspace.client.request(ViewerQuery, {})).toBeDefined()
  })

  it('made over the schema are answered, and tell nothing', { timeout: 900_000 }, async () => {
    const [owner, stranger] = [await makeMarkedWorld(api()), await makeMarkedWorld(api())]
    const before = await readWorld(api(), owner)
    const ids = [...Object.values(owner.ids), ...Object.values(stranger.ids)]
    const seed = Math.trunc(Math.random() * 2 ** 31)
    for (let made = 0; made < GENERATED; made += CHUNK) {
      const options = { numRuns: CHUNK, seed: seed + made }
      const requests = fc.sample(hostileRequest(ids), options)
      const faults = await sendAll(requests, stranger.workspace.token, owner.secrets)
      expect([options, faults.slice(0, MAX_SHOWN)]).toEqual([options, []])
    }
    expect(await readWorld(api(), owner)).toEqual(before)
    expect(await stranger.workspace.client.request(ViewerQuery, {})).toBeDefined()
  })
})
