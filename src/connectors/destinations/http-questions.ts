/**
 * What an HTTP destination can be asked: whether a write is there, and what became of an import.
 *
 * Invariants: only the API's own words count. A 404 says that something is not there when it comes from
 * the API; a web page, a timeout or any other status says nothing. Nor does a 404 say that an import is
 * forgotten where the API has no list of imports either: then the path leads nowhere.
 *
 * What it asks, and what it understands:
 *   GET <lookupObject with the key>    2xx, empty or a JSON object (its `id` is kept): there. 404: not there
 *   GET <importsObject>/<id>           `{ "status": "running" | "finished" | "failed", "results"?, "reason"? }`. 404: forgotten,
 *                                      if the next question is answered
 *   GET <importsObject>?tag=<tag>      `{ "imports": [ { "id" } … ] }`, newest first
 */
import type { JsonObject } from '../../domain/json.ts'
import { isJsonObject } from '../../domain/json.ts'
import { ConnectorError } from '../connector.ts'
import type { FoundImport, ImportJobs, ImportState, LookUp, LookupAnswer } from '../destination.ts'
import { classifyResult, classifyStatus, describeAnswer, failureOfForm } from '../http-answer.ts'
import type { HttpCalls } from '../http-calls.ts'
import type { HttpRequest, HttpResponse } from '../http-client.ts'
import { redact } from '../redact.ts'
import { readRecordAnswer, readRemoteId, readResults, unknown } from './http-results.ts'

export interface QuestionOptions {
  readonly calls: HttpCalls
  /** Without a slash at its end. */
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly deadlineMs: number
  readonly maxResponseBytes: number
}

type Unknown = ReturnType<typeof unknown>

/** Questions that are asked at once. */
const LOOKUPS_AT_ONCE = 8

export function createLookUp(options: QuestionOptions, lookupObject: string): LookUp {
  const askOne = async (key: string, signal: AbortSignal): Promise<LookupAnswer> => {
    const response = await ask(options, lookupObject.replace('{key}', key), signal)
    if (response.kind === 'unknown') {
      return response
    }
    if (response.status === 404) {
      return { kind: 'absent' }
    }
    const answer = readRecordAnswer(response)
    return answer.kind === 'written'
      ? { kind: 'found', remoteId: answer.remoteId }
      : unknown(
          describeAnswer(response),
          answer.kind === 'unknown' ? answer.failure : 'node_failed',
        )
  }
  return {
    object: lookupObject,
    ask: async ({ deliveryKeys, signal }) => {
      const answers: LookupAnswer[] = []
      const queue = deliveryKeys.entries()
      const worker = async () => {
        for (const [index, key] of queue) {
          answers[index] = await askOne(key, signal)
        }
      }
      await Promise.all(Array.from({ length: LOOKUPS_AT_ONCE }, worker))
      return answers
    },
  }
}

export function createImports(
  options: QuestionOptions,
  given: {
    readonly importsObject: string
    readonly importPollMs: number
    readonly importPatienceMs: number
  },
): ImportJobs {
  const find: ImportJobs['find'] = async ({ object, tag, signal }) => {
    const response = await ask(options, `${object}?tag=${tag}`, signal)
    return response.kind === 'unknown' ? response : readFound(response, object)
  }
  return {
    pollMs: given.importPollMs,
    patienceMs: given.importPatienceMs,
    object: given.importsObject,
    check: async ({ object, jobId, tag, deliveryKeys, signal }) => {
      const response = await ask(options, `${object}/${encodeURIComponent(jobId)}`, signal)
      if (response.kind === 'unknown') {
        return response
      }
      if (response.status !== 404) {
        return readState(response, deliveryKeys)
      }
      const listed = await find({ object, tag, signal })
      switch (listed.kind) {
        case 'unknown':
          return listed
        case 'found':
          // It goes on somewhere: taken for over, it would be begun a second time.
          return unknown(`GET ${object} lists the import, and does not show it.`, 'node_failed')
        default:
          return { kind: 'lost', reason: 'The destination does not know the import any more.' }
      }
    },
    find,
  }
}

/** The id under which a call was taken in, or null. */
export function readJobId({ status, json }: HttpResponse): string | null {
  return status === 202 && isJsonObject(json) ? readRemoteId(json['id']) : null
}

function readState(response: HttpResponse, deliveryKeys: readonly string[]): ImportState {
  const body: JsonObject = isJsonObject(response.json) ? response.json : {}
  const records = deliveryKeys.map((deliveryKey) => ({ deliveryKey }))
  switch (body['status']) {
    case 'queued':
    case 'running':
      return { kind: 'running' }
    case 'failed': {
      const words = typeof body['reason'] === 'string' ? ` ${redact(body['reason'])}` : ''
      const reason = `The destination did not carry out the import.${words}`
      const failure = 'provider_unavailable'
      const untouched = { kind: 'retryable', failure, reason, retryAfterMs: null } as const
      return {
        kind: 'finished',
        outcomes: readResults(response, records) ?? records.map(() => untouched),
      }
    }
    case 'finished': {
      const reason = 'The destination finished the import without a result for each record.'
      const outcomes = readResults(response, records) ?? records.map(() => unknown(reason))
      return { kind: 'finished', outcomes }
    }
    default:
      return unknown(
        `${describeAnswer(response)} (no state of an import that it may have)`,
        failureOfForm(response),
      )
  }
}

function readFound(response: HttpResponse, object: string): FoundImport {
  const imports = isJsonObject(response.json) ? response.json['imports'] : undefined
  if (response.status === 404) {
    const reason = `To GET ${object}: ${describeAnswer(response)}`
    return { kind: 'unknown', failure: 'node_failed', reason }
  }
  if (!Array.isArray(imports)) {
    return unknown(`${describeAnswer(response)} (no list of imports)`, failureOfForm(response))
  }
  const [newest] = imports
  if (newest === undefined) {
    return { kind: 'absent' }
  }
  const jobId = isJsonObject(newest) ? readRemoteId(newest['id']) : null
  return jobId === null
    ? unknown('The destination named an import without an id.')
    : { kind: 'found', jobId }
}

/** A 2xx or a 404 of the API itself; whatever else came says nothing. */
async function ask(
  options: QuestionOptions,
  path: string,
  signal: AbortSignal,
): Promise<HttpResponse | Unknown> {
  const { calls, baseUrl, headers, deadlineMs, maxResponseBytes } = options
  const question: HttpRequest = {
    ...{ method: 'GET', url: new URL(`${baseUrl}${path}`), headers, body: '' },
    ...{ deadlineMs, maxResponseBytes, signal },
    beforeSend: () => undefined,
  }
  const result = await calls.ask(question).catch(toUnasked)
  if ('failure' in result) {
    return result
  }
  if (result.kind !== 'response') {
    const { reason, failure } = classifyResult(result)
    return unknown(reason, failure)
  }
  const endpoint = `GET ${path.split('?')[0]}`
  const verdict = classifyStatus(result, { endpoint, isIdempotent: true })
  const isOfApi = !result.bodyText.trimStart().startsWith('<')
  if (verdict.kind === 'ok' || (result.status === 404 && isOfApi)) {
    return result
  }
  // A question carries no record that could be refused: it was put to the wrong address.
  return 'failure' in verdict
    ? unknown(verdict.reason, verdict.failure)
    : unknown(`To ${endpoint}: ${verdict.reason}`, 'node_failed')
}

/** It was not its turn for too long: nothing was asked. */
function toUnasked(error: unknown): Unknown {
  if (error instanceof ConnectorError) {
    return unknown(error.message, error.code)
  }
  throw error
}
