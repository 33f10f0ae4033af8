/**
 * Asks the Admin API, and sits out what passes: the leaky bucket, a refused token, an error inside.
 *
 * Invariant: each kind of waiting has a bound for one question; what is longer ends the attempt with the wait that
 * Shopify asked for. Reading changes nothing there, so a question without an answer is simply asked again.
 */
import type { JsonObject } from '../../../domain/json.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { Bucket, CallGate } from '../../call-gate.ts'
import { ConnectorError } from '../../connector.ts'
import type { HttpClient, HttpResult } from '../../http-client.ts'
import { type QueryCost, readAnswer, type Verdict } from './shopify-answer.ts'
import type { AccessTokens } from './shopify-tokens.ts'

export interface Question {
  readonly query: string
  readonly variables: JsonObject
  /** In points, as far as it can be told before. */
  readonly cost: number
  readonly maxResponseBytes: number
}

export type Asked =
  | Extract<Verdict, { readonly kind: 'data' }>
  | Extract<Verdict, { readonly kind: 'tooCostly' | 'queryRefused' }>

export interface ShopifyApiOptions {
  readonly client: HttpClient
  readonly clock: Clock
  readonly gate: CallGate
  readonly tokens: AccessTokens
  readonly logger: Logger | null
  readonly url: URL
  readonly apiVersion: string
}

const DEADLINE_MS = 60_000
/** Longest that one question waits for its turn, in all. */
const MAX_WAIT_MS = 60_000
const MAX_FAULTS = 4
const FIRST_BACKOFF_MS = 1_000
/** Where Shopify asks to slow down and names no wait. */
const SLOW_DOWN_MS = 2_000
const MIN_WAIT_MS = 100
/** Until the first answer tells: of the smallest plan, and enough for any one query. */
const FIRST_BUCKET: Bucket = { name: 'admin-graphql', capacity: 1_000, refillPerSecond: 100 }

/** What one question has gone through. */
interface Patience {
  waitedMs: number
  faults: number
  hasRenewed: boolean
}

export class ShopifyApi {
  readonly #options: ShopifyApiOptions
  #bucket: Bucket = FIRST_BUCKET
  /** What the last query cost by what it was thought to. */
  #costRatio = 1
  #hasToldDeprecation = false

  constructor(options: ShopifyApiOptions) {
    this.#options = options
  }

  async ask(question: Question, signal: AbortSignal): Promise<Asked> {
    const patience: Patience = { waitedMs: 0, faults: 0, hasRenewed: false }
    let token = await this.#options.tokens.current(signal)
    for (;;) {
      const verdict = await this.#askOnce(question, token, signal)
      switch (verdict.kind) {
        case 'data':
          this.#tellDeprecation(verdict.deprecatedReason)
          return verdict
        case 'tooCostly':
        case 'queryRefused':
          return verdict
        case 'failed':
          throw verdict.error
        case 'tokenRefused':
          token = await this.#renew(token, verdict.reason, patience, signal)
          break
        case 'throttled':
          if (verdict.cost && isNeverAffordable(verdict.cost)) {
            return { kind: 'tooCostly', reason: 'The query costs more than the bucket holds.' }
          }
          await this.#wait(
            waitOf(verdict.cost),
            'The bucket is empty (THROTTLED).',
            patience,
            signal,
          )
          break
        case 'slowDown':
          await this.#slowDown(verdict, patience, signal)
          break
        case 'passing':
          await this.#backOff(verdict.reason, patience, signal)
          break
      }
    }
  }

  async #askOnce(question: Question, token: string, signal: AbortSignal): Promise<Verdict> {
    const { client, gate, url, apiVersion } = this.#options
    const tokens = Math.min(Math.ceil(question.cost * this.#costRatio), this.#bucket.capacity)
    await gate.enter([{ bucket: this.#bucket, tokens }], { signal, atMostMs: MAX_WAIT_MS })
    const result = await client.send({
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        'x-shopify-access-token': token,
      },
      body: JSON.stringify({ query: question.query, variables: question.variables }),
      deadlineMs: DEADLINE_MS,
      maxResponseBytes: question.maxResponseBytes,
      signal,
      beforeSend: () => undefined,
    })
    signal.throwIfAborted()
    await gate.note(isAnswered(result) ? 'answered' : 'dead')
    const verdict = readAnswer(result, apiVersion)
    if ((verdict.kind === 'data' || verdict.kind === 'throttled') && verdict.cost) {
      await this.#learn(question, verdict.cost)
    }
    return verdict
  }

  async #learn(question: Question, cost: QueryCost): Promise<void> {
    const { maximumAvailable, currentlyAvailable, restoreRate } = cost.throttleStatus
    this.#costRatio = cost.requestedQueryCost / question.cost
    this.#bucket = {
      name: FIRST_BUCKET.name,
      capacity: maximumAvailable,
      refillPerSecond: restoreRate,
    }
    await this.#options.gate.correct(this.#bucket, currentlyAvailable)
  }

  /** Once for one question: a new token that is refused, too, is no matter of time. */
  async #renew(
    token: string,
    reason: string,
    patience: Patience,
    signal: AbortSignal,
  ): Promise<string> {
    if (patience.hasRenewed) {
      throw new ConnectorError('connection_unauthorized', reason)
    }
    patience.hasRenewed = true
    return await this.#options.tokens.renew(token, signal)
  }

  async #slowDown(
    verdict: Extract<Verdict, { readonly kind: 'slowDown' }>,
    patience: Patience,
    signal: AbortSignal,
  ): Promise<void> {
    const waitMs = verdict.waitMs ?? SLOW_DOWN_MS
    await this.#options.gate.block(this.#bucket, waitMs)
    await this.#wait(waitMs, verdict.reason, patience, signal)
  }

  async #wait(ms: number, reason: string, patience: Patience, signal: AbortSignal): Promise<void> {
    const waitMs = Math.max(Math.ceil(ms), MIN_WAIT_MS)
    patience.waitedMs += waitMs
    if (patience.waitedMs > MAX_WAIT_MS) {
      throw new ConnectorError('provider_rate_limited', reason, { retryAfterMs: waitMs })
    }
    await this.#options.clock.sleep(waitMs, signal)
  }

  async #backOff(reason: string, patience: Patience, signal: AbortSignal): Promise<void> {
    patience.faults += 1
    if (patience.faults >= MAX_FAULTS) {
      throw new ConnectorError('provider_unavailable', reason)
    }
    await this.#options.clock.sleep(FIRST_BACKOFF_MS * 2 ** (patience.faults - 1), signal)
  }

  #tellDeprecation(reason: string | null): void {
    if (reason !== null && !this.#hasToldDeprecation) {
      this.#hasToldDeprecation = true
      const { logger, apiVersion } = this.#options
      logger?.warn('source.deprecated', { source: 'shopify', apiVersion, reason })
    }
  }
}

/** A page of a proxy is no answer of Shopify's, whatever its status. */
function isAnswered(result: HttpResult): boolean {
  return result.kind === 'response' && result.status < 500 && result.json !== undefined
}

function isNeverAffordable({ requestedQueryCost, throttleStatus }: QueryCost): boolean {
  return requestedQueryCost > throttleStatus.maximumAvailable
}

/** Until enough is in the bucket again. */
function waitOf(cost: QueryCost | null): number {
  if (cost === null) {
    return SLOW_DOWN_MS
  }
  const { requestedQueryCost, throttleStatus } = cost
  const missing = requestedQueryCost - throttleStatus.currentlyAvailable
  return (missing / throttleStatus.restoreRate) * 1000
}
