/** Whether a tool lets us in, as far as anybody has seen, and what a person does about it. */
import { FAILURE_CATALOGUE } from './failure.ts'

export type ConnectionStatus = 'connected' | 'unauthorized' | 'disconnected'

/** Instants are of whatever kind the caller has. */
export interface AccessFacts<Instant> {
  readonly disconnectedAt: Instant | null
  readonly refusedAt: Instant | null
  /** What the other system said, without personal data and secrets. */
  readonly refusalDetail: string | null
}

export interface ConnectionAccess<Instant> {
  readonly status: ConnectionStatus
  /** Null while it is connected. */
  readonly since: Instant | null
  readonly detail: string | null
  /** One or more full sentences; null: nothing. */
  readonly whatToDo: string | null
}

/** What is not connected is not refused either, whatever was seen before. */
export function decideAccess<Instant>(facts: AccessFacts<Instant>): ConnectionAccess<Instant> {
  const { disconnectedAt, refusedAt, refusalDetail } = facts
  if (disconnectedAt !== null) {
    const whatToDo = FAILURE_CATALOGUE.connection_missing.todo
    return { status: 'disconnected', since: disconnectedAt, detail: null, whatToDo }
  }
  if (refusedAt !== null) {
    const whatToDo = FAILURE_CATALOGUE.connection_unauthorized.todo
    return { status: 'unauthorized', since: refusedAt, detail: refusalDetail, whatToDo }
  }
  return { status: 'connected', since: null, detail: null, whatToDo: null }
}
