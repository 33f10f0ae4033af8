/**
 * Structured logging. The event's name is a verb of the product (`run.claimed`), the rest are
 * bindings. Never a payload, a secret or a personal datum (I20).
 */
import { pino } from 'pino'
import { WordedError } from './worded-error.ts'

export type LogBindings = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface Logger {
  debug(event: string, bindings?: LogBindings): void
  info(event: string, bindings?: LogBindings): void
  warn(event: string, bindings?: LogBindings & { error?: never }, cause?: unknown): void
  error(event: string, bindings?: LogBindings & { error?: never }, cause?: unknown): void
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Takes out of a text what must not be kept; domain/scrub.ts is handed in. */
type Scrub = (text: string) => string

/** Writes one JSON line an event to standard output. */
export function createLogger(level: LogLevel, scrub: Scrub): Logger {
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
      sink.warn({ ...bindings, ...describeError(cause, scrub) }, event),
    error: (event, bindings = {}, cause) =>
      sink.error({ ...bindings, ...describeError(cause, scrub) }, event),
  }
}

/** Longest chain of causes that is logged. */
const MAX_CAUSES = 5
/** Longest message of one of them, in characters. */
const MAX_MESSAGE_LENGTH = 500

/**
 * What is logged of an error: names, codes (such as SQLSTATEs) and stack frames, and the message only where it is
 * in our own words. A library's may repeat what it was given: a driver's the parameters, a parser's the text.
 */
export function describeError(error: unknown, scrub: Scrub): LogBindings {
  if (error === undefined) {
    return {}
  }
  // A stack starts with the message, whose lines may look like frames.
  const stack = error instanceof Error ? (error.stack ?? '').replace(error.message, () => '') : ''
  const frames = stack.split('\n').filter((line) => FRAME.test(line))
  return {
    errorChain: describeChain(error, (one) =>
      one instanceof WordedError ? scrub(one.message).slice(0, MAX_MESSAGE_LENGTH) : null,
    ),
    errorStack: frames
      .slice(0, 12)
      .map((line) => line.trim())
      .join(' | '),
  }
}

/** It ends with a place in a file. */
const FRAME = /^\s+at .*(?::\d+:\d+|<anonymous>|native)\)?$/

/** Why the process did not start: no record is at hand yet, so also what libraries say, for whoever starts it. */
export function describeStartError(error: unknown, scrub: Scrub): string {
  return describeChain(error, (one) =>
    isDatabaseError(one) ? null : scrub(one.message).slice(0, MAX_MESSAGE_LENGTH),
  )
}

function describeChain(error: unknown, messageOf: (error: Error) => string | null): string {
  const chain: string[] = []
  let current: unknown = error
  while (current instanceof Error && chain.length < MAX_CAUSES) {
    const code = 'code' in current && typeof current.code === 'string' ? ` ${current.code}` : ''
    const message = messageOf(current)
    chain.push(`${current.name}${code}${message === null ? '' : `: ${message}`}`)
    current = current.cause
  }
  return chain.length > 0 ? chain.join(' <- ') : typeof error
}

/** Drizzle's error calls itself `Error`; it is known by what it carries. */
function isDatabaseError(error: Error): boolean {
  return error.name === 'PostgresError' || ('query' in error && 'params' in error)
}
