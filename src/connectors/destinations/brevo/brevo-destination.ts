/**
 * The `brevo` destination: contacts, one by one or a page by an import.
 *
 * Class `idempotent`: both ways are an upsert by what the contact is known by, so that the same write, twice, changes
 * nothing. Invariants: never `forceMerge` and never a second name in an import, which delete contacts; no
 * blocklisting is lifted; what Brevo would leave out without a word is not sent; one call of deliver() is at
 * most one request.
 */
import type { Outcome } from '../../../domain/delivery.ts'
import type { JsonObject } from '../../../domain/json.ts'
import { assert } from '../../../runtime/assert.ts'
import { FREE_GATE, type OpenGate, type Turn } from '../../call-gate.ts'
import type { OpenConnection } from '../../connector.ts'
import type {
  DeliveryAnswer,
  DeliveryCall,
  DestinationConnector,
  DestinationWriter,
  ImportJobs,
  OpenDestination,
  OutgoingRecord,
} from '../../destination.ts'
import { classifyResult } from '../../http-answer.ts'
import type { HttpClient, HttpResponse } from '../../http-client.ts'
import { readMisshapen, readRemoteId } from '../http-results.ts'
import { BrevoApi, requireTold } from './brevo-api.ts'
import {
  type BrevoContact,
  describeMappingProblem,
  identityOf,
  readContact,
} from './brevo-contact.ts'
import { MAX_IMPORT_BYTES, makeImportBody } from './brevo-import-body.ts'
import {
  createBrevoImports,
  describeOpen,
  PROCESS_LIST_PATH,
  readOpenImports,
} from './brevo-imports.ts'
import { PHONE_ATTRIBUTES } from './brevo-phone.ts'
import { classifyWrite, describeCall, readContactAnswer } from './brevo-results.ts'
import { type BrevoSchema, listSchemaFields, readSchema } from './brevo-schema.ts'
import {
  type BrevoObjectOptions,
  brevoConnectionConfig,
  brevoCredentials,
  brevoObjectOptions,
  describeObjectProblem,
  storedObjectOptions,
} from './brevo-settings.ts'

export interface BrevoDestinationOptions {
  readonly client: HttpClient
  /** Not given: nothing holds a call up. */
  readonly openGate?: OpenGate
}

/** A person waits for it. */
const TEST_DEADLINE_MS = 10_000
const SCHEMA_PATH = '/contacts/attributes'
const CONTACTS_PATH = '/contacts'
const IMPORT_PATH = '/contacts/import'
/** Calls under way at once: at 8 a second and less than a second each, no more are of use. */
const CONCURRENCY = 8
/** Longest JSON of one record, in bytes. */
const MAX_RECORD_BYTES = 256 * 1024
/**
 * How long a write whose answer was lost may still come into force: how Brevo works behind its API is not documented.
 * An import is only begun by its call, and must show in the list of processes by then.
 */
const SETTLING_MS = { RECORD: 30_000, IMPORT: 60_000 } as const
/** Longest that a turn is waited for at a time, in milliseconds. */
const MAX_TURN_WAIT_MS = 60_000
/** How long the imports of others are waited for, in milliseconds. */
const IMPORT_PATIENCE_MS = 10 * 60_000

export function createBrevoDestination({
  client,
  openGate = () => FREE_GATE,
}: BrevoDestinationOptions): DestinationConnector {
  const openApi = (request: OpenConnection) => {
    const { baseUrl, plan } = brevoConnectionConfig.parse(request.config)
    const { apiKey } = brevoCredentials.parse(request.credentials)
    const { connectionId } = request
    const gate = openGate({ connectionId, host: new URL(baseUrl).host })
    return new BrevoApi({ client, gate, baseUrl: baseUrl.replace(/\/+$/, ''), apiKey, plan })
  }
  return {
    type: 'brevo',
    connectionConfig: brevoConnectionConfig,
    credentials: brevoCredentials,
    objectOptions: storedObjectOptions,
    requestDeadlineMs: (options) => brevoObjectOptions.parse(options).requestDeadlineMs,
    describeObjectProblem,
    testConnection: async (request) => {
      requireTold(await askForTest(openApi(request), '/account', request))
    },
    listFields: async (request) => {
      const told = requireTold(await askForTest(openApi(request), SCHEMA_PATH, request))
      return listSchemaFields(readSchema(told), brevoObjectOptions.parse(request.options))
    },
    open: async (request) => {
      const api = openApi(request)
      // Asked anew by each attempt: what an account had an hour ago, it need not have now.
      const told = requireTold(await askForTest(api, SCHEMA_PATH, request))
      return new BrevoWriter(api, readSchema(told), request)
    },
  }
}

function askForTest(api: BrevoApi, path: string, { signal }: OpenConnection) {
  return api.ask({ path, signal, deadlineMs: TEST_DEADLINE_MS, atMostMs: MAX_TURN_WAIT_MS })
}

class BrevoWriter implements DestinationWriter {
  readonly deliveryClass = 'idempotent'
  readonly settlingMs: number
  readonly requestDeadlineMs: number
  readonly maxRecordsPerCall: number
  readonly concurrency: number
  readonly lookUp = null
  readonly imports: ImportJobs | null
  readonly #api: BrevoApi
  readonly #schema: BrevoSchema
  readonly #options: BrevoObjectOptions
  readonly #signal: AbortSignal
  /** Phones that were refused, by the delivery key of their record, until it is written without. */
  readonly #refusedPhones = new Map<string, readonly string[]>()
  /** The newest import of this writer, which is the only one that can be open. */
  #sent: { readonly jobId: string; readonly addresses: ReadonlyMap<string, string> } | null = null

  constructor(api: BrevoApi, schema: BrevoSchema, request: OpenDestination) {
    const options = brevoObjectOptions.parse(request.options)
    this.#api = api
    this.#schema = schema
    this.#options = options
    this.#signal = request.signal
    this.settlingMs = SETTLING_MS[options.path]
    this.requestDeadlineMs = options.requestDeadlineMs
    const isImport = options.path === 'IMPORT'
    this.maxRecordsPerCall = isImport ? options.maxRecordsPerCall : 1
    this.concurrency = isImport ? 1 : CONCURRENCY
    const sentIn = (jobId: string) => (this.#sent?.jobId === jobId ? this.#sent.addresses : null)
    this.imports = isImport ? createBrevoImports({ api, options, sentIn }) : null
  }

  identityOf(fields: JsonObject): string | null {
    return identityOf(this.#options, fields)
  }

  describeUnsendable({ fields, json }: Pick<OutgoingRecord, 'fields' | 'json'>): string | null {
    const bytes = Buffer.byteLength(json)
    if (bytes > MAX_RECORD_BYTES) {
      return `The record is ${bytes} bytes of JSON; at most ${MAX_RECORD_BYTES} are sent of a contact.`
    }
    const read = readContact(this.#schema, this.#options, fields)
    return 'problem' in read ? read.problem : null
  }

  async takeTurn(): Promise<Turn> {
    if (this.imports === null) {
      return await this.#api.take([CONTACTS_PATH])
    }
    const turn = await this.#api.take([IMPORT_PATH, PROCESS_LIST_PATH])
    return turn.kind === 'wait' ? turn : await this.#waitForOthers()
  }

  deliver(call: DeliveryCall): Promise<DeliveryAnswer> {
    assert(
      call.records.length >= 1 && call.records.length <= this.maxRecordsPerCall,
      `One call takes 1 to ${this.maxRecordsPerCall} records.`,
    )
    for (const { fields } of call.records) {
      const problem = describeMappingProblem(this.#schema, this.#options, fields)
      if (problem !== null) {
        return Promise.resolve(answerAll(call, notSent(problem)))
      }
    }
    const contacts = call.records.map(({ fields }) => this.#readContact(fields))
    return this.imports === null
      ? this.#deliverContact(call, contacts)
      : this.#deliverImport(call, contacts)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #readContact(fields: JsonObject): BrevoContact {
    const read = readContact(this.#schema, this.#options, fields)
    assert('contact' in read, 'What cannot be sent is told before.')
    return read.contact
  }

  /** Imports that run beside each other are known to hang, also beside one of somebody else. */
  async #waitForOthers(): Promise<Turn> {
    const reply = await this.#api.askAtOnce({
      ...{ path: PROCESS_LIST_PATH, signal: this.#signal, deadlineMs: TEST_DEADLINE_MS },
    })
    const open = readOpenImports(reply)
    const waits = {
      kind: 'wait',
      waitMs: MAX_TURN_WAIT_MS,
      patienceMs: IMPORT_PATIENCE_MS,
    } as const
    if (!('kind' in open)) {
      return open.length === 0
        ? { kind: 'go' }
        : { ...waits, failure: 'provider_unavailable', reason: describeOpen(open) }
    }
    // What no waiting mends is told by the call itself.
    return open.failure === 'provider_unavailable' || open.failure === 'provider_rate_limited'
      ? { ...waits, failure: open.failure, reason: open.reason }
      : { kind: 'go' }
  }

  async #deliverContact(
    call: DeliveryCall,
    [contact]: readonly BrevoContact[],
  ): Promise<DeliveryAnswer> {
    const [record] = call.records
    assert(record !== undefined && contact !== undefined, 'A call has a record.')
    const { deliveryKey } = record
    const refused = this.#refusedPhones.get(deliveryKey) ?? []
    const result = await this.#send(call, CONTACTS_PATH, makeContactBody(contact, refused))
    if (result.kind !== 'response') {
      return answerAll(call, classifyResult(result))
    }
    const answer = readContactAnswer(result)
    if (answer.kind === 'phoneRefused') {
      const phones = answer.phones.filter((name) => contact.attributes.has(name))
      return answerAll(call, this.#judgePhones(deliveryKey, { ...answer, phones, refused }))
    }
    if (answer.kind === 'written') {
      this.#refusedPhones.delete(deliveryKey)
      const omitted = [...contact.omitted, ...refused]
      return answerAll(call, { ...answer, remoteId: nameWritten(answer.remoteId, omitted) })
    }
    return answerAll(call, answer)
  }

  /** It is sent again without them where it may be, at its next turn. */
  #judgePhones(
    deliveryKey: string,
    told: {
      readonly phones: readonly string[]
      readonly refused: readonly string[]
      readonly reason: string
    },
  ): Outcome {
    const { onPhoneProblem, identifiedBy } = this.#options
    const fresh = told.phones.filter((name) => !told.refused.includes(name))
    const isNeeded = identifiedBy === 'SMS' && fresh.includes('SMS')
    if (onPhoneProblem === 'REJECT' || fresh.length === 0 || isNeeded) {
      return { kind: 'rejected', reason: told.reason }
    }
    this.#refusedPhones.set(deliveryKey, [...told.refused, ...fresh])
    const { reason } = told
    return { kind: 'retryable', failure: 'provider_unavailable', reason, retryAfterMs: null }
  }

  async #deliverImport(
    call: DeliveryCall,
    contacts: readonly BrevoContact[],
  ): Promise<DeliveryAnswer> {
    const body = makeImportBody(contacts, this.#options.listIds ?? [])
    const bytes = Buffer.byteLength(body)
    if (bytes > MAX_IMPORT_BYTES) {
      const reason = `The import is ${bytes} bytes; at most ${MAX_IMPORT_BYTES} are sent in one.`
      return { kind: 'refused', reason, isTooLarge: true }
    }
    const result = await this.#send(call, IMPORT_PATH, body)
    if (result.kind !== 'response') {
      return answerAll(call, classifyResult(result))
    }
    const jobId = readProcessId(result)
    if (jobId !== null) {
      const keys = call.records.map(({ deliveryKey }) => deliveryKey)
      const addresses = new Map(keys.map((key, index) => [key, contacts[index]?.email ?? '']))
      this.#sent = { jobId, addresses }
      return { kind: 'accepted', jobId }
    }
    return readImportRefusal(call, result)
  }

  #send(call: DeliveryCall, path: string, body: string) {
    const { signal } = call
    return this.#api.send(path, {
      ...{ method: 'POST', body, signal, deadlineMs: this.requestDeadlineMs },
      beforeSend: () => call.beforeSend(),
    })
  }
}

function readProcessId({ status, json }: HttpResponse): string | null {
  const isAccepted = status === 202 && typeof json === 'object' && json !== null
  return isAccepted && 'processId' in json ? readRemoteId(json.processId) : null
}

function readImportRefusal(call: DeliveryCall, response: HttpResponse): DeliveryAnswer {
  const endpoint = `POST ${IMPORT_PATH}`
  const verdict = classifyWrite(response, { endpoint, route: 'contacts' })
  if (verdict.kind === 'ok') {
    return answerAll(call, readMisshapen(response, 'to an import without its process'))
  }
  if (verdict.kind !== 'rejected') {
    return answerAll(call, verdict)
  }
  if (response.status === 413) {
    return { kind: 'refused', reason: verdict.reason, isTooLarge: true }
  }
  // Said of all rows together; whatever else is wrong is wrong with the call, such as its lists.
  return /\bany valid email\b/i.test(verdict.reason)
    ? answerAll(call, verdict)
    : answerAll(call, notSent(describeCall(response, endpoint)))
}

function makeContactBody(contact: BrevoContact, refused: readonly string[]): string {
  const { email, extId, attributes, listIds, isEmailBlacklisted, isSmsBlacklisted } = contact
  const sent = [...attributes].filter(([name]) => !refused.includes(name))
  return JSON.stringify({
    ...(email === null ? {} : { email }),
    ...(extId === null ? {} : { ext_id: extId }),
    ...(sent.length === 0 ? {} : { attributes: Object.fromEntries(sent) }),
    ...(listIds.length === 0 ? {} : { listIds }),
    ...(isEmailBlacklisted ? { emailBlacklisted: true } : {}),
    ...(isSmsBlacklisted ? { smsBlacklisted: true } : {}),
    updateEnabled: true,
  })
}

/** What is kept of a record that is written; that a phone is missing is said with it. */
function nameWritten(id: string | null, omitted: readonly string[]): string | null {
  const phones = PHONE_ATTRIBUTES.filter((name) => omitted.includes(name))
  return phones.length === 0 ? id : [id ?? [], `without ${phones.join(', ')}`].flat().join(' ')
}

function notSent(reason: string): Outcome {
  return { kind: 'retryable', failure: 'node_failed', reason, retryAfterMs: null }
}

function answerAll(call: DeliveryCall, outcome: Outcome): DeliveryAnswer {
  return { kind: 'answered', outcomes: call.records.map(() => outcome) }
}
