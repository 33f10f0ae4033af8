/**
 * Brevo's API as the connector calls it: the key, the rates, what an answer to a question says.
 *
 * Invariants: the key goes to the API's own address and nowhere else; a question is answered by JSON of the
 * API itself, or by nobody.
 */
import { isJsonObject, type JsonObject } from '../../../domain/json.ts'
import type { CallGate } from '../../call-gate.ts'
import { ConnectorError } from '../../connector.ts'
import type { Unanswered } from '../../destination.ts'
import { classifyResult, classifyStatus, describeAnswer, failureOfForm } from '../../http-answer.ts'
import type { HttpClient, HttpRequest, HttpResponse, HttpResult } from '../../http-client.ts'
import { type BrevoRoute, noteRates, tollsOf, waitOf } from './brevo-buckets.ts'
import type { BrevoPlan } from './brevo-settings.ts'

export interface BrevoApiOptions {
  readonly client: HttpClient
  readonly gate: CallGate
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly plan: BrevoPlan
}

interface Question {
  /** Below the base URL. */
  readonly path: string
  readonly signal: AbortSignal
  readonly deadlineMs: number
  /** How long to wait for the turn. */
  readonly atMostMs: number
}

/** `absent`: the API does not know what was asked for. */
export type BrevoReply =
  | { readonly kind: 'told'; readonly body: JsonObject }
  | { readonly kind: 'absent'; readonly reason: string }
  | (Unanswered & { readonly retryAfterMs: number | null })

function routeOf(path: string): BrevoRoute {
  return path.startsWith('/contacts') ? 'contacts' : 'others'
}

export class BrevoApi {
  readonly baseUrl: string
  readonly client: HttpClient
  readonly #gate: CallGate
  readonly #plan: BrevoPlan
  readonly #headers: Readonly<Record<string, string>>

  constructor({ client, gate, baseUrl, apiKey, plan }: BrevoApiOptions) {
    this.client = client
    this.baseUrl = baseUrl
    this.#gate = gate
    this.#plan = plan
    this.#headers = {
      'api-key': apiKey,
      'content-type': 'application/json',
      accept: 'application/json',
    }
  }

  /** Takes what a call to each of the paths costs, or says how long to wait. */
  take(paths: readonly string[]) {
    return this.#gate.take(paths.flatMap((path) => tollsOf(this.#plan, routeOf(path))))
  }

  /** Sends without a toll: it was taken before. */
  async send(
    path: string,
    call: Pick<HttpRequest, 'method' | 'body' | 'deadlineMs' | 'signal' | 'beforeSend'>,
  ): Promise<HttpResult> {
    const url = new URL(`${this.baseUrl}${path}`)
    const result = await this.client.send({ ...call, url, headers: this.#headers })
    await this.#note(path, result).catch(() => undefined) // a gate only delays; the answer counts
    return result
  }

  /** Waits for its turn and asks. Rejects only with the signal's reason. */
  async ask({ path, signal, deadlineMs, atMostMs }: Question): Promise<BrevoReply> {
    try {
      await this.#gate.enter(tollsOf(this.#plan, routeOf(path)), { signal, atMostMs })
    } catch (error) {
      if (error instanceof ConnectorError) {
        const { code: failure, message: reason, retryAfterMs } = error
        return { kind: 'unknown', failure, reason, retryAfterMs }
      }
      throw error
    }
    return await this.askAtOnce({ path, signal, deadlineMs })
  }

  /** Asks without a toll: it was taken before. */
  async askAtOnce(question: Omit<Question, 'atMostMs'>): Promise<BrevoReply> {
    const { path, signal, deadlineMs } = question
    const result = await this.send(path, {
      ...{ method: 'GET', body: '', deadlineMs, signal },
      beforeSend: () => undefined,
    })
    if (result.kind !== 'response') {
      const { failure, reason } = classifyResult(result)
      return { kind: 'unknown', failure, reason, retryAfterMs: null }
    }
    return readReply(path, result)
  }

  async #note(path: string, result: HttpResult): Promise<void> {
    const route = routeOf(path)
    await this.#gate.note(isSensible(result) ? 'answered' : 'dead')
    if (result.kind === 'response') {
      await noteRates(this.#gate, { plan: this.#plan, route }, result)
    }
  }
}

/** An answer of the API itself, whatever it says. */
function isSensible(result: HttpResult): boolean {
  return result.kind === 'response' && (result.status < 500 || isJsonObject(result.json))
}

function readReply(path: string, response: HttpResponse): BrevoReply {
  const endpoint = `GET ${path.split('?')[0]?.replace(/^(\/contacts\/)[^/]*[@%].*/, '$1…')}`
  const verdict = classifyStatus(response, { endpoint, isIdempotent: true })
  const { json } = response
  if (verdict.kind === 'ok') {
    return isJsonObject(json)
      ? { kind: 'told', body: json }
      : {
          ...{ kind: 'unknown', failure: failureOfForm(response), retryAfterMs: null },
          reason: `The destination answered ${response.status} to ${endpoint} with something else than JSON.`,
        }
  }
  const reason = `To ${endpoint}: ${describeAnswer(response)}`
  if (response.status === 404 && isJsonObject(json)) {
    return { kind: 'absent', reason }
  }
  const failure = 'failure' in verdict ? verdict.failure : 'node_failed'
  const retryAfterMs = failure === 'provider_rate_limited' ? waitOf(response, routeOf(path)) : null
  return { kind: 'unknown', failure, reason, retryAfterMs }
}

/** What a question that must be answered was answered with. Throws {@link ConnectorError}. */
export function requireTold(reply: BrevoReply): JsonObject {
  switch (reply.kind) {
    case 'told':
      return reply.body
    case 'absent':
      throw new ConnectorError('node_failed', reply.reason)
    default: {
      const { failure, reason, retryAfterMs } = reply
      throw new ConnectorError(failure, describeAccess(failure, reason), { retryAfterMs })
    }
  }
}

/** Where the key is good and the caller's address is not, another key does not help. */
export function describeAccess(failure: string, reason: string): string {
  return failure === 'connection_unauthorized' && /\bIP\b/.test(reason)
    ? `${reason} The key may be good: add the address of this installation to those that the account lets in, under Security in Brevo.`
    : reason
}
