/**
 * The stand-in for Brevo as a process of its own, so that it neither dies with the app nor takes its event loop. It
 * prints its address, with the version's path; its key is always `xkeysib-stand-in`. Whoever tests asks it beside the API:
 *   GET  /oracle            what was done: writes in order, contacts, imports
 *   POST /faults            a list of faults for the next requests that write
 *   POST /imports/<id>      carries out an import that waits for it
 *   POST /settings          `looksUntilDone`, `isLimited`, `attributes`
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { showContact } from './brevo/routes.ts'
import { type BrevoStandIn, startBrevo } from './brevo/server.ts'

const standIn = await startBrevo({ nowMs: () => performance.now() })
const control = createServer((request, response) => {
  answer(standIn, request).then(
    (body) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    },
    (error: unknown) => response.destroy(error as Error),
  )
})
control.listen(0, '127.0.0.1', () => {
  const { port } = control.address() as AddressInfo
  process.stdout.write(`listens at ${standIn.url} and tells at http://127.0.0.1:${port}\n`)
})

async function answer(brevo: BrevoStandIn, request: IncomingMessage): Promise<unknown> {
  const { account, processes, limits } = brevo
  const [, first, second] = (request.url ?? '').split('/')
  switch (`${request.method} ${first}`) {
    case 'GET oracle':
      return {
        writes: account.writes,
        contacts: [...account.contacts.values()].map(showContact),
        deleted: account.deleted,
        imports: processes.all.map(({ id, status }) => ({ id, status })),
        mostOpenImports: processes.mostOpen,
        leakedKeys: brevo.leakedKeys,
        requests: brevo.requests.length,
      }
    case 'POST faults':
      brevo.script(...JSON.parse(await readBody(request)))
      return {}
    case 'POST imports':
      processes.finish(Number(second))
      return {}
    case 'POST settings': {
      const { looksUntilDone, isLimited, attributes } = JSON.parse(await readBody(request))
      processes.looksUntilDone =
        looksUntilDone === undefined ? processes.looksUntilDone : looksUntilDone
      limits.isOn = isLimited ?? limits.isOn
      account.attributes.push(...(attributes ?? []))
      return {}
    }
    default:
      throw new Error(`Nobody answers ${request.method} ${request.url}.`)
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) {
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
