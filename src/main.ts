/**
 * The process: configuration, start, signals, exit code.
 *
 * `main.ts` serves; `main.ts create-workspace NAME` makes a workspace and prints the token that opens it, which
 * with `--tajo` is one of Tajo's operators.
 *
 * The first SIGTERM or SIGINT drains (also one that comes while the app is still starting): exit code 0.
 * The second ends the process at once, and so does the process deadline: exit code 1. What still runs
 * then is taken over by recovery.
 */
import { startApp, withCommandContext } from './app.ts'
import { createWorkspace } from './commands/create-workspace.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { scrub } from './domain/scrub.ts'
import { systemClock } from './runtime/clock.ts'
import { describeStartError } from './runtime/logger.ts'
import { keepHeapSmall } from './runtime/memory.ts'
import { DataDirectoryInUseError } from './store/embedded/data-directory.ts'
import { SentryMissingError } from './watch/channels/sentry.ts'

const TAJO_FLAG = '--tajo'

async function main(args: readonly string[]): Promise<void> {
  const config = readConfig(process.env)
  if (args.length === 0) {
    await serve(config)
    return
  }
  const [command, name, flag, ...others] = args
  const isTajo = flag === TAJO_FLAG
  const isKnown = command === 'create-workspace' && (flag === undefined || isTajo)
  if (!isKnown || name === undefined || name.startsWith('--') || others.length > 0) {
    const usage = `main.js create-workspace NAME [${TAJO_FLAG}]`
    throw new ConfigError([`Usage: main.js, or: ${usage}.`])
  }
  const { workspaceId, token } = await withCommandContext(config, (context) =>
    createWorkspace(context, { name, isTajo }),
  )
  process.stdout.write(`Workspace ${name} (${workspaceId})\nToken, shown once: ${token}\n`)
}

async function serve(config: Config): Promise<void> {
  const stopAsked = listenForSignals(config.processDeadlineMs)
  const app = await startApp(config)
  const path = config.role === 'worker' ? '/health' : '/graphql'
  process.stdout.write(`tajo-sync serves ${app.address}${path}\n`)
  if (app.firstToken !== null) {
    process.stdout.write(
      `First token, shown once and kept in ${config.dataDirectory}/token: ${app.firstToken}\n`,
    )
  }
  await stopAsked
  await app.stop()
  process.exit(0)
}

/** Resolves with the first signal. From then on the process has so long to end by itself. */
function listenForSignals(processDeadlineMs: number): Promise<void> {
  return new Promise((resolve) => {
    let isAsked = false
    const ask = () => {
      if (isAsked) {
        // Not left to the signal's default, which the first process of a container does not have.
        process.exit(1)
      }
      isAsked = true
      void systemClock.sleep(processDeadlineMs).then(() => process.exit(1))
      resolve()
    }
    process.on('SIGTERM', ask).on('SIGINT', ask)
  })
}

function describeStartProblem(error: unknown): string {
  if (error instanceof ConfigError) {
    return error.problems.join('\n')
  }
  if (error instanceof DataDirectoryInUseError || error instanceof SentryMissingError) {
    return error.message
  }
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return 'PORT: the port is in use by another process.'
  }
  return `tajo-sync could not start: ${describeStartError(error, scrub)}`
}

keepHeapSmall()
try {
  await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`${describeStartProblem(error)}\n`)
  process.exit(1)
}
