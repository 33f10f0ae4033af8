/**
 * Private PostgreSQL and Redis for tests and measurements, started from installed binaries.
 *
 * Invariants: never a default port and never a server that somebody else started, unless the
 * environment names it (TEST_DATABASE_URL, TEST_REDIS_URL); a server dies with the process that
 * started it, also when that one is killed; all files lie in one temporary directory of mode 0700.
 * Knows nothing of the test runner, so that benchmarks and scripts can use it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import {
  findAccountForPostgres,
  findExecutable,
  getPostgresPrograms,
  getRedisProgram,
  type ServerAccount,
} from './service-binaries.ts'

export interface TestService {
  readonly url: string
  /** Null for a server that the environment names. */
  readonly pid: number | null
  /** Sends a signal; for SIGKILL, resolves when the process is gone. Only for a server of our own. */
  kill(signal: NodeJS.Signals): Promise<void>
  /** Starts it again after it was killed: the same address, the same directory. Redis comes back empty. */
  restart(): Promise<void>
  /** Ends it and removes its files. */
  stop(): Promise<void>
}

export interface ServiceOptions {
  /** True: a server of our own even where the environment names one, for tests that kill it. */
  readonly isOwn?: boolean
}

const MAX_STARTS = 4
const READY_DEADLINE_MS = 20_000
const READY_POLL_MS = 20
const STOP_DEADLINE_MS = 10_000
const MAX_OUTPUT_KEPT = 2_000

/** Throws {@link ServicesUnavailableError} where there is no PostgreSQL and none can be installed. */
export async function startPostgres(options: ServiceOptions = {}): Promise<TestService> {
  const named = process.env['TEST_DATABASE_URL']
  if (named && options.isOwn !== true) {
    return namedByEnvironment(named)
  }
  const { initdb, postgres } = getPostgresPrograms()
  const account = findAccountForPostgres()
  const directory = makeDirectory('tajo-test-pg-', account)
  const files = join(directory, 'files')
  execFileSync(
    initdb,
    ['-D', files, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'], ...(account ?? {}) },
  )
  return await startOwn({
    directory,
    account,
    deathSignal: 'INT',
    stopSignal: 'SIGINT',
    command: (port) => [
      postgres,
      ...['-D', files, '-p', String(port), '-k', directory],
      ...settings({
        listen_addresses: '127.0.0.1',
        max_connections: '100',
        shared_buffers: '64MB',
        // Durability across power loss is not under test; everything else is as in production.
        fsync: 'off',
        synchronous_commit: 'off',
        full_page_writes: 'off',
      }),
    ],
    url: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    isReady: (_output, pid) => isPostmasterReady(files, pid),
  })
}

/** Throws {@link ServicesUnavailableError} where there is no Redis and none can be installed. */
export async function startRedis(options: ServiceOptions = {}): Promise<TestService> {
  const named = process.env['TEST_REDIS_URL']
  if (named && options.isOwn !== true) {
    return namedByEnvironment(named)
  }
  const redisServer = getRedisProgram()
  const directory = makeDirectory('tajo-test-redis-', null)
  return await startOwn({
    directory,
    account: null,
    deathSignal: 'TERM',
    stopSignal: 'SIGTERM',
    command: (port) => [
      redisServer,
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory],
      ...['--save', '', '--appendonly', 'no'],
    ],
    url: (port) => `redis://127.0.0.1:${port}`,
    isReady: (output) => output.includes('Ready to accept connections'),
  })
}

/** A port that was free a moment ago. Somebody else may still take it first: the caller tries again. */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      const port = typeof address === 'object' && address ? address.port : 0
      probe.close(() => resolve(port))
    })
  })
}

interface OwnServer {
  readonly directory: string
  readonly account: ServerAccount | null
  readonly deathSignal: string
  readonly stopSignal: NodeJS.Signals
  command(port: number): readonly string[]
  url(port: number): string
  isReady(output: string, pid: number): boolean
}

async function startOwn(server: OwnServer): Promise<TestService> {
  let port = 0
  let child: ChildProcess | null = null
  for (let starts = 1; child === null; starts += 1) {
    port = await findFreePort()
    child = await launch(server, port).catch(async (error: unknown) => {
      if (starts >= MAX_STARTS) {
        await rm(server.directory, { recursive: true, force: true })
        throw error
      }
      return null
    })
  }
  let running: ChildProcess = child
  return {
    url: server.url(port),
    get pid() {
      return running.pid ?? null
    },
    kill: async (signal) => {
      running.kill(signal)
      if (signal === 'SIGKILL') {
        await whenEnded(running)
      }
    },
    restart: async () => {
      await end(running, 'SIGKILL')
      running = await relaunch(server, port)
    },
    stop: async () => {
      await end(running, server.stopSignal)
      await rm(server.directory, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** What a killed server left (children, shared memory) may need a moment to go. */
async function relaunch(server: OwnServer, port: number): Promise<ChildProcess> {
  for (let starts = 1; ; starts += 1) {
    try {
      return await launch(server, port)
    } catch (error) {
      if (starts >= MAX_STARTS) {
        throw error
      }
      await wait(200)
    }
  }
}

/** Resolves when the server itself has said that it is ready; that a port answers proves nothing. */
async function launch(server: OwnServer, port: number): Promise<ChildProcess> {
  const child = spawnBound(server, server.command(port))
  let output = ''
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString('utf8')).slice(-MAX_OUTPUT_KEPT)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  child.once('error', (error) => {
    output += error.message
  })
  for (let waitedMs = 0; waitedMs < READY_DEADLINE_MS && isRunning(child); ) {
    if (server.isReady(output, child.pid ?? 0)) {
      return child
    }
    await wait(READY_POLL_MS)
    waitedMs += READY_POLL_MS
  }
  await end(child, 'SIGKILL')
  throw new Error(`The server on port ${port} did not become ready: ${output.trim()}`)
}

/** Where there is setpriv, the kernel itself ends the server when this process dies. */
function spawnBound(server: OwnServer, command: readonly string[]): ChildProcess {
  const [program = '', ...parameters] = command
  const { account, directory } = server
  const shared = {
    cwd: directory,
    env: { ...process.env, LC_ALL: 'C' },
    stdio: ['ignore' as const, 'pipe' as const, 'pipe' as const],
  }
  const setpriv = findExecutable('setpriv')
  if (setpriv === null) {
    return spawn(program, parameters, { ...shared, ...(account ?? {}) })
  }
  const identity = account
    ? ['--reuid', String(account.uid), '--regid', String(account.gid), '--clear-groups']
    : []
  return spawn(
    setpriv,
    ['--pdeathsig', server.deathSignal, ...identity, program, ...parameters],
    shared,
  )
}

/** Our own postmaster writes its state into the eighth line of its own pid file. */
function isPostmasterReady(files: string, pid: number): boolean {
  try {
    const lines = readFileSync(join(files, 'postmaster.pid'), 'utf8').split('\n')
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
  } catch {
    return false
  }
}

function settings(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

function makeDirectory(prefix: string, account: ServerAccount | null): string {
  const directory = mkdtempSync(join(tmpdir(), prefix))
  if (account) {
    chownSync(directory, account.uid, account.gid)
  }
  return directory
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null
}

function whenEnded(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (isRunning(child)) {
      child.once('exit', () => resolve())
    } else {
      resolve()
    }
  })
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = whenEnded(child)
  // A stopped process (SIGSTOP) takes no other signal before it goes on.
  child.kill('SIGCONT')
  child.kill(signal)
  const tooLong = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS)
  await ended
  clearTimeout(tooLong)
}

function namedByEnvironment(url: string): TestService {
  const refuse = () =>
    Promise.reject(new Error('A server that the environment names is not ours to end.'))
  return { url, pid: null, kill: refuse, restart: refuse, stop: () => Promise.resolve() }
}
