/**
 * Sends records of a stored page in chunks, each reserved when its turn comes, so that no more is reserved
 * than is in flight.
 *
 * Invariant: records of one identity never share a round: an earlier one has its outcome before a later
 * one is sent, and may be sent again without overtaking it.
 */
import { assert } from '../runtime/assert.ts'
import { type Chunk, reserve } from '../store/ledger.ts'
import type { RunHolder } from '../store/run-ends.ts'
import { AttemptStop } from './attempt-stop.ts'
import { quietMsOf, type ReservedIntent } from './calls.ts'
import {
  type ChunkContext,
  type ChunkResult,
  type DeliveredChunk,
  deliverChunk,
} from './deliver-chunk.ts'
import { waitForOpenImport } from './imports.ts'
import type { LeftIntents } from './left-intents.ts'
import type { SendableRecord } from './prepare-page.ts'
import { reserveOrDrop } from './record-answer.ts'
import { waitForTurn } from './turns.ts'

export interface DeliveryContext extends ChunkContext {
  readonly holder: RunHolder
  readonly retentionMs: number
  readonly endsOnBrokenRecord: boolean
  readonly leftIntents: LeftIntents
  /** The source has not been read to its end since a reset. */
  readonly isRereading: boolean
  /** The sync has held records from now on. */
  noteHeldRecords(): void
  /** What is sent was set aside from a page of this ordinal; not given: its page is open. */
  readonly redrivenOrdinal?: number
}

export async function reserveAndSend(
  context: DeliveryContext,
  options: {
    readonly pageDigest: string
    readonly records: readonly SendableRecord[]
    /** Awaited before each round, with the results so far. */
    beforeRound(
      round: readonly SendableRecord[],
      results: ReadonlyMap<SendableRecord, ChunkResult>,
    ): Promise<void>
  },
): Promise<DeliveredChunk> {
  const { pageDigest, records } = options
  const results = new Map<SendableRecord, ChunkResult>()
  for (const round of toRounds(records, context.writer.maxRecordsPerCall)) {
    await options.beforeRound(round.flat(), results)
    const queue = round.values()
    let stop: { readonly error: unknown } | null = null
    const worker = async () => {
      for (const chunk of queue) {
        if (stop) {
          return
        }
        try {
          for (const [record, result] of await reserveChunk(context, pageDigest, chunk)) {
            results.set(record, result)
          }
        } catch (error) {
          stop ??= { error }
        }
      }
    }
    // Every call under way is awaited, also after a failure: nothing goes on behind the attempt's back.
    const atOnce = context.writer.imports ? 1 : context.writer.concurrency
    await Promise.all(Array.from({ length: atOnce }, worker))
    rethrow(stop)
  }
  return { results, recorded: Promise.resolve(null) }
}

async function reserveChunk(
  context: DeliveryContext,
  pageDigest: string,
  chunk: readonly SendableRecord[],
): Promise<ReadonlyMap<SendableRecord, ChunkResult>> {
  context.signal.throwIfAborted()
  context.lease.assertTrusted()
  const records = chunk.filter((record) => !context.leftIntents.isDoubtful(record))
  const blocked = chunk.filter((record) => context.leftIntents.isDoubtful(record))
  const results = new Map<SendableRecord, ChunkResult>(
    blocked.map((record) => [record, { kind: 'blocked' }]),
  )
  if (records.length > 0) {
    const intent = await reserveRecords(context, pageDigest, records)
    const delivered = await deliverChunk(context, intent, records)
    rethrow(await delivered.recorded)
    for (const [record, result] of delivered.results) {
      results.set(record, result)
      if (result.kind === 'inDoubt') {
        context.leftIntents.addDoubt(record)
      }
    }
  }
  return results
}

async function reserveRecords(
  context: DeliveryContext,
  pageDigest: string,
  records: readonly SendableRecord[],
): Promise<ReservedIntent> {
  const { database, holder, clock, writer } = context
  for (;;) {
    await waitForTurn(context, records.length)
    const reservedAtMs = clock.monotonicMs()
    const chunk = toChunk(context, records)
    const reserved = await reserveOrDrop(context, chunk.intentId, () =>
      reserve(database, { holder, pageDigest, chunk }),
    )
    if (reserved === 'fenced_off') {
      throw new AttemptStop({ kind: 'fenced_off' })
    }
    const { intentId, importTag } = chunk
    if (reserved === 'reserved') {
      return { intentId, pageDigest, importTag, reservedAtMs }
    }
    assert(writer.imports !== null, 'Only an import waits for another one.')
    await waitForOpenImport(context, writer.imports)
  }
}

/**
 * Chunks that may be under way at once, round by round. A record whose identity came before goes into a
 * later round, so that deliveries to one identity keep the source's order.
 */
function toRounds(
  records: readonly SendableRecord[],
  maxRecordsPerCall: number,
): readonly (readonly (readonly SendableRecord[])[])[] {
  const rounds: SendableRecord[][] = []
  const seen = new Map<string, number>()
  for (const record of records) {
    const round = seen.get(record.destinationIdentityHash) ?? 0
    seen.set(record.destinationIdentityHash, round + 1)
    const members = rounds[round]
    if (members) {
      members.push(record)
    } else {
      rounds[round] = [record]
    }
  }
  return rounds.map((members) => {
    const chunks: SendableRecord[][] = []
    for (let start = 0; start < members.length; start += maxRecordsPerCall) {
      chunks.push(members.slice(start, start + maxRecordsPerCall))
    }
    return chunks
  })
}

/** A request of an earlier attempt with another content of an identity may still land until its quiet time. */
export async function waitForQuiet(
  { leftIntents, clock, signal }: DeliveryContext,
  pageDigest: string,
  records: readonly SendableRecord[],
): Promise<void> {
  const moments = records.map((record) => leftIntents.findQuietAtMs(record, pageDigest) ?? 0)
  const waitMs = Math.max(0, ...moments) - clock.monotonicMs()
  if (waitMs > 0) {
    await clock.sleep(waitMs, signal)
  }
}

/** The chunk of these records, as the ledger reserves it. */
export function toChunk(context: DeliveryContext, records: readonly SendableRecord[]): Chunk {
  const { writer, ids, redrivenOrdinal } = context
  return {
    intentId: ids.next(),
    connectionId: context.connectionId,
    deliveryClass: writer.deliveryClass,
    positions: records.map((record) => record.position),
    recordDigests: records.map((record) => record.recordDigest).join(''),
    destinationIdentities: records.map((record) => record.destinationIdentityHash).join(''),
    quietMs: quietMsOf(writer),
    importTag: writer.imports ? ids.next() : null,
    importObject: writer.imports?.object ?? null,
    lookupObject: writer.lookUp?.object ?? null,
    redriven:
      redrivenOrdinal === undefined
        ? undefined
        : {
            ordinal: redrivenOrdinal,
            identities: records.map((record) => record.identityHash).join(''),
          },
  }
}

/** Goes on with an error that was kept for its turn. */
export function rethrow(stop: { readonly error: unknown } | null): void {
  if (stop) {
    throw stop.error
  }
}
