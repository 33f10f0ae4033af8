/**
 * What sources and destinations have in common: the connection that they speak over.
 */
import type { z } from 'zod'
import type { FailureCode } from '../domain/failure.ts'
import type { JsonObject } from '../domain/json.ts'
import { WordedError } from '../runtime/worded-error.ts'

/** A read or write that failed as a whole, classified once, here at the seam. */
export class ConnectorError extends WordedError {
  override readonly name = 'ConnectorError'
  readonly code: FailureCode
  /** The wait that the other system asked for; null: none. */
  readonly retryAfterMs: number | null

  /** `message`: technical detail that a person may see; no personal data, no secrets. */
  constructor(
    code: FailureCode,
    message: string,
    options: ErrorOptions & { readonly retryAfterMs?: number | null } = {},
  ) {
    super(message, options)
    this.code = code
    this.retryAfterMs = options.retryAfterMs ?? null
  }
}

/** Credentials that are renewed while they are used, such as a token that another one refreshes. */
export interface KeptCredentials {
  /** As they are stored now: another process may have renewed them. */
  find(): Promise<JsonObject>
  /** False: they are others than `before` by now, and stay as they are. */
  replace(before: JsonObject, after: JsonObject): Promise<boolean>
}

export interface OpenConnection {
  readonly connectionId: string
  /** As validated by `connectionConfig`. */
  readonly config: JsonObject
  /** As validated by `credentials`. */
  readonly credentials: JsonObject
  readonly kept: KeptCredentials
  readonly signal: AbortSignal
}

export interface Connector {
  readonly type: string
  /** Shape of a connection's public settings. The same for the source and the destination of one type. */
  readonly connectionConfig: z.ZodType<JsonObject>
  readonly credentials: z.ZodType<JsonObject>
  /** Makes one cheap call that shows whether the connection works. Throws {@link ConnectorError}. */
  testConnection(request: OpenConnection): Promise<void>
}
