/** The part of the environment that says what the API takes. Read by config.ts, and by nothing else. */
import { z } from 'zod'
import { type ApiLimits, DEFAULT_LIMITS } from './http/limits.ts'

const count = (fallback: number, least: number, most: number, of: string) =>
  z.coerce.number(`must be a whole number of ${of}`).int().min(least).max(most).default(fallback)

const MIB = 1024 * 1024

export const API_ENVIRONMENT = {
  API_MAX_BODY_BYTES: count(DEFAULT_LIMITS.maxBodyBytes, 1_024, 16 * MIB, 'bytes'),
  API_MAX_TOKENS: count(DEFAULT_LIMITS.maxTokens, 100, 20_000, 'tokens'),
  API_MAX_DEPTH: count(DEFAULT_LIMITS.maxDepth, 5, 100, 'levels'),
  API_MAX_ALIASES: count(DEFAULT_LIMITS.maxAliases, 1, 1_000, 'aliases'),
  API_MAX_COST: count(DEFAULT_LIMITS.maxCost, 100, 10_000_000, 'objects'),
  API_TIMEOUT_MS: count(DEFAULT_LIMITS.timeoutMs, 100, 10 * 60_000, 'milliseconds'),
  API_MAX_SUBSCRIPTIONS: count(DEFAULT_LIMITS.maxSubscriptions, 1, 100_000, 'subscriptions'),
  API_MAX_REQUESTS: count(1_000, 0, 1_000_000, 'requests'),
  API_INTROSPECTION: z.enum(['true', 'false']).optional(),
  API_ALLOWED_ORIGINS: z
    .string()
    .refine(
      (text) => readOrigins(text).every(isOrigin),
      'must be origins such as https://dashboard.example.com with commas between them',
    )
    .optional(),
}

const schema = z.object(API_ENVIRONMENT)

/** `hasGraphiql`: its page asks for the schema, so introspection goes with it where nothing else is said. */
export function toApiLimits(env: z.infer<typeof schema>, hasGraphiql: boolean): ApiLimits {
  const { API_INTROSPECTION: introspection, API_ALLOWED_ORIGINS: origins } = env
  return {
    maxBodyBytes: env.API_MAX_BODY_BYTES,
    maxTokens: env.API_MAX_TOKENS,
    maxDepth: env.API_MAX_DEPTH,
    maxAliases: env.API_MAX_ALIASES,
    maxCost: env.API_MAX_COST,
    timeoutMs: env.API_TIMEOUT_MS,
    maxSubscriptions: env.API_MAX_SUBSCRIPTIONS,
    hasIntrospection: introspection === undefined ? hasGraphiql : introspection === 'true',
    allowedOrigins: origins === undefined ? [] : readOrigins(origins),
  }
}

function readOrigins(text: string): string[] {
  return text.split(',').map((origin) => origin.trim())
}

/** As browsers write them, so that they can be compared as they stand. */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text
}
