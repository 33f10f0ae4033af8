/**
 * The app as a process of its own, on the embedded default.
 *
 * Invariants: it gets no setting of the caller's environment, so that a DATABASE_URL there is never
 * touched; the token that it prints is in no error.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface AppProcessOptions {
  /** Keeps what the app stores; a second process on the same one goes on from there. */
  readonly dataDirectory: string
  readonly fileRoot: string
}

export interface AppProcess {
  /** Where the API is, such as `http://127.0.0.1:4000`. */
  readonly address: string
  readonly token: string
  readonly pid: number
  /** SIGKILL: nothing of it runs any more, nothing was cleared up. */
  kill(): Promise<void>
  /** SIGTERM, and SIGKILL when that does not end it. */
  stop(): Promise<void>
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SERVES = /^tajo-sync serves (\S+)\/graphql$/
/** Later than the app's own deadline for stopping. */
const STOP_DEADLINE_MS = 30_000
/** Lines of the app's output that an error repeats. */
const MAX_KEPT_LINES = 20

/** Resolves when the API is served. Throws, with the app's last words, when the process ends before. */
export async function startAppProcess(
  options: AppProcessOptions,
  onSpawn: (stop: () => Promise<void>) => void,
): Promise<AppProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/main.ts'], {
    cwd: ROOT,
    env: environmentOf(options),
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a group of its own: Ctrl-C reaches the demo, which stops the app.
    detached: true,
  })
  onSpawn(() => stopChild(child))
  const address = await readAddress(child)
  const token = (await readFile(join(options.dataDirectory, 'token'), 'utf8')).trim()
  return {
    address,
    token,
    pid: child.pid ?? 0,
    kill: async () => {
      const ended = hasEnded(child) ? null : once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
    stop: () => stopChild(child),
  }
}

function environmentOf({ dataDirectory, fileRoot }: AppProcessOptions): NodeJS.ProcessEnv {
  const kept = ['PATH', 'HOME'].map((name) => [name, process.env[name]])
  return {
    ...Object.fromEntries(kept),
    // What a killed process leaves behind goes with the directory above.
    TMPDIR: dirname(dataDirectory),
    DATA_DIR: dataDirectory,
    FILE_ROOT: fileRoot,
    PORT: '0',
    LOG_LEVEL: 'warn',
    // The demo's CRM is on this machine, which no connection reaches unless it is allowed.
    ALLOWED_PRIVATE_RANGES: '127.0.0.0/8',
  }
}

function readAddress(child: ChildProcess): Promise<string> {
  const lastLines: string[] = []
  const keep = (line: string) => {
    if (!/token/i.test(line)) {
      lastLines.push(line)
      lastLines.splice(0, lastLines.length - MAX_KEPT_LINES)
    }
  }
  return new Promise((resolve, reject) => {
    eachLine(child.stderr, keep)
    eachLine(child.stdout, (line) => {
      const address = SERVES.exec(line)?.[1]
      if (address === undefined) {
        keep(line)
      } else {
        resolve(address)
      }
    })
    child.once('error', reject)
    child.once('close', () =>
      reject(new Error(`The app ended before it served. It wrote:\n${lastLines.join('\n')}`)),
    )
  })
}

/** Reads to the end, so that the app never waits for a full pipe. */
function eachLine(stream: NodeJS.ReadableStream | null, take: (line: string) => void): void {
  if (stream) {
    createInterface({ input: stream }).on('line', take)
  }
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) {
    return
  }
  const ended = once(child, 'exit')
  const late = AbortSignal.timeout(STOP_DEADLINE_MS)
  late.addEventListener('abort', () => child.kill('SIGKILL'))
  child.kill('SIGTERM')
  await ended
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}
