/** A log that tests can read. */
import type { LogBindings, Logger, LogLevel } from '../../src/runtime/logger.ts'

export interface LoggedEvent {
  readonly level: LogLevel
  readonly event: string
  readonly bindings: LogBindings
  readonly cause?: unknown
}

export interface RecordingLogger extends Logger {
  readonly events: readonly LoggedEvent[]
  /** How often an event was logged. */
  count(event: string): number
}

export function createRecordingLogger(): RecordingLogger {
  const events: LoggedEvent[] = []
  const record =
    (level: LogLevel) =>
    (event: string, bindings: LogBindings = {}, cause?: unknown) => {
      events.push({ level, event, bindings, cause })
    }
  return {
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
    events,
    count: (event) => events.filter((logged) => logged.event === event).length,
  }
}
