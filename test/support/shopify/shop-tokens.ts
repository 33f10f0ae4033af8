/**
 * The stand-in's access: tokens that are valid until they are expired, and the endpoint that grants them (client
 * credentials, and refresh tokens that are replaced at every use; the used one is known until its replacement's token
 * is used).
 */
export const CLIENT = { clientId: 'stand-in-client', clientSecret: 'stand-in-secret' }
export const FIRST_TOKEN = 'shpat_stand_in_0'
export const FIRST_REFRESH_TOKEN = 'shprt_stand_in_0'

interface Pair {
  readonly accessToken: string
  readonly refreshToken: string
  readonly before: string
}

export class ShopTokens {
  readonly #valid = new Set([FIRST_TOKEN])
  #refreshTokens = new Set([FIRST_REFRESH_TOKEN])
  #pairs: readonly Pair[] = []
  #granted = 0
  /** What the endpoint answers instead, in order. */
  readonly script: (readonly [number, object])[] = []
  /** Every grant that was asked for. */
  readonly grants: string[] = []

  isValid(token: string): boolean {
    if (!this.#valid.has(token)) {
      return false
    }
    const pair = this.#pairs.find(({ accessToken }) => accessToken === token)
    if (pair) {
      this.#refreshTokens.delete(pair.before)
    }
    return true
  }

  /** No token that was given out is valid any more. */
  expireAll(): void {
    this.#valid.clear()
  }

  revokeRefreshTokens(): void {
    this.#refreshTokens = new Set()
  }

  grant(given: URLSearchParams): [number, object] {
    const kind = given.get('grant_type') ?? ''
    this.grants.push(kind)
    const scripted = this.script.shift()
    if (scripted) {
      return [...scripted]
    }
    if (
      given.get('client_id') !== CLIENT.clientId ||
      given.get('client_secret') !== CLIENT.clientSecret
    ) {
      return [401, { error: 'application_cannot_be_found' }]
    }
    if (kind === 'client_credentials') {
      return [200, { access_token: this.#make(), scope: 'read_customers', expires_in: 86_399 }]
    }
    const before = given.get('refresh_token') ?? ''
    if (kind !== 'refresh_token' || !this.#refreshTokens.has(before)) {
      return [400, { error: 'invalid_grant', error_description: 'The refresh token is not valid.' }]
    }
    const accessToken = this.#make()
    const refreshToken = `shprt_stand_in_${this.#granted}`
    this.#refreshTokens.add(refreshToken)
    this.#pairs = [...this.#pairs, { accessToken, refreshToken, before }]
    const answer = {
      access_token: accessToken,
      expires_in: 3_600,
      refresh_token: refreshToken,
      refresh_token_expires_in: 7_776_000,
      scope: 'read_customers',
    }
    return [200, answer]
  }

  #make(): string {
    this.#granted += 1
    const token = `shpat_stand_in_${this.#granted}`
    this.#valid.add(token)
    return token
  }
}
