/** Deliveries in doubt, as people see them. Every read names the workspace (I13). */
import { sql } from 'drizzle-orm'
import type { DoubtCause } from '../../domain/doubt.ts'
import { type Instant, instantAt } from '../../runtime/clock.ts'
import type { Handle } from '../database.ts'
import { IS_IN_FLIGHT, SETTLEABLE_AT } from '../doubts.ts'

/** Where a delivery in doubt stands in the list. */
export interface DoubtKey {
  readonly intentId: string
  readonly position: number
}

export interface HistoricDoubt extends DoubtKey {
  readonly runId: string
  /** 32 hexadecimal characters. */
  readonly pageDigest: string
  readonly reservedAt: Instant
  readonly settleableAt: Instant
  /** Null: it was reserved for a destination of class `none`. */
  readonly cause: DoubtCause | null
}

type DoubtRow = Omit<HistoricDoubt, 'reservedAt' | 'settleableAt'> & {
  readonly reservedAtMs: number
  readonly settleableAtMs: number
}

/**
 * The deliveries of a sync that only a person can settle, oldest first; `runId`: those that this run left.
 * What a running attempt has in flight is not among them.
 */
export async function listDoubts(
  handle: Handle,
  workspaceId: string,
  options: {
    readonly syncId: string
    readonly runId: string | null
    readonly after: DoubtKey | null
    readonly limit: number
  },
): Promise<readonly HistoricDoubt[]> {
  const { syncId, runId, after, limit } = options
  const rows = await handle.rows<DoubtRow>(sql`/* history.listDoubts */
    select intent.id as "intentId", place.position, intent.run_id as "runId",
           encode(intent.page_digest, 'hex') as "pageDigest",
           floor(extract(epoch from intent.reserved_at) * 1000)::float8 as "reservedAtMs",
           ceil(extract(epoch from ${SETTLEABLE_AT}) * 1000)::float8 as "settleableAtMs",
           intent.doubt_cause as cause
    from delivery_intent as intent
    join sync on sync.id = intent.sync_id and sync.workspace_id = ${workspaceId}
    left join run on run.id = intent.run_id
    left join attempt on attempt.run_id = intent.run_id and attempt.epoch = intent.epoch
    cross join lateral unnest(intent.positions) as place (position)
    where intent.sync_id = ${syncId} and intent.delivery_class = 'none' and intent.import_tag is null and not ${IS_IN_FLIGHT}
      and (${runId}::uuid is null or intent.run_id = ${runId}::uuid)
      and (${after?.intentId ?? null}::uuid is null
           or (intent.id, place.position)
             > (${after?.intentId ?? null}::uuid, ${after?.position ?? null}::integer))
    order by intent.id, place.position
    limit ${limit}`)
  return rows.map(({ reservedAtMs, settleableAtMs, ...doubt }) => ({
    ...doubt,
    reservedAt: instantAt(reservedAtMs),
    settleableAt: instantAt(settleableAtMs),
  }))
}
