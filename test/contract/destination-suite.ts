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

export interface DestinationUnderTest {
  readonly name: string
  /** How many records one call of these tests carries. */
  readonly recordsPerCall: number
  open(standIn: RecordingDestination): Promise<DestinationWriter>
  /** What the destination can answer, and what each record of the call must then be said to be. */
  readonly answers: readonly {
    readonly name: string
    readonly reaction: Reaction
    readonly expected: JsonObject
  }[]
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

export function describeDestination(destination: DestinationUnderTest): void {
  describe(`the ${destination.name} destination keeps the contract`, () => {
    let standIn: RecordingDestination
    let writer: DestinationWriter
    const records = outgoingRecords(destination.recordsPerCall)
    const keys = records.map(({ deliveryKey }) => deliveryKey)

    beforeEach(async () => {
      standIn = await startRecordingDestination()
      writer = await destination.open(standIn)
    })
    afterEach(async () => {
      await writer.close()
      await standIn.close()
    })

    it('writes every record once and says so, in the order of the call', async () => {
      const answer = await deliver(writer, records)
      expect(answer).toEqual({
        kind: 'answered',
        outcomes: keys.map((key) => ({ kind: 'written', remoteId: `r-${key.slice(0, 12)}` })),
      })
      expect([...standIn.effects]).toEqual(keys.map((key) => [key, 1]))
      expect([...standIn.records.values()]).toEqual(records.map(({ fields }) => fields))
    })

    it('sends the same keys and the same bytes when a call is repeated', async () => {
      const first = await deliver(writer, records)
      const second = await deliver(writer, records)
      const [one, two] = standIn.requests
      expect(two?.keys).toEqual(keys)
      expect(two?.body).toBe(one?.body)
      expect(two?.headers['idempotency-key']).toBe(one?.headers['idempotency-key'])
      expect(second).toEqual(first)
      expect([...standIn.effects.values()].every((count) => count === 1)).toBe(true)
    })

    it('asks for leave before each request, and sends nothing when it is refused', async () => {
      const refusal = new Error('the lease is lost')
      const call = deliver(writer, records, {
        beforeSend: () => {
          throw refusal
        },
      })
      await expect(call).rejects.toBe(refusal)
      expect(standIn.requests).toEqual([])
      await deliver(writer, records)
      const again = deliver(writer, records, {
        beforeSend: () => {
          throw refusal
        },
      })
      await expect(again).rejects.toBe(refusal)
      expect(standIn.requests).toHaveLength(1)
    })

    it('sends nothing once the signal is aborted, and rejects with its reason', async () => {
      const reason = new Error('the run drains')
      const call = deliver(writer, records, { signal: AbortSignal.abort(reason) })
      await expect(call).rejects.toBe(reason)
      expect(standIn.requests).toEqual([])
    })

    it('calls a write unknown when the run stops before its answer', async () => {
      standIn.script({ kind: 'hang', isApplied: true })
      const stop = new AbortController()
      const seen = standIn.nextRequest()
      const call = deliver(writer, records, { signal: stop.signal })
      await seen
      stop.abort(new Error('the run drains'))
      expect(await outcomesOf(call)).toEqual(
        records.map(() => expect.objectContaining({ kind: 'unknown' })),
      )
    })

    it('knows that nothing was applied when no connection can be made', async () => {
      await standIn.close()
      expect(await outcomesOf(deliver(writer, records))).toEqual(
        records.map(() => ({
          kind: 'retryable',
          failure: 'provider_unavailable',
          reason: 'No connection could be made (ECONNREFUSED).',
          retryAfterMs: null,
        })),
      )
      standIn = await startRecordingDestination()
    })

    it.each(destination.answers)('understands $name', async ({ reaction, expected }) => {
      standIn.script(reaction)
      const answer = await deliver(writer, records)
      if (expected['kind'] === 'refused') {
        expect(answer).toMatchObject(expected)
      } else {
        expect(answer.kind).toBe('answered')
        expect(answer.kind === 'answered' && answer.outcomes).toEqual(
          records.map(() => expect.objectContaining(expected)),
        )
      }
      expect(standIn.requests).toHaveLength(1)
    })

    it('quotes no address, no person and no secret in a reason', async () => {
      const words = `p1@example.com +49 30 1234567 sk_live_4eC39HqLyjWDarjtT1zdp7dc ${'x '.repeat(500)}`
      for (const body of [
        JSON.stringify({ message: words }),
        JSON.stringify({ errors: [{ detail: words }] }),
        words,
      ]) {
        standIn.script({
          kind: 'answer',
          status: 422,
          body,
          headers: { 'content-type': 'text/plain' },
        })
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
