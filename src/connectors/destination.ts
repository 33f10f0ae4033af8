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
import type { Turn } from './call-gate.ts'
import type { Connector, OpenConnection } from './connector.ts'

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
  /** What an import that this call starts can be found by later; null where calls are answered at once. */
  readonly importTag: string | null
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
  /** Taken in as an import that is worked on later. Only where the writer has `imports`. */
  | { readonly kind: 'accepted'; readonly jobId: string }

/** Nobody could say; whoever asked may ask again. With the failure `node_failed` there is nothing at the place that was asked. */
export type Unanswered = Extract<Outcome, { readonly kind: 'unknown' }>

/** Whether a write is there. */
export type LookupAnswer =
  | { readonly kind: 'found'; readonly remoteId: string | null }
  | { readonly kind: 'absent' }
  | Unanswered

/** Asks for writes by their delivery keys. */
export interface LookUp {
  /** Where it asks. Kept with what is sent: another place need not know of it. */
  readonly object: string
  /** Answers one by one, in the order of the keys. Never rejects but with the signal's reason. */
  ask(request: {
    readonly deliveryKeys: readonly string[]
    readonly signal: AbortSignal
  }): Promise<readonly LookupAnswer[]>
}

export type ImportState =
  | { readonly kind: 'running' }
  /** One outcome a record, in the order of the keys. */
  | { readonly kind: 'finished'; readonly outcomes: readonly Outcome[] }
  /** The destination does not know the import any more: what became of its records is unknown. */
  | { readonly kind: 'lost'; readonly reason: string }
  | Unanswered

export type FoundImport =
  | { readonly kind: 'found'; readonly jobId: string }
  | { readonly kind: 'absent' }
  | Unanswered

/**
 * Calls that are taken in and worked on later. A connection has one import open at a time, since one that
 * is stuck and lands late would overwrite what came after it.
 */
export interface ImportJobs {
  /** Between two looks at an import, in milliseconds. */
  readonly pollMs: number
  /** How long an attempt waits for an import to finish, in milliseconds. The next attempt goes on waiting. */
  readonly patienceMs: number
  /** Where the imports that this writer begins can be asked about. Others are asked about where they were begun. */
  readonly object: string
  /** Neither rejects but with the signal's reason. */
  check(request: {
    readonly object: string
    readonly jobId: string
    readonly tag: string
    readonly deliveryKeys: readonly string[]
    readonly signal: AbortSignal
  }): Promise<ImportState>
  /** The import that was started with a tag. Asked only when the call that carried it cannot arrive any more. */
  find(request: {
    readonly object: string
    readonly tag: string
    readonly signal: AbortSignal
  }): Promise<FoundImport>
}

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
  /** Required by class `lookup`, null for the others. */
  readonly lookUp: LookUp | null
  /** Null: every call is answered at once. */
  readonly imports: ImportJobs | null
  /** What the destination knows the record by; null: the source's identity stands for it. */
  identityOf(fields: JsonObject): string | null
  /** Why the record cannot be sent at all (too large, identity missing), or null. */
  describeUnsendable(record: Pick<OutgoingRecord, 'fields' | 'json'>): string | null
  /**
   * Takes what one call of so many records costs of the connection's rate, or says how long to wait first. Asked
   * before the call's intent is reserved: what is reserved has to be sent at once.
   */
  takeTurn(records: number): Promise<Turn>
  /** Rejects only when nothing was sent: with what `beforeSend` threw, or with the signal's reason. */
  deliver(call: DeliveryCall): Promise<DeliveryAnswer>
  close(): Promise<void>
}

export interface OpenDestination extends OpenConnection {
  readonly object: string
  /** As validated by `objectOptions`. */
  readonly options: JsonObject
}

export const FIELD_TYPES = ['text', 'number', 'boolean', 'date', 'list', 'object'] as const
export type FieldType = (typeof FIELD_TYPES)[number]

/** A field that the destination knows. */
export interface DestinationField {
  /** As a mapping names it; a dotted path. */
  readonly name: string
  /** What it takes; null: anything. */
  readonly types: readonly FieldType[] | null
  /** Whether no record can do without it. */
  readonly isRequired: boolean
}

export interface DestinationConnector extends Connector {
  readonly objectOptions: z.ZodType<JsonObject>
  /** Longest that one call may take under these options, in milliseconds. Told without opening anything. */
  requestDeadlineMs(objectOptions: JsonObject): number
  /** What is wrong with the object's name, as one sentence, or null. Called when a sync is saved. */
  describeObjectProblem(object: string): string | null
  /**
   * The fields that the object has, and all of them; null: it takes any. Asks the other system. Throws
   * {@link ConnectorError}, also when there is no such object.
   */
  listFields(request: OpenDestination): Promise<readonly DestinationField[] | null>
  open(request: OpenDestination): Promise<DestinationWriter>
}
