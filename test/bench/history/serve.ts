/**
 * A process that serves the page of the history bench: `node --import tsx test/bench/history/serve.ts <kind>`, with
 * DATABASE_URL, and for `bare` WORKSPACE_ID.
 */
import { connectBare } from './serve-bare.ts'
import { serveMercurius } from './serve-mercurius.ts'
import { serveOurs } from './serve-ours.ts'

const KINDS: Readonly<Record<string, (databaseUrl: string) => Promise<string>>> = {
  bare: connectBare,
  ours: (url) => serveOurs(url, { isCompiled: true }),
  interpreted: (url) => serveOurs(url, { isCompiled: false }),
  mercurius: serveMercurius,
}

const kind = process.argv[2] ?? ''
const address = await KINDS[kind]?.(process.env['DATABASE_URL'] ?? '')
process.stdout.write(`listens at ${address}\n`)
