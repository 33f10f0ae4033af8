/**
 * What every destination promises, stated once. A destination brings its stand-in and its bad answers
 * and runs it.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type {
  DeliveryAnswer,
  DestinationWriter,
  OutgoingRecord,
} from '../../src/connectors/destination.ts'
import { canonicalJson, type JsonObject } from '../../src/domain/json.ts'
import {
  type Reaction,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'

/** The other system of a test, which remembers what was done to it. */
export interface StandIn {
  /** What was written, in order, each record once however often it was sent. */
  written(): Promise<readonly unknown[]>
  /** Effects beyond the first of each record. */
  doubled(): Promise<number>
  /** Calls that reached it. */
  calls(): Promise<number>
  close(): Promise<void>
}

/** What the destination can answer, and what each record of the call must then be said to be. */
interface Answer {
  readonly name: string
  readonly expected: JsonObject
}

export interface DestinationWithStandIn<S extends StandIn> {
  readonly name: string
  /** How many records one call of these tests carries. */
  readonly recordsPerCall: number
  start(): Promise<S>
  open(standIn: S): Promise<DestinationWriter>
  remoteIdOf(record: OutgoingRecord): string | null
  readonly answers: readonly (Answer & { arrange(standIn: S): void | Promise<void> })[]
  /** The next call is applied and not answered, before the writer gives up. What it returns resolves when it has come. */
  hang(standIn: S): Promise<() => Promise<unknown>>
  /** From now on no connection can be made. */
  unplug(standIn: S): Promise<void>
  readonly unreachable: string
  /** Ways in which it says so many words about the record of the next call. */
  readonly sayings: readonly ((standIn: S, words: string) => void | Promise<void>)[]
  /** What else must hold of two calls with the same records. */
  compareRepeated?(standIn: S, records: readonly OutgoingRecord[]): void
}

/** A destination that speaks HTTP, tested against the recording one. */
export interface DestinationUnderTest {
  readonly name: string
  readonly recordsPerCall: number
  open(standIn: RecordingDestination): Promise<DestinationWriter>
  readonly answers: readonly (Answer & { readonly reaction: Reaction })[]
}

export function outgoing(
  number: number,
  fields: JsonObject = { email: `p${number}@example.com` },
): OutgoingRecord {
  const deliveryKey = number.toString(16).padStart(64, '0')
  return { deliveryKey, fields, json: canonicalJson(fields) }
}

export function outgoingRecords(count: number): readonly OutgoingRecord[] {
  return Array.from({ length: count }, (_, index) => outgoing(index + 1))
}

export function deliver(
  writer: DestinationWriter,
  records: readonly OutgoingRecord[],
  options: { readonly signal?: AbortSignal; readonly beforeSend?: () => void } = {},
): Promise<DeliveryAnswer> {
  return writer.deliver({
    records,
    importTag: null,
    signal: options.signal ?? new AbortController().signal,
    beforeSend: options.beforeSend ?? (() => undefined),
  })
}

/** The suite for a destination that speaks HTTP. */
export function describeDestination(destination: DestinationUnderTest): void {
  describeDestinationWith<HttpStandIn>({
    ...destination,
    start: startHttpStandIn,
    open: ({ http }) => destination.open(http),
    remoteIdOf: ({ deliveryKey }) => `r-${deliveryKey.slice(0, 12)}`,
    answers: destination.answers.map(({ reaction, ...answer }) => ({
      ...answer,
      arrange: ({ http }) => http.script(reaction),
    })),
    hang: ({ http }) => {
      http.script({ kind: 'hang', isApplied: true })
      const seen = http.nextRequest()
      return Promise.resolve(() => seen)
    },
    unplug: ({ http }) => http.close(),
    unreachable: 'No connection could be made (ECONNREFUSED).',
    sayings: [
      (words: string) => JSON.stringify({ message: words }),
      (words: string) => JSON.stringify({ errors: [{ detail: words }] }),
      (words: string) => words,
    ].map((say) => ({ http }, words) => {
      const headers = { 'content-type': 'text/plain' }
      http.script({ kind: 'answer', status: 422, body: say(words), headers })
    }),
    compareRepeated: ({ http }, records) => {
      const [one, two] = http.requests
      expect(two?.keys).toEqual(records.map(({ deliveryKey }) => deliveryKey))
      expect(two?.body).toBe(one?.body)
      expect(two?.headers['idempotency-key']).toBe(one?.headers['idempotency-key'])
    },
  })
}

interface HttpStandIn extends StandIn {
  readonly http: RecordingDestination
}

async function startHttpStandIn(): Promise<HttpStandIn> {
  const http = await startRecordingDestination()
  const extra = () => [...http.effects.values()].reduce((sum, count) => sum + count - 1, 0)
  return {
    http,
    written: () => Promise.resolve([...http.records.values()]),
    doubled: () => Promise.resolve(extra()),
    calls: () => Promise.resolve(http.requests.length),
    // It may have been unplugged.
    close: () => http.close().catch(() => undefined),
  }
}

export function describeDestinationWith<S extends StandIn>(
  destination: DestinationWithStandIn<S>,
): void {
  describe(`the ${destination.name} destination keeps the contract`, () => {
    let standIn: S
    let writer: DestinationWriter
    const records = outgoingRecords(destination.recordsPerCall)
    const written = {
      kind: 'answered',
      outcomes: records.map((record) => ({
        kind: 'written',
        remoteId: destination.remoteIdOf(record),
      })),
    }

    beforeEach(async () => {
      standIn = await destination.start()
      writer = await destination.open(standIn)
    })
    afterEach(async () => {
      await writer.close()
      await standIn.close()
    })

    it('writes every record once and says so, in the order of the call', async () => {
      expect(await deliver(writer, records)).toEqual(written)
      expect(await standIn.written()).toEqual(records.map(({ fields }) => fields))
      expect(await standIn.doubled()).toBe(0)
    })

    it('sends the same again when a call is repeated, and has one effect', async () => {
      const first = await deliver(writer, records)
      const second = await deliver(writer, records)
      expect(second).toEqual(first)
      expect(await standIn.calls()).toBe(2)
      expect(await standIn.written()).toEqual(records.map(({ fields }) => fields))
      expect(await standIn.doubled()).toBe(0)
      destination.compareRepeated?.(standIn, records)
    })

    it('asks for leave before each request, and sends nothing when it is refused', async () => {
      const refusal = new Error('the lease is lost')
      const refuse = () => {
        throw refusal
      }
      await expect(deliver(writer, records, { beforeSend: refuse })).rejects.toBe(refusal)
      expect(await standIn.calls()).toBe(0)
      expect(await deliver(writer, records)).toEqual(written)
      await expect(deliver(writer, records, { beforeSend: refuse })).rejects.toBe(refusal)
      expect(await standIn.calls()).toBe(1)
    })

    it('sends nothing once the signal is aborted, and rejects with its reason', async () => {
      const reason = new Error('the run drains')
      const call = deliver(writer, records, { signal: AbortSignal.abort(reason) })
      await expect(call).rejects.toBe(reason)
      expect(await standIn.calls()).toBe(0)
    })

    it('calls a write unknown when the run stops before its answer', async () => {
      const stop = new AbortController()
      const seen = await destination.hang(standIn)
      const call = deliver(writer, records, { signal: stop.signal })
      await seen()
      stop.abort(new Error('the run drains'))
      expect(await outcomesOf(call)).toEqual(
        records.map(() => expect.objectContaining({ kind: 'unknown' })),
      )
    })

    it('knows that nothing was applied when no connection can be made', async () => {
      await destination.unplug(standIn)
      expect(await outcomesOf(deliver(writer, records))).toEqual(
        records.map(() => ({
          kind: 'retryable',
          failure: 'provider_unavailable',
          reason: destination.unreachable,
          retryAfterMs: null,
        })),
      )
    })

    it.each(destination.answers)('understands $name', async ({ arrange, expected }) => {
      await arrange(standIn)
      const answer = await deliver(writer, records)
      if (expected['kind'] === 'refused') {
        expect(answer).toMatchObject(expected)
      } else {
        expect(answer.kind).toBe('answered')
        expect(answer.kind === 'answered' && answer.outcomes).toEqual(
          records.map(() => expect.objectContaining(expected)),
        )
      }
      expect(await standIn.calls()).toBe(1)
    })

    it('quotes no address, no person and no secret in a reason', async () => {
      const words = `p1@example.com +49 30 1234567 sk_live_4eC39HqLyjWDarjtT1zdp7dc ${'x '.repeat(500)}`
      for (const say of destination.sayings) {
        await say(standIn, words)
        const answer = JSON.stringify(await deliver(writer, records))
        expect(answer).toContain('[e-mail] [number] [token]')
        expect(answer).not.toMatch(/example|1234567|sk_live|token=|secret/)
      }
    })
  })
}

export async function outcomesOf(call: Promise<DeliveryAnswer>) {
  const answer = await call
  expect(answer.kind).toBe('answered')
  return answer.kind === 'answered' ? answer.outcomes : []
}
