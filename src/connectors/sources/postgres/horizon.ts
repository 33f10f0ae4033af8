/**
 * How far a stream may be read, so that no row commits behind the cursor unseen.
 *
 * A row gets its time, or its transaction's id, when it is written, and is seen when its transaction commits. Who reads
 * to the newest row that is seen passes those that are still on their way. So nothing at or past a horizon is read:
 *
 *   XID  the cursor column holds the id of the transaction that wrote the row. The horizon is the oldest transaction
 *        that is still open in the very snapshot of the read: all before it are seen or rolled back. Nothing is lost, as long
 *        as the ids go on: a server with another history (restored, failed over) may give ids of before again.
 *   LAG  the cursor column holds a time. The horizon is the earliest of: now less `lagMs`; the start of any transaction
 *        of this database that is open and has written; the start of one that is open and has not, but no more than
 *        `holdMs` back; the oldest prepared transaction's preparation less `lagMs`. What is open is looked up before
 *        the snapshot of the read is taken, so one that ends in between is seen by it.
 *        Lost is, at the most, what is first written more than `holdMs` after its transaction began, or, where the role
 *        may not see other roles' transactions (pg_read_all_stats), what commits more than `lagMs` after that.
 *   IGNORE  none: the values are given in the order of the commits, as somebody has declared.
 */
import { ConnectorError } from '../../connector.ts'
import type { Bounds, CatalogueType } from '../../postgres-catalogue.ts'
import type { PostgresSession } from '../../postgres-session.ts'
import type { PostgresStreamOptions } from './stream-options.ts'

export interface Horizon {
  /** Where the horizon has to be asked for before a read; null: it is part of the read. */
  readonly ask: ((session: PostgresSession, bounds: Bounds) => Promise<string>) | null
  /** That a place lies in front of it; `given`: what was asked for. Null: there is none. */
  readonly condition: ((place: string, given: string) => string) | null
  /** That a row is never in front of any horizon. */
  readonly neverReached: ((place: string) => string) | null
  /** Asks whether a place (`$1`) is of a history that this server does not have; null: places do not tell. */
  readonly foreignText: string | null
}

const XID8 = 5069
const DATE = 1082
const TIMESTAMP = 1114
const TIMESTAMPTZ = 1184
const TIMES: ReadonlySet<number> = new Set([DATE, TIMESTAMP, TIMESTAMPTZ])
const WITHOUT_ZONE: ReadonlySet<number> = new Set([DATE, TIMESTAMP])

interface CursorPlace {
  readonly name: string
  readonly oid: number
  readonly type: CatalogueType
}

export function pickHorizon(cursor: CursorPlace, options: PostgresStreamOptions): Horizon {
  const column = `The cursorColumn ${JSON.stringify(cursor.name)} is of type ${cursor.type.name}`
  const mode = options.lateCommits ?? (cursor.oid === XID8 ? 'XID' : 'LAG')
  switch (mode) {
    case 'IGNORE':
      return { ask: null, condition: null, neverReached: null, foreignText: null }
    case 'XID':
      if (cursor.oid !== XID8) {
        throw new ConnectorError(
          'node_failed',
          `${column}; lateCommits XID needs one of type xid8.`,
        )
      }
      return XID_HORIZON
    case 'LAG':
      if (!TIMES.has(cursor.oid)) {
        throw new ConnectorError(
          'node_failed',
          `${column}, which does not say when a row was written, so rows that commit late would be lost. Choose a column of type timestamptz, or one of type xid8 that a trigger keeps; or set lateCommits to IGNORE if rows are committed in the order of this column.`,
        )
      }
      if (WITHOUT_ZONE.has(cursor.oid) && options.cursorTimeZone === undefined) {
        throw new ConnectorError(
          'node_failed',
          `${column}, without a time zone; cursorTimeZone must say in which one it is written.`,
        )
      }
      return lagHorizon(cursor.oid, options)
  }
}

const XID_HORIZON: Horizon = {
  ask: null,
  condition: (place) => `${place} < pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())`,
  // No transaction of this server has had such an id yet: the row was brought here from another one.
  neverReached: (place) =>
    `${place} >= pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())`,
  foreignText: `/* postgres-source.isForeign */
select $1::text::xid8 >= pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())`,
}

function lagHorizon(type: number, options: PostgresStreamOptions): Horizon {
  const { lagMs, holdMs, cursorTimeZone } = options
  return {
    ask: async (session, bounds) => {
      const values = [String(lagMs), String(holdMs)]
      const [row] = await session.query({ ...bounds, text: ASK_LAG, values })
      const [horizon] = row ?? []
      if (horizon === undefined || horizon === null) {
        throw new ConnectorError('node_failed', 'The server did not say what time it is.')
      }
      return horizon
    },
    condition: (place, given) => `${place} < ${inZone(type, given, cursorTimeZone)}`,
    neverReached: (place) => `${place} = 'infinity'`,
    foreignText: null,
  }
}

function inZone(type: number, given: string, zone: string | undefined): string {
  const instant = `${given}::timestamptz`
  // As an interval: written as a text, a distance has the other sign.
  const distance = zone === undefined || zone === 'UTC' ? '+00:00' : zone
  const local = `(${instant} at time zone interval '${distance}')`
  return type === TIMESTAMPTZ ? instant : type === DATE ? `${local}::date` : local
}

const ASK_LAG = `/* postgres-source.horizon */
with waited as (
  select $1::text::float8 * interval '1 millisecond' as lag,
    $2::text::float8 * interval '1 millisecond' as hold
), open as (
  select min(xact_start) filter (where backend_xid is not null) as writing,
    min(xact_start) filter (where backend_xid is null) as thinking
  from pg_catalog.pg_stat_activity
  where datname = pg_catalog.current_database() and pid <> pg_catalog.pg_backend_pid()
    and backend_type not in ('autovacuum worker', 'walsender')
), prepared as (
  select min(prepared) as at from pg_catalog.pg_prepared_xacts
  where database = pg_catalog.current_database()
)
select least(
  pg_catalog.now() - lag, open.writing,
  case when open.thinking < pg_catalog.now() - hold then pg_catalog.now() - hold else open.thinking end,
  prepared.at - lag
)::text
from waited, open, prepared`
