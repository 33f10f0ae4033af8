/**
 * `npm run demo`: a real run on real input, killed in the middle and gone on with, and the proof that
 * nothing was lost and nothing written twice.
 *
 * The app runs as a process of its own and is used through its API only. Whatever happens, that process
 * is stopped and its directory removed; the exit code is 0 only when the proof holds.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createApiClient } from '../client/api-client.ts'
import {
  followRun,
  getRun,
  PAGE_SIZE,
  publishCustomerSync,
  RECORDS_PER_CALL,
  type Run,
  startRun,
} from './api-steps.ts'
import { type AppProcess, type AppProcessOptions, startAppProcess } from './app-process.ts'
import { type Crm, startCrm } from './crm.ts'
import { FILE_ROOT, readExpectedContacts } from './customers.ts'
import { createProgressView, type ProgressView } from './progress-view.ts'
import { type Proof, prove } from './proof.ts'

const HELP = `Usage: npm run demo -- [options]

Sends the customers of src/demo/data to a small CRM, kills the app with SIGKILL at about 40 %, starts it
again and proves that every record arrived exactly once.

  --exit              end after the proof; otherwise the app stays up until Ctrl-C
  --crm-forgets-keys  the CRM applies a repeated delivery key again, which the sync was told it does
                      not: the demo then finds doubled records and exits with 1
  --help              show this text
`

/** About five times what it takes on two slow cores. */
const DEADLINE_MS = 120_000
/** Share of the file after which the app is killed. */
const KILL_AT = 0.4

interface Options {
  readonly exit: boolean
  readonly crmForgetsKeys: boolean
}

/** What has to be ended or removed, newest last. */
type Closing = (() => Promise<void>)[]

async function main(options: Options): Promise<number> {
  const closing: Closing = []
  const interrupted = catchInterrupt()
  const deadline = AbortSignal.timeout(DEADLINE_MS)
  try {
    const shown = await Promise.race([
      show(options, closing),
      once(interrupted, () => null),
      once(deadline, () => {
        throw new Error(`The demo did not end within ${DEADLINE_MS / 1000} s.`)
      }),
    ])
    if (!shown) {
      return 130
    }
    printProof(shown.proof)
    if (shown.proof.faults.length > 0) {
      return 1
    }
    if (!options.exit) {
      printInvitation(shown.app)
      await once(interrupted, () => null)
    }
    return 0
  } catch (error) {
    console.error(`The demo failed. ${describe(error)}`)
    return 1
  } finally {
    for (const close of closing.splice(0).reverse()) {
      await close()
    }
  }
}

async function show(
  options: Options,
  closing: Closing,
): Promise<{ readonly app: AppProcess; readonly proof: Proof }> {
  const expected = await readExpectedContacts()
  const directory = await mkdtemp(join(tmpdir(), 'tajo-demo-'))
  closing.push(() => rm(directory, { recursive: true, force: true }))
  const crm = await startCrm({ honoursKeys: !options.crmForgetsKeys })
  closing.push(() => crm.close())
  const place = { dataDirectory: join(directory, 'data'), fileRoot: FILE_ROOT }

  console.log('Starting the app on an empty directory; the first start takes a few seconds.')
  const first = await start(place, closing)
  const syncId = await publishCustomerSync(first.client, crm.url)
  const runId = await startRun(first.client, syncId)
  console.log(
    `Running a sync of ${expected.length} customers, ${PAGE_SIZE} a page, ${RECORDS_PER_CALL} a call.`,
  )
  const view = createProgressView(expected.length)
  await runUntilKilled({ ...first, crm, runId, view, total: expected.length })
  console.log(
    `Killed the app (SIGKILL) while the CRM had ${crm.contacts.length} contacts and owed an answer to the last ${RECORDS_PER_CALL}.`,
  )

  const second = await start(place, closing)
  const left = await getRun(second.client, runId)
  console.log(
    `Started it again on the same directory; the run goes on at ${left.counters.read} records.`,
  )
  await followRun(second.client, runId, (records) => view.show(records))
  view.pause()
  const run = await getRun(second.client, runId)
  console.log(`The run ended as ${run.status}. Its attempts: ${describeAttempts(run)}.`)
  const { contacts, repeats } = crm
  const { status, counters } = run
  return { app: second.app, proof: prove({ expected, contacts, repeats, status, counters }) }
}

async function start(place: AppProcessOptions, closing: Closing) {
  const app = await startAppProcess(place, (stop) => closing.push(stop))
  return { app, client: createApiClient({ address: app.address, token: app.token }) }
}

/** Kills the app in the middle of a page, while it waits for the answer to a call that was applied. */
async function runUntilKilled(parts: {
  readonly app: AppProcess
  readonly client: ReturnType<typeof createApiClient>
  readonly crm: Crm
  readonly runId: string
  readonly view: ProgressView
  readonly total: number
}): Promise<void> {
  const { app, client, crm, runId, view, total } = parts
  const pagesBefore = Math.floor((total * KILL_AT) / PAGE_SIZE)
  // Two calls of the page are in the ledger, the third is in doubt, the rest has not been sent.
  const withheld = crm.withholdAnswerAt(pagesBefore * PAGE_SIZE + 3 * RECORDS_PER_CALL)
  const following = followRun(client, runId, (records) => view.show(records))
  const outcome = await Promise.race([
    withheld.then(() => 'withheld' as const),
    following.then(() => 'ended' as const),
  ])
  view.pause()
  if (outcome === 'ended') {
    const { failure } = await getRun(client, runId)
    throw new Error(`The run ended before it could be killed. ${failure?.whatHappened ?? ''}`)
  }
  await app.kill()
  await following.catch(() => undefined) // it broke off with its process
}

function describeAttempts(run: Run): string {
  return run.attempts
    .map(({ number, outcome }) => `${number} ${outcome?.toLowerCase() ?? 'under way'}`)
    .join(', ')
}

function printProof({ figures, books, faults }: Proof): void {
  const width = Math.max(...figures.map(([label]) => label.length))
  console.log('\nThe proof, from the file and the CRM:')
  for (const [label, figure] of figures) {
    console.log(`  ${label.padEnd(width)}  ${String(figure).padStart(6)}`)
  }
  console.log(`The run's books: ${books}`)
  console.log(faults.length === 0 ? 'Every record arrived exactly once.' : faults.join('\n'))
}

function printInvitation({ address, token }: AppProcess): void {
  console.log(`
The app stays up until Ctrl-C. GraphiQL: ${address}/graphql
Headers for it: { "Authorization": "Bearer ${token}" }`)
}

/** Ctrl-C comes once from the terminal and once from npm, so a second one is nothing new. */
function catchInterrupt(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => controller.abort())
  }
  return controller.signal
}

function once<T>(signal: AbortSignal, then: () => T): Promise<T> {
  return new Promise<void>((resolve) => {
    if (signal.aborted) {
      resolve()
    }
    signal.addEventListener('abort', () => resolve())
  }).then(then)
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function readOptions(): Options | 'help' {
  const { values } = parseArgs({
    options: {
      exit: { type: 'boolean', default: false },
      'crm-forgets-keys': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  return values.help ? 'help' : { exit: values.exit, crmForgetsKeys: values['crm-forgets-keys'] }
}

try {
  const options = readOptions()
  if (options === 'help') {
    process.stdout.write(HELP)
  } else {
    process.exit(await main(options))
  }
} catch (error) {
  console.error(`${describe(error)}\n\n${HELP}`)
  process.exit(2)
}
