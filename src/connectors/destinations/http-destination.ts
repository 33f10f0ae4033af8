/**
 * The `http` destination: JSON to any API, one call a record or one for many.
 *
 * Invariants: every request carries its delivery key, the same at every try; each record of a call gets
 * its own outcome, and what the answer does not settle beyond doubt is unknown, never guessed. No
 * request body, address query or secret is part of a reason.
 *
 * With a signing secret each request is signed as Standard Webhooks says: over its key, the time of this try and the
 * body as it is sent. The key is the same at every try, so that a receiver knows a repetition.
 *
 * What it sends:
 *   RECORD  the mapped record as JSON; `Idempotency-Key: "<delivery key>"`
 *   PAGE    `{ "records": [ { "key", "record" } … ] }`; `Idempotency-Key: "<SHA-256 over the keys>"`
 * What it understands:
 *   RECORD  2xx, empty or a JSON object (its `id` is kept)
 *   PAGE    2xx with `{ "results": [ { "key", "status": "written" | "rejected" | "retry", "id"?, "reason"?, "retryAfterMs"? } … ] }`,
 *           or, of an API with imports, 202 with `{ "id" }`; the call carries `Import-Tag: <tag>` then
 * What it asks: http-questions.ts. What its calls pass: http-calls.ts.
 */
import { createHash } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import type { Outcome } from '../../domain/delivery.ts'
import type { JsonObject } from '../../domain/json.ts'
import { assert } from '../../runtime/assert.ts'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { FREE_GATE, type OpenGate, type Turn } from '../call-gate.ts'
import type {
  DeliveryAnswer,
  DeliveryCall,
  DestinationConnector,
  DestinationWriter,
  OpenDestination,
  OutgoingRecord,
} from '../destination.ts'
import { classifyResult, classifyStatus, type StatusClass } from '../http-answer.ts'
import { createHttpCalls, type HttpCalls, testHttpConnection } from '../http-calls.ts'
import {
  DEFAULT_MAX_RESPONSE_BYTES,
  type HttpClient,
  type HttpResponse,
  type HttpResult,
} from '../http-client.ts'
import {
  joinPath,
  makeHeaders,
  parseHttpCredentials,
  readBaseUrl,
  storedHttpConfig,
  storedHttpCredentials,
} from '../http-connection.ts'
import { createImports, createLookUp, readJobId } from './http-questions.ts'
import { readMisshapen, readRecordAnswer, readResults } from './http-results.ts'
import {
  describeObjectProblem,
  type HttpObjectOptions,
  httpObjectOptions,
  storedObjectOptions,
} from './http-settings.ts'

export interface HttpDestinationOptions {
  readonly client: HttpClient
  readonly clock?: Clock
  /** Not given: nothing holds a call up. */
  readonly openGate?: OpenGate
}

const DELIVERY_CLASSES = { IDEMPOTENT: 'idempotent', LOOKUP: 'lookup', NONE: 'none' } as const

/** Room for one record's result in the answer to a page. */
const RESULT_BYTES = 2_048

export function createHttpDestination({
  client,
  clock = systemClock,
  openGate = () => FREE_GATE,
}: HttpDestinationOptions): DestinationConnector {
  return {
    type: 'http',
    connectionConfig: storedHttpConfig,
    credentials: storedHttpCredentials,
    objectOptions: storedObjectOptions,
    requestDeadlineMs: (options) => httpObjectOptions.parse(options).requestDeadlineMs,
    describeObjectProblem,
    testConnection: (request) =>
      testHttpConnection(createHttpCalls(client, openGate, request), request),
    listFields: () => Promise.resolve(null),
    open: async (request) =>
      new HttpWriter(request, { clock, calls: createHttpCalls(client, openGate, request) }),
  }
}

class HttpWriter implements DestinationWriter {
  readonly deliveryClass: DestinationWriter['deliveryClass']
  readonly settlingMs: number
  readonly requestDeadlineMs: number
  readonly maxRecordsPerCall: number
  readonly concurrency: number
  readonly lookUp: DestinationWriter['lookUp']
  readonly imports: DestinationWriter['imports']
  readonly #calls: HttpCalls
  readonly #options: HttpObjectOptions
  readonly #url: URL
  readonly #headers: Readonly<Record<string, string>>
  readonly #clock: Clock
  readonly #signer: Webhook | null

  constructor(
    request: OpenDestination,
    { clock, calls }: { readonly clock: Clock; readonly calls: HttpCalls },
  ) {
    const options = httpObjectOptions.parse(request.options)
    const baseUrl = readBaseUrl(request.config)
    this.#calls = calls
    this.#options = options
    this.#url = joinPath(baseUrl, 'object', request.object)
    this.#headers = makeHeaders(request.credentials)
    const { signingSecret } = parseHttpCredentials(request.credentials)
    this.#signer = signingSecret === undefined ? null : new Webhook(signingSecret)
    this.#clock = clock
    this.deliveryClass = DELIVERY_CLASSES[options.deliveryClass]
    this.settlingMs = options.settlingMs
    this.requestDeadlineMs = options.requestDeadlineMs
    this.maxRecordsPerCall = options.path === 'PAGE' ? options.maxRecordsPerCall : 1
    this.concurrency = options.concurrency ?? (options.path === 'PAGE' ? 1 : 8)
    const questions = {
      calls,
      baseUrl,
      headers: this.#headers,
      deadlineMs: options.requestDeadlineMs,
      maxResponseBytes: DEFAULT_MAX_RESPONSE_BYTES + this.maxRecordsPerCall * RESULT_BYTES,
    }
    const { lookupObject, importsObject } = options
    this.lookUp = lookupObject === undefined ? null : createLookUp(questions, lookupObject)
    this.imports =
      importsObject === undefined ? null : createImports(questions, { ...options, importsObject })
  }

  identityOf(fields: JsonObject): string | null {
    const { identityField } = this.#options
    const value =
      identityField !== undefined && Object.hasOwn(fields, identityField)
        ? fields[identityField]
        : null
    return (typeof value === 'string' && value !== '') || typeof value === 'number'
      ? String(value)
      : null
  }

  describeUnsendable(record: OutgoingRecord): string | null {
    const { identityField, maxBodyBytes } = this.#options
    const bytes = Buffer.byteLength(record.json)
    if (bytes > maxBodyBytes) {
      return `The record is ${bytes} bytes of JSON; the destination takes at most ${maxBodyBytes}.`
    }
    return identityField !== undefined && this.identityOf(record.fields) === null
      ? `The record has no value for ${identityField}, by which the destination knows it.`
      : null
  }

  takeTurn(): Promise<Turn> {
    return this.#calls.takeTurn()
  }

  deliver(call: DeliveryCall): Promise<DeliveryAnswer> {
    assert(
      call.records.length >= 1 && call.records.length <= this.maxRecordsPerCall,
      `One call takes 1 to ${this.maxRecordsPerCall} records.`,
    )
    return this.#options.path === 'PAGE' ? this.#deliverPage(call) : this.#deliverRecord(call)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  async #deliverRecord(call: DeliveryCall): Promise<DeliveryAnswer> {
    const [record] = call.records
    assert(record !== undefined, 'A call has a record.')
    const result = await this.#send(call, record.deliveryKey, record.json)
    if (result.kind !== 'response') {
      return answerAll(call, classifyResult(result))
    }
    const verdict = this.#classify(result)
    return answerAll(call, verdict.kind === 'ok' ? readRecordAnswer(result) : verdict)
  }

  async #deliverPage(call: DeliveryCall): Promise<DeliveryAnswer> {
    const result = await this.#send(call, digestKeys(call.records), pageBody(call.records))
    if (result.kind !== 'response') {
      return answerAll(call, classifyResult(result))
    }
    const jobId = this.imports ? readJobId(result) : null
    if (jobId !== null) {
      return { kind: 'accepted', jobId }
    }
    const verdict = this.#classify(result)
    if (verdict.kind !== 'ok' && verdict.kind !== 'rejected') {
      return answerAll(call, verdict)
    }
    const outcomes = readResults(result, call.records)
    if (outcomes) {
      return { kind: 'answered', outcomes }
    }
    if (verdict.kind === 'ok') {
      return answerAll(call, readMisshapen(result, 'without a result for each record'))
    }
    // With one record there is no doubt about which is guilty.
    return call.records.length === 1
      ? answerAll(call, verdict)
      : { kind: 'refused', reason: verdict.reason, isTooLarge: result.status === 413 }
  }

  #classify(response: HttpResponse): StatusClass {
    return classifyStatus(response, {
      endpoint: `${this.#options.method} ${this.#url.pathname}`,
      isIdempotent: this.deliveryClass === 'idempotent',
    })
  }

  #send(call: DeliveryCall, key: string, body: string): Promise<HttpResult> {
    return this.#calls.send({
      method: this.#options.method,
      url: this.#url,
      // A structured-field string, as draft-ietf-httpapi-idempotency-key-header asks: quoted.
      headers: {
        ...this.#headers,
        'idempotency-key': `"${key}"`,
        ...(call.importTag === null ? {} : { 'import-tag': call.importTag }),
      },
      body,
      deadlineMs: this.requestDeadlineMs,
      maxResponseBytes: DEFAULT_MAX_RESPONSE_BYTES + call.records.length * RESULT_BYTES,
      signal: call.signal,
      // Where an unknown outcome is work for a person, none is risked to save a handshake.
      reusesConnections: this.deliveryClass === 'idempotent',
      beforeSend: () => call.beforeSend(),
      headersAtSend: () => this.#sign(key, body),
    })
  }

  #sign(key: string, body: string): Readonly<Record<string, string>> {
    if (this.#signer === null) {
      return {}
    }
    const sentAt = this.#clock.now()
    return {
      'webhook-id': key,
      'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
      'webhook-signature': this.#signer.sign(key, sentAt, body),
    }
  }
}

function answerAll(call: DeliveryCall, outcome: Outcome): DeliveryAnswer {
  return { kind: 'answered', outcomes: call.records.map(() => outcome) }
}

/** Made of the texts that the keys were derived from: nothing is written as JSON twice. */
function pageBody(records: readonly OutgoingRecord[]): string {
  const members = records.map(
    ({ deliveryKey, json }) => `{"key":"${deliveryKey}","record":${json}}`,
  )
  return `{"records":[${members.join(',')}]}`
}

/** Names a call by what it carries: the same records, tried again, are the same call. */
function digestKeys(records: readonly OutgoingRecord[]): string {
  const hash = createHash('sha256')
  for (const { deliveryKey } of records) {
    hash.update(deliveryKey)
  }
  return hash.digest('hex')
}
