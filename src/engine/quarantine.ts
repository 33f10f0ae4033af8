/**
 * Which rejected records a run sets aside, and what is kept of them.
 *
 * Invariants: what is kept of a row is sealed for its place and opens nowhere else (I17); a bound that is
 * reached leaves a record held, never lost.
 */
import { isJsonObject, type JsonObject } from '../domain/json.ts'
import { MAX_PAGE_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES, MAX_SET_ASIDE } from '../domain/quarantine.ts'
import type { Sealer } from '../runtime/seal.ts'
import type { PreparedRecord } from './prepare-page.ts'

/** Where a row came from: one of another stream is nothing that the present mapping was made for. */
export interface RowOrigin {
  readonly syncId: string
  readonly sourceConnectionId: string
  readonly stream: string
}

export interface QuarantineOptions {
  readonly sealer: Sealer
  readonly origin: RowOrigin
  /** In so many runs a record is rejected before it is set aside; null: it is held for ever. */
  readonly afterRuns: number | null
  /** How many records of the sync are set aside already. */
  readonly setAside: number
}

/** A record that was rejected, with the number of runs that did so, this one counted. */
export interface Rejection {
  readonly record: PreparedRecord
  readonly runs: number
}

export class Quarantine {
  readonly #options: QuarantineOptions
  #setAside: number

  constructor(options: QuarantineOptions) {
    this.#options = options
    this.#setAside = options.setAside
  }

  /** What of a page is set aside now, each with its sealed row or null where there is none to be sent again. */
  setAside(
    pageDigest: string,
    rejections: readonly Rejection[],
  ): ReadonlyMap<PreparedRecord, string | null> {
    const { afterRuns } = this.#options
    const taken = new Map<PreparedRecord, string | null>()
    let bytes = 0
    for (const { record, runs } of rejections) {
      if (afterRuns === null || runs < afterRuns || this.#setAside >= MAX_SET_ASIDE) {
        continue
      }
      const payload = this.#describe(record)
      bytes += payload === null ? 0 : Buffer.byteLength(payload)
      if (bytes > MAX_PAGE_PAYLOAD_BYTES) {
        break
      }
      this.#setAside += 1
      const place = placeOf(this.#options.origin.syncId, { ...record, pageDigest })
      taken.set(record, payload === null ? null : this.#options.sealer.seal(payload, place))
    }
    return taken
  }

  #describe({ row }: PreparedRecord): string | null {
    if (row === null) {
      return null
    }
    const { sourceConnectionId, stream } = this.#options.origin
    const text = JSON.stringify({ sourceConnectionId, stream, row })
    return Buffer.byteLength(text) > MAX_PAYLOAD_BYTES ? null : text
  }
}

export type OpenedRow =
  | { readonly kind: 'row'; readonly row: JsonObject }
  /** It cannot be sent; the reason is a full sentence. */
  | { readonly kind: 'unusable'; readonly reason: string }

/** The row of a record that was set aside. Never throws: one that does not open must not end the run. */
export function openRow(
  sealer: Sealer,
  origin: RowOrigin,
  record: {
    readonly pageDigest: string
    readonly position: number
    readonly identityHash: string
    readonly sealedPayload: string | null
  },
): OpenedRow {
  const payload = unseal(sealer, record.sealedPayload ?? '', placeOf(origin.syncId, record))
  const row = payload?.['row']
  if (!payload || !isJsonObject(row)) {
    return { kind: 'unusable', reason: UNREADABLE }
  }
  const isOfStream =
    payload['sourceConnectionId'] === origin.sourceConnectionId &&
    payload['stream'] === origin.stream
  return isOfStream ? { kind: 'row', row } : { kind: 'unusable', reason: OTHER_STREAM }
}

const UNREADABLE = 'What was kept of the record was sealed with another key, and cannot be read.'
const OTHER_STREAM = 'The record is of a stream that this sync does not read any more.'

function unseal(sealer: Sealer, sealed: string, place: string): JsonObject | null {
  try {
    const payload: unknown = JSON.parse(sealer.unseal(sealed, place))
    return isJsonObject(payload) ? payload : null
  } catch {
    return null
  }
}

/** What the sealed text is bound to: moved to another record it does not open. */
export function placeOf(
  syncId: string,
  record: {
    readonly pageDigest: string
    readonly position: number
    readonly identityHash: string
  },
): string {
  const { pageDigest, position, identityHash } = record
  return `rejected record ${syncId} ${pageDigest} ${position} ${identityHash}`
}
