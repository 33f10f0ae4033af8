/**
 * What the API takes: how much of it, from where, and for how long. Each refusal names its limit and the
 * figure.
 *
 * Invariant: a limit of a document holds wherever the endpoint parses one, and is looked at before anything
 * is executed, or read from the database for it.
 */
import { GraphQLError } from 'graphql'

export interface ApiLimits {
  /** Of a request's body, and of a message over a WebSocket. */
  readonly maxBodyBytes: number
  /** Of a document, as it is written; and of its selections, with its fragments written out. */
  readonly maxTokens: number
  /** Fields in fields. */
  readonly maxDepth: number
  /** With fragments written out. */
  readonly maxAliases: number
  /** Objects that a query can make the API read (document-limits.ts). */
  readonly maxCost: number
  /** Longest that a query or mutation may take, in milliseconds. */
  readonly timeoutMs: number
  /** That one token may have open in one process, over whatever protocol. */
  readonly maxSubscriptions: number
  readonly hasIntrospection: boolean
  /** Origins whose pages may use the API besides its own, such as `https://dashboard.example.com`. */
  readonly allowedOrigins: readonly string[]
}

/** Where nothing else is configured. */
export const DEFAULT_LIMITS = {
  maxBodyBytes: 1024 * 1024,
  maxTokens: 2_000,
  maxDepth: 16,
  maxAliases: 50,
  maxCost: 20_000,
  timeoutMs: 20_000,
  maxSubscriptions: 500,
} as const

/** The names of limits, as `extensions.limit` has them. */
export type LimitName = 'tokens' | 'selections' | 'depth' | 'aliases' | 'cost'

/** The document is too large. It was not executed. */
export function exceeded(
  limit: LimitName,
  figures: { readonly maximum: number; readonly found?: number; readonly sentence: string },
): GraphQLError {
  const { maximum, found, sentence } = figures
  const figure = found === undefined ? {} : { found }
  return new GraphQLError(sentence, {
    extensions: { code: 'LIMIT_EXCEEDED', limit, maximum, ...figure, http: { status: 400 } },
  })
}
