/**
 * Structured logging. The event's name is a verb of the product (`run.claimed`), the rest are
 * bindings. Never a payload, a secret or a personal datum.
 */
import { pino } from 'pino'

export type LogBindings = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface Logger {
  debug(event: string, bindings?: LogBindings): void
  info(event: string, bindings?: LogBindings): void
  warn(event: string, bindings?: LogBindings & { error?: never }, cause?: unknown): void
  error(event: string, bindings?: LogBindings & { error?: never }, cause?: unknown): void
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Writes one JSON line an event to standard output. */
export function createLogger(level: LogLevel): Logger {
  const sink = pino({
    level,
    base: null,
    messageKey: 'event',
    timestamp: pino.stdTimeFunctions.isoTime,
  })
  return {
    debug: (event, bindings = {}) => sink.debug(bindings, event),
    info: (event, bindings = {}) => sink.info(bindings, event),
    warn: (event, bindings = {}, cause) =>
      sink.warn({ ...bindings, ...describeError(cause) }, event),
    error: (event, bindings = {}, cause) =>
      sink.error({ ...bindings, ...describeError(cause) }, event),
  }
}

/** Longest chain of causes that is logged. */
const MAX_CAUSES = 5

/**
 * What is logged of an error: names, SQLSTATEs and stack frames, but no message of a database error,
 * because a driver's message repeats the parameters.
 */
export function describeError(error: unknown): LogBindings {
  if (error === undefined) {
    return {}
  }
  const chain: string[] = []
  let current: unknown = error
  while (current instanceof Error && chain.length < MAX_CAUSES) {
    const code = 'code' in current && typeof current.code === 'string' ? ` ${current.code}` : ''
    const message = isDatabaseError(current) ? '' : `: ${current.message.slice(0, 500)}`
    chain.push(`${current.name}${code}${message}`)
    current = current.cause
  }
  // A stack starts with the message, whose lines may look like frames.
  const stack = error instanceof Error ? (error.stack ?? '').replace(error.message, () => '') : ''
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line))
  return {
    errorChain: chain.length > 0 ? chain.join(' <- ') : typeof error,
    errorStack: frames
      .slice(0, 12)
      .map((line) => line.trim())
      .join(' | '),
  }
}

/** Drizzle's error calls itself `Error`; it is known by what it carries. */
function isDatabaseError(error: Error): boolean {
  return error.name === 'PostgresError' || ('query' in error && 'params' in error)
}
