/**
 * The `http` destination: JSON to any API, one call a record or one for many.
 *
 * Invariants: every request carries its delivery key, the same at every try; each record of a call gets
 * its own outcome, and what the answer does not settle beyond doubt is unknown, never guessed. No
 * request body, address query or secret is part of a reason.
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
import type { Outcome } from '../../domain/delivery.ts'
import type { JsonObject } from '../../domain/json.ts'
import { assert } from '../../runtime/assert.ts'
import { FREE_GATE, type OpenGate, type Turn } from '../call-gate.ts'
import { ConnectorError, type OpenConnection } from '../connector.ts'
import type {
  DeliveryAnswer,
  DeliveryCall,
  DestinationConnector,
  DestinationWriter,
  OpenDestination,
  OutgoingRecord,
} from '../destination.ts'
import { classifyResult, classifyStatus, type StatusClass } from '../http-answer.ts'
import {
  DEFAULT_MAX_RESPONSE_BYTES,
  type HttpClient,
  type HttpResponse,
  type HttpResult,
} from '../http-client.ts'
import { createHttpCalls, type HttpCalls } from './http-calls.ts'
import { createImports, createLookUp, readJobId } from './http-questions.ts'
import { readMisshapen, readRecordAnswer, readResults } from './http-results.ts'
import {
  describeObjectProblem,
  type HttpObjectOptions,
  httpConnectionConfig,
  httpCredentials,
  httpObjectOptions,
  storedConnectionConfig,
  storedCredentials,
  storedObjectOptions,
} from './http-settings.ts'

export interface HttpDestinationOptions {
  readonly client: HttpClient
  /** Not given: nothing holds a call up. */
  readonly openGate?: OpenGate
}

const DELIVERY_CLASSES = { IDEMPOTENT: 'idempotent', LOOKUP: 'lookup', NONE: 'none' } as const

/** A person waits for it. */
const TEST_DEADLINE_MS = 10_000
/** Room for one record's result in the answer to a page. */
const RESULT_BYTES = 2_048

export function createHttpDestination({
  client,
  openGate = () => FREE_GATE,
}: HttpDestinationOptions): DestinationConnector {
  return {
    type: 'http',
    connectionConfig: storedConnectionConfig,
    credentials: storedCredentials,
    objectOptions: storedObjectOptions,
    requestDeadlineMs: (options) => httpObjectOptions.parse(options).requestDeadlineMs,
    describeObjectProblem,
    testConnection: (request) =>
      testConnection(createHttpCalls(client, openGate, request), request),
    listFields: () => Promise.resolve(null),
    open: async (request) => new HttpWriter(createHttpCalls(client, openGate, request), request),
  }
}

/**
 * Any answer shows that the address and the credentials are good, but one that refuses access. A person waits for it, so
 * it does not wait for its turn; a host that was dead and answers now is believed at once.
 */
async function testConnection(calls: HttpCalls, request: OpenConnection): Promise<void> {
  const url = new URL(httpConnectionConfig.parse(request.config).baseUrl)
  const result = await calls.send({
    method: 'GET',
    url,
    headers: makeHeaders(request.credentials),
    body: '',
    deadlineMs: TEST_DEADLINE_MS,
    signal: request.signal,
    beforeSend: () => undefined,
  })
  if (result.kind !== 'response') {
    const { failure, reason } = classifyResult(result)
    throw new ConnectorError(failure, reason)
  }
  const endpoint = `GET ${url.pathname}`
  const verdict = classifyStatus(result, { endpoint, isIdempotent: true })
  if (verdict.kind === 'retryable' && verdict.failure === 'connection_unauthorized') {
    throw new ConnectorError(verdict.failure, verdict.reason)
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

  constructor(calls: HttpCalls, request: OpenDestination) {
    const options = httpObjectOptions.parse(request.options)
    this.#calls = calls
    this.#options = options
    this.#url = joinUrl(httpConnectionConfig.parse(request.config).baseUrl, request.object)
    this.#headers = makeHeaders(request.credentials)
    this.deliveryClass = DELIVERY_CLASSES[options.deliveryClass]
    this.settlingMs = options.settlingMs
    this.requestDeadlineMs = options.requestDeadlineMs
    this.maxRecordsPerCall = options.path === 'PAGE' ? options.maxRecordsPerCall : 1
    this.concurrency = options.concurrency ?? (options.path === 'PAGE' ? 1 : 8)
    const questions = {
      calls,
      baseUrl: trimSlashes(httpConnectionConfig.parse(request.config).baseUrl),
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
    })
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

function joinUrl(baseUrl: string, object: string): URL {
  const problem = describeObjectProblem(object)
  assert(problem === null, `An object is checked when its sync is saved. ${problem}`)
  return new URL(`${trimSlashes(baseUrl)}${object}`)
}

function trimSlashes(baseUrl: string): string {
  return baseUrl.replace(/\/+$/, '')
}

function makeHeaders(credentials: JsonObject): Readonly<Record<string, string>> {
  const { bearerToken, headerName, headerValue } = httpCredentials.parse(credentials)
  return {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken}` }),
    ...(headerName === undefined || headerValue === undefined
      ? {}
      : { [headerName.toLowerCase()]: headerValue }),
  }
}
