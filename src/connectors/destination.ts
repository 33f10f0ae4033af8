/**
 * The contract of a destination: where records are written, and what it answers.
 *
 * Invariants: a call answers for every record it was given, in order; what the destination did not
 * answer for is `unknown`, never guessed. `beforeSend` is called immediately before each request is
 * written, and what it throws stops the request.
 */
import type { z } from 'zod'
import type { DeliveryClass, Outcome } from '../domain/delivery.ts'
import type { JsonObject } from '../domain/json.ts'

export interface OutgoingRecord {
  /** 64 hexadecimal characters; the same for every try of the same write. */
  readonly deliveryKey: string
  readonly fields: JsonObject
  /** The canonical JSON text of `fields`. */
  readonly json: string
}

export interface DeliveryCall {
  readonly records: readonly OutgoingRecord[]
  readonly signal: AbortSignal
  /** Throws when the run may not write any more. */
  beforeSend(): void
}

export type DeliveryAnswer =
  /** One outcome a record, in the order of the call. */
  | { readonly kind: 'answered'; readonly outcomes: readonly Outcome[] }
  /**
   * Refused as a whole: nothing was applied. Because of some records, without saying which are guilty, or
   * because the call was too large, of which none needs to be guilty.
   */
  | { readonly kind: 'refused'; readonly reason: string; readonly isTooLarge: boolean }

export interface DestinationWriter {
  readonly deliveryClass: DeliveryClass
  /** How long after a request's deadline the destination may still apply it, in milliseconds. */
  readonly settlingMs: number
  /** Longest that one call may take, in milliseconds. */
  readonly requestDeadlineMs: number
  /** Most records that one call takes: 1 is one call a record. */
  readonly maxRecordsPerCall: number
  /** Most calls under way at once. Calls for one identity never overlap. */
  readonly concurrency: number
  /** What the destination knows the record by; null: the source's identity stands for it. */
  identityOf(fields: JsonObject): string | null
  /** Why the record cannot be sent at all (too large, identity missing), or null. */
  describeUnsendable(record: Pick<OutgoingRecord, 'fields' | 'json'>): string | null
  /** Rejects only when nothing was sent: with what `beforeSend` threw, or with the signal's reason. */
  deliver(call: DeliveryCall): Promise<DeliveryAnswer>
  close(): Promise<void>
}

export interface OpenDestination {
  /** As validated by `connectionConfig`. */
  readonly config: JsonObject
  readonly credentials: JsonObject
  readonly object: string
  /** As validated by `objectOptions`. */
  readonly options: JsonObject
  readonly signal: AbortSignal
}

export interface DestinationConnector {
  readonly type: string
  readonly connectionConfig: z.ZodType<JsonObject>
  readonly credentials: z.ZodType<JsonObject>
  readonly objectOptions: z.ZodType<JsonObject>
  /** Longest that one call may take under these options, in milliseconds. Told without opening anything. */
  requestDeadlineMs(objectOptions: JsonObject): number
  /** What is wrong with the object's name, as one sentence, or null. Called when a sync is saved. */
  describeObjectProblem(object: string): string | null
  open(request: OpenDestination): Promise<DestinationWriter>
}
