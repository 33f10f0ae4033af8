import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../../src/config.ts'
import { DEFAULT_LIMITS } from '../../src/http/limits.ts'

const SERVICES = {
  DATABASE_URL: 'postgres://localhost/tajo',
  REDIS_URL: 'redis://localhost',
  CREDENTIALS_KEY: Buffer.alloc(32, 5).toString('base64'),
}

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    return error instanceof ConfigError ? error.problems : [String(error)]
  }
}

describe('the limits of the API', () => {
  it('are those that are documented where nothing is set', () => {
    const { apiLimits, maxRequests } = readConfig({})
    expect(apiLimits).toEqual({ ...DEFAULT_LIMITS, hasIntrospection: true, allowedOrigins: [] })
    expect(maxRequests).toBe(1_000)
  })

  it('are those that are set', () => {
    const { apiLimits, maxRequests } = readConfig({
      API_MAX_BODY_BYTES: '2048',
      API_MAX_TOKENS: '101',
      API_MAX_DEPTH: '6',
      API_MAX_ALIASES: '7',
      API_MAX_COST: '108',
      API_TIMEOUT_MS: '109',
      API_MAX_SUBSCRIPTIONS: '10',
      API_MAX_REQUESTS: '0',
      API_INTROSPECTION: 'false',
      API_ALLOWED_ORIGINS: 'https://a.example.com, http://localhost:5173',
    })
    expect(apiLimits).toEqual({
      maxBodyBytes: 2_048,
      maxTokens: 101,
      maxDepth: 6,
      maxAliases: 7,
      maxCost: 108,
      timeoutMs: 109,
      maxSubscriptions: 10,
      hasIntrospection: false,
      allowedOrigins: ['https://a.example.com', 'http://localhost:5173'],
    })
    expect(maxRequests).toBe(0)
  })

  it.each<[Record<string, string>, boolean]>([
    [{}, true],
    [SERVICES, false],
    [{ ...SERVICES, GRAPHIQL: 'true' }, true],
    [{ GRAPHIQL: 'false' }, false],
    [{ ...SERVICES, API_INTROSPECTION: 'true' }, true],
    [{ API_INTROSPECTION: 'false' }, false],
  ])(
    'let the schema be told where GraphiQL is, unless something else is said: %o',
    (given, has) => {
      expect(readConfig(given).apiLimits.hasIntrospection).toBe(has)
    },
  )

  it.each([
    ['API_MAX_BODY_BYTES', '12'],
    ['API_MAX_TOKENS', 'many'],
    ['API_MAX_DEPTH', '1.5'],
    ['API_MAX_ALIASES', '0'],
    ['API_MAX_COST', '-1'],
    ['API_TIMEOUT_MS', '20s'],
    ['API_MAX_SUBSCRIPTIONS', '0'],
    ['API_MAX_REQUESTS', '-1'],
    ['API_INTROSPECTION', 'yes'],
    ['API_ALLOWED_ORIGINS', '*'],
    ['API_ALLOWED_ORIGINS', 'https://a.example.com/'],
    ['API_ALLOWED_ORIGINS', 'https://A.example.com'],
    ['API_ALLOWED_ORIGINS', 'a.example.com,https://b.example.com'],
    ['API_ALLOWED_ORIGINS', 'ftp://a.example.com'],
  ])('end the start with one line that names what is bad: %s=%s', (name, value) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringMatching(`^${name}: .+\\.$`)])
  })
})
