/**
 * Processes that tests start and kill: the app as it runs in production, and the stand-in destination.
 *
 * Each is ended by its own pid. What it prints is kept for the message of a test that fails.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { LOCAL_ENVIRONMENT } from './local-client.ts'
import { findBuilt } from './programs.ts'

export interface StartedProcess {
  readonly pid: number
  /** What it printed, at most the last 64 kB. */
  output(): string
  /** The first capture group of the first line that matches. Rejects when the process ends before. */
  find(pattern: RegExp): Promise<string>
  /** Resolves when the process is gone, with its exit code (null when a signal ended it). */
  kill(signal: NodeJS.Signals): Promise<number | null>
  readonly exited: Promise<number | null>
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAX_OUTPUT = 64 * 1024

/**
 * Runs a file of the repository, TypeScript or built, with a bare environment, in which this machine may be
 * reached, and the given variables. Traces name sources.
 */
export function startScript(
  path: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): StartedProcess {
  const loader = path.endsWith('.ts') ? ['--import', 'tsx'] : ['--enable-source-maps']
  const child = spawn(process.execPath, [...loader, path, ...args], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...LOCAL_ENVIRONMENT,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return watch(child, path)
}

function watch(child: ChildProcess, path: string): StartedProcess {
  let output = ''
  const listeners = new Set<() => void>()
  const take = (data: Buffer) => {
    output = (output + data.toString('utf8')).slice(-MAX_OUTPUT)
    for (const listener of listeners) {
      listener()
    }
  }
  child.stdout?.on('data', take)
  child.stderr?.on('data', take)
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  return {
    pid: child.pid ?? -1,
    exited,
    output: () => output,
    find: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(output)?.[1]
          if (found !== undefined) {
            listeners.delete(look)
            resolve(found)
          }
        }
        listeners.add(look)
        void exited.then((code) =>
          reject(new Error(`${path} ended with ${code} before it printed ${pattern}:\n${output}`)),
        )
        look()
      }),
    kill: async (signal) => {
      child.kill(signal)
      return await exited
    },
  }
}

export interface AppProcess extends StartedProcess {
  readonly address: string
}

/** The app on a free port: as the tests build it, from its sources, or as `npm run build` does. Resolves when it serves. */
export async function startAppProcess(
  environment: Readonly<Record<string, string>>,
  main = findBuilt('src/main.ts'),
): Promise<AppProcess> {
  const started = startScript(main, { PORT: '0', ...environment })
  const address = await started.find(/serves (http:\/\/\S+)\/(?:graphql|health)/)
  return { ...started, address }
}

/** Makes a workspace at the console of a deployment and returns its token. */
export async function createWorkspaceToken(
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const started = startScript(findBuilt('src/main.ts'), environment, ['create-workspace', 'Test'])
  const token = await started.find(/Token, shown once: (\S+)/)
  await started.exited
  return token
}
