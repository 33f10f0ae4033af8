/**
 * Turns what a source returned into a page that can be delivered: positions, mapped records, digests.
 *
 * Pure work, no I/O: it runs for the next page while the present one is on its way. Invariant: what is
 * computed here depends only on the page, the sync's version and, for a page that was read before, its
 * remembered identities; a replay computes the same keys.
 */
import type { DestinationWriter } from '../connectors/destination.ts'
import {
  digestPage,
  digestRecord,
  hashIdentity,
  IDENTITY_HASH_BYTES,
  type PageOrigin,
} from '../domain/delivery.ts'
import type { Hash } from '../domain/ids.ts'
import { canonicalJson, type JsonObject } from '../domain/json.ts'
import type { CompiledMapping } from '../domain/mapping.ts'
import { placeRecords, type SourceRecord } from '../domain/page.ts'
import { scrub } from '../domain/scrub.ts'
import { scrubReason } from './scrub-answers.ts'

/** A record that can be sent. */
export interface SendableRecord {
  readonly kind: 'sendable'
  readonly position: number
  readonly identityHash: string
  readonly destinationIdentityHash: string
  readonly recordDigest: string
  readonly fields: JsonObject
  readonly json: string
  /** As the source gave it. */
  readonly row: JsonObject
}

/** A record that is rejected before it is sent. */
export interface UnsendableRecord {
  readonly kind: 'unsendable'
  readonly position: number
  readonly identityHash: string
  readonly destinationIdentityHash: string
  readonly reason: string
  /** The row could not be read as a record at all. */
  readonly isBroken: boolean
  /** As the source gave it; null: it could not be read. */
  readonly row: JsonObject | null
}

export type PreparedRecord = SendableRecord | UnsendableRecord

export interface PreparedPage {
  readonly pageDigest: string
  readonly fromCursor: string
  readonly toCursor: string
  /** 16 bytes a position, packed. */
  readonly identities: string
  /** In the source's order. */
  readonly records: readonly PreparedRecord[]
  /** Positions whose record left the range. */
  readonly left: readonly number[]
}

export interface PageContext {
  readonly hash: Hash
  readonly origin: Omit<PageOrigin, 'fromCursor'>
  readonly mapping: CompiledMapping
  /** The destination's name for a record, and why it would not take it. */
  readonly writer: Pick<DestinationWriter, 'identityOf' | 'describeUnsendable'>
}

export interface PageToPrepare {
  readonly fromCursor: string
  readonly toCursor: string
  /** Of a page that was stored before: its digest stays, whatever has changed around it. Else null. */
  readonly pageDigest: string | null
  readonly records: readonly SourceRecord[]
  /** 16 bytes a position, packed as stored; empty for a page that is read for the first time. */
  readonly remembered: string
}

export function preparePage(context: PageContext, page: PageToPrepare): PreparedPage {
  const { hash, origin } = context
  const hashes = page.records.map((record) => hashIdentity(hash, origin.syncId, record.identity))
  const placement = placeRecords(unpackHashes(page.remembered), hashes)
  const records = page.records.map((record, index) =>
    prepareRecord(context, record, {
      position: placement.positions[index] ?? index,
      identityHash: hashes[index] ?? '',
    }),
  )
  return {
    pageDigest: page.pageDigest ?? digestPage(hash, { ...origin, fromCursor: page.fromCursor }),
    fromCursor: page.fromCursor,
    toCursor: page.toCursor,
    identities: placement.identities.join(''),
    records,
    left: placement.left,
  }
}

/** Maps one record, which has its place, and names it. */
export function prepareRecord(
  context: PageContext,
  record: SourceRecord,
  place: { readonly position: number; readonly identityHash: string },
): PreparedRecord {
  const nameless = { ...place, destinationIdentityHash: place.identityHash }
  if (record.problem !== undefined) {
    const reason = scrub(record.problem)
    return { kind: 'unsendable', ...nameless, reason, isBroken: true, row: null }
  }
  const row = record.fields
  const mapped = context.mapping.map(row)
  if (mapped.kind === 'rejected') {
    const reason = scrub(`${mapped.field}: ${mapped.reason}`)
    const named = nameAtDestination(context, nameless, mapped.mappable)
    return { kind: 'unsendable', ...named, reason, isBroken: false, row }
  }
  const { fields } = mapped
  const named = nameAtDestination(context, nameless, fields)
  const json = canonicalJson(fields)
  const problem = context.writer.describeUnsendable({ fields, json })
  const reason = problem === null ? null : scrubReason(problem, [{ fields, row }])
  return reason === null
    ? {
        kind: 'sendable',
        ...named,
        recordDigest: digestRecord(context.hash, json),
        fields,
        json,
        row,
      }
    : { kind: 'unsendable', ...named, reason, isBroken: false, row }
}

function nameAtDestination<Place extends { readonly destinationIdentityHash: string }>(
  { writer, hash, origin }: PageContext,
  place: Place,
  fields: JsonObject,
): Place {
  const identity = writer.identityOf(fields)
  return identity === null
    ? place
    : { ...place, destinationIdentityHash: hashIdentity(hash, origin.syncId, identity) }
}

/** The hashes of a packed column, in order. */
export function unpackHashes(packed: string): string[] {
  const width = IDENTITY_HASH_BYTES * 2
  return Array.from({ length: packed.length / width }, (_, index) =>
    packed.slice(index * width, (index + 1) * width),
  )
}
