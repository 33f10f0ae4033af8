/**
 * The access token of a connection, in the three ways in which there is one: given and lasting, granted to the app by
 * its client credentials, or renewed by a refresh token that is replaced at every use.
 *
 * Invariant: what a refresh brought is stored before it is used. Shopify keeps the old refresh token until the new
 * access token is used, so whoever dies in between has lost nothing. Another process may renew at the same time: what
 * is stored stands, and what came beside it is kept in case that is the pair which counts.
 */
import { z } from 'zod'
import type { JsonObject } from '../../../domain/json.ts'
import type { CallGate } from '../../call-gate.ts'
import { ConnectorError, type KeptCredentials, type OpenConnection } from '../../connector.ts'
import type { HttpClient, HttpResponse } from '../../http-client.ts'
import { describeAnswer } from './shopify-answer.ts'
import { parseCredentials, type ShopifyCredentials } from './shopify-settings.ts'

export interface AccessTokens {
  current(signal: AbortSignal): Promise<string>
  /** Another one than the one that was refused. Throws ConnectorError when there is none. */
  renew(refused: string, signal: AbortSignal): Promise<string>
}

export interface TokenEndpoint {
  readonly client: HttpClient
  readonly gate: CallGate
  readonly url: URL
}

const DEADLINE_MS = 30_000

export function createTokens(endpoint: TokenEndpoint, request: OpenConnection): AccessTokens {
  const credentials = parseCredentials(request.credentials)
  if (credentials.refreshToken !== undefined) {
    return new RefreshedTokens(endpoint, request.kept)
  }
  return credentials.accessToken === undefined
    ? new GrantedTokens(endpoint, credentials)
    : lastingToken(credentials.accessToken)
}

function lastingToken(token: string): AccessTokens {
  return {
    current: () => Promise.resolve(token),
    renew: () => {
      throw new ConnectorError(
        'connection_unauthorized',
        'Shopify does not take the access token (401), and nothing renews it.',
      )
    },
  }
}

/** One that lasts a day, for this reader alone. */
class GrantedTokens implements AccessTokens {
  readonly #endpoint: TokenEndpoint
  readonly #credentials: ShopifyCredentials
  #token: string | null = null

  constructor(endpoint: TokenEndpoint, credentials: ShopifyCredentials) {
    this.#endpoint = endpoint
    this.#credentials = credentials
  }

  async current(signal: AbortSignal): Promise<string> {
    this.#token ??= await this.#grant(signal)
    return this.#token
  }

  async renew(_refused: string, signal: AbortSignal): Promise<string> {
    this.#token = await this.#grant(signal)
    return this.#token
  }

  async #grant(signal: AbortSignal): Promise<string> {
    const given = clientOf(this.#credentials)
    const answer = await ask(this.#endpoint, { ...given, grant_type: 'client_credentials' }, signal)
    if (answer.kind === 'refused') {
      throw refusedGrant(answer.reason)
    }
    return answer.accessToken
  }
}

class RefreshedTokens implements AccessTokens {
  readonly #endpoint: TokenEndpoint
  readonly #kept: KeptCredentials
  /** Granted to us while somebody else stored what was granted to them. */
  #spare: { readonly accessToken: string; readonly refreshToken: string } | null = null

  constructor(endpoint: TokenEndpoint, kept: KeptCredentials) {
    this.#endpoint = endpoint
    this.#kept = kept
  }

  async current(signal: AbortSignal): Promise<string> {
    const { accessToken } = parseCredentials(await this.#kept.find())
    return accessToken ?? (await this.renew('', signal))
  }

  async renew(refused: string, signal: AbortSignal): Promise<string> {
    const before = await this.#kept.find()
    const stored = parseCredentials(before)
    if (stored.accessToken !== undefined && stored.accessToken !== refused) {
      return stored.accessToken
    }
    const { refreshToken = '' } = stored
    const answer = await this.#refresh(stored, refreshToken, signal)
    if (answer.kind === 'granted') {
      return await this.#store(before, answer)
    }
    const renewed = parseCredentials(await this.#kept.find())
    if (renewed.accessToken !== undefined && renewed.refreshToken !== refreshToken) {
      return renewed.accessToken
    }
    if (this.#spare === null || this.#spare.accessToken === refused) {
      throw refusedGrant(answer.reason)
    }
    return await this.#store(before, this.#spare)
  }

  async #refresh(
    stored: ShopifyCredentials,
    refreshToken: string,
    signal: AbortSignal,
  ): Promise<Granted | Refused> {
    const given = { ...clientOf(stored), grant_type: 'refresh_token', refresh_token: refreshToken }
    const answer = await ask(this.#endpoint, given, signal)
    // Where none came with it, the one that was used stays.
    return answer.kind === 'granted' && answer.refreshToken === null
      ? { ...answer, refreshToken }
      : answer
  }

  async #store(
    before: JsonObject,
    { accessToken, refreshToken }: { accessToken: string; refreshToken: string | null },
  ): Promise<string> {
    const pair = { accessToken, refreshToken: refreshToken ?? '' }
    if (await this.#kept.replace(before, { ...before, ...pair })) {
      this.#spare = null
      return accessToken
    }
    this.#spare = pair
    return parseCredentials(await this.#kept.find()).accessToken ?? accessToken
  }
}

interface Granted {
  readonly kind: 'granted'
  readonly accessToken: string
  readonly refreshToken: string | null
}

interface Refused {
  readonly kind: 'refused'
  readonly reason: string
}

const grantShape = z.object({
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).nullable().catch(null),
})

async function ask(
  endpoint: TokenEndpoint,
  given: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Granted | Refused> {
  await endpoint.gate.enter([], { signal, atMostMs: DEADLINE_MS })
  const result = await endpoint.client.send({
    method: 'POST',
    url: endpoint.url,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: new URLSearchParams(given).toString(),
    deadlineMs: DEADLINE_MS,
    signal,
    beforeSend: () => undefined,
  })
  signal.throwIfAborted()
  await endpoint.gate.note(result.kind === 'response' ? 'answered' : 'dead')
  if (result.kind !== 'response') {
    throw new ConnectorError(
      'provider_unavailable',
      `No token could be asked for. ${result.reason}`,
    )
  }
  return readGrant(result)
}

function readGrant(response: HttpResponse): Granted | Refused {
  const reason = `No token was granted. ${describeAnswer(response)}`
  const { status } = response
  if (status === 400 || status === 401 || status === 403) {
    return { kind: 'refused', reason }
  }
  if (status === 429 || status === 430) {
    const { retryAfterMs } = response
    throw new ConnectorError('provider_rate_limited', reason, { retryAfterMs })
  }
  if (status >= 500 || status === 408) {
    throw new ConnectorError('provider_unavailable', reason)
  }
  const parsed = grantShape.safeParse(response.json)
  if (status !== 200 || !parsed.success) {
    throw new ConnectorError('node_failed', reason)
  }
  const { access_token: accessToken, refresh_token: refreshToken } = parsed.data
  return { kind: 'granted', accessToken, refreshToken }
}

function clientOf({ clientId = '', clientSecret = '' }: ShopifyCredentials) {
  return { client_id: clientId, client_secret: clientSecret }
}

function refusedGrant(reason: string): ConnectorError {
  return new ConnectorError('connection_unauthorized', reason)
}
