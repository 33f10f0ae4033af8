/**
 * The process: configuration, start, signals, exit code.
 *
 * `main.ts` serves; `main.ts create-workspace NAME` makes a workspace and prints the token that opens it.
 */
import { type App, startApp, withCommandContext } from './app.ts'
import { createWorkspace } from './commands/create-workspace.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { systemClock } from './runtime/clock.ts'
import { describeError } from './runtime/logger.ts'
import { DataDirectoryInUseError } from './store/embedded/data-directory.ts'

/** What still runs after this is left to recovery; the service manager's kill comes later. */
const STOP_DEADLINE_MS = 25_000

async function main(args: readonly string[]): Promise<void> {
  const config = readConfig(process.env)
  if (args.length === 0) {
    await serve(config)
  } else if (args[0] === 'create-workspace' && args[1] !== undefined && args.length === 2) {
    const name = args[1]
    const { workspaceId, token } = await withCommandContext(config, (context) =>
      createWorkspace(context, { name }),
    )
    process.stdout.write(`Workspace ${name} (${workspaceId})\nToken, shown once: ${token}\n`)
  } else {
    throw new ConfigError(['Usage: main.js, or: main.js create-workspace NAME.'])
  }
}

async function serve(config: Config): Promise<void> {
  const app = await startApp(config)
  const path = config.role === 'worker' ? '/health' : '/graphql'
  process.stdout.write(`tajo-sync serves ${app.address}${path}\n`)
  if (app.firstToken !== null) {
    process.stdout.write(
      `First token, shown once and kept in ${config.dataDirectory}/token: ${app.firstToken}\n`,
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void stop(app))
  }
}

/** A second signal finds no handler any more and ends the process at once. */
async function stop(app: App): Promise<void> {
  process.removeAllListeners('SIGTERM').removeAllListeners('SIGINT')
  const deadline = systemClock.sleep(STOP_DEADLINE_MS).then(() => 'late' as const)
  const outcome = await Promise.race([app.stop().then(() => 'stopped' as const), deadline])
  process.exit(outcome === 'stopped' ? 0 : 1)
}

function describeStartProblem(error: unknown): string {
  if (error instanceof ConfigError) {
    return error.problems.join('\n')
  }
  if (error instanceof DataDirectoryInUseError) {
    return error.message
  }
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return 'PORT: the port is in use by another process.'
  }
  return `tajo-sync could not start: ${describeError(error)['errorChain']}`
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`${describeStartProblem(error)}\n`)
  process.exit(1)
}
