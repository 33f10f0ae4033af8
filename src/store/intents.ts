/**
 * An intent while its call is on its way: renewed before each further try, accepted as an import, over.
 *
 * Invariants: a further request is written only after its intent was renewed under the fence, so that the
 * quiet time bounds every try and not only the first; a connection has one import open at a time, which
 * the database itself enforces.
 */
import { sql } from 'drizzle-orm'
import type { Handle } from './database.ts'
import { isUniqueViolation } from './database-errors.ts'
import { IS_IN_FLIGHT } from './doubts.ts'
import { fenceOf, type LedgerHolder, type Reserved } from './ledger.ts'

export interface IntentName {
  readonly intentId: string
  /** The epoch that reserved it. */
  readonly epoch: number
}

/** What an import can be found by, and where. */
export interface ImportMark {
  readonly tag: string
  readonly object: string
}

/**
 * Begins its quiet time anew, for another try; with a mark, for another import. `fenced_off`: the fence was
 * raised, or somebody has settled the intent.
 */
export async function renewIntent(
  db: Handle,
  options: {
    readonly holder: LedgerHolder
    readonly intentId: string
    readonly quietMs: number
    readonly newImport: ImportMark | null
  },
): Promise<Reserved> {
  const { holder, intentId, quietMs, newImport } = options
  try {
    const rows = await db.rows(sql`/* intents.renewIntent */
      with fence as (${fenceOf(holder)})
      update delivery_intent
      set quiet_at = now() + ${quietMs}::float8 * interval '1 millisecond',
          import_tag = ${newImport?.tag ?? null}::uuid,
          import_object = ${newImport?.object ?? null}::text, import_job_id = null,
          is_import_open = ${newImport !== null}
      from fence
      where delivery_intent.id = ${intentId} and delivery_intent.epoch = ${holder.epoch}
      returning 1`)
    return rows.length > 0 ? 'reserved' : 'fenced_off'
  } catch (error) {
    if (isUniqueViolation(error)) {
      return 'import_open'
    }
    throw error
  }
}

/** Keeps the destination's name of the import, and where it is known by that. False: the intent is not there any more. */
export async function noteImport(
  db: Handle,
  options: IntentName & { readonly jobId: string; readonly object: string },
): Promise<boolean> {
  const { intentId, epoch, jobId, object } = options
  const rows = await db.rows(sql`/* intents.noteImport */
    update delivery_intent
    set import_job_id = ${jobId}, import_object = ${object}
    where id = ${intentId} and epoch = ${epoch} and import_tag is not null
    returning 1`)
  return rows.length > 0
}

/** The import is over and did not tell what became of the records: the intent is as one without. */
export async function endImport(db: Handle, { intentId, epoch }: IntentName): Promise<void> {
  await db.rows(sql`/* intents.endImport */
    update delivery_intent
    set import_tag = null, import_object = null, import_job_id = null, is_import_open = false
    where id = ${intentId} and epoch = ${epoch}`)
}

/** The import is over; what it did is still for its own sync to read. Others may start theirs. */
export async function closeImport(db: Handle, { intentId, epoch }: IntentName): Promise<void> {
  await db.rows(sql`/* intents.closeImport */
    update delivery_intent
    set is_import_open = false
    where id = ${intentId} and epoch = ${epoch}`)
}

export type OpenImport = {
  readonly intentId: string
  readonly epoch: number
  readonly syncId: string
  readonly syncName: string
  readonly tag: string
  /** Where it can be asked about; null: that was not kept. */
  readonly object: string | null
  readonly jobId: string | null
  /** Its attempt is at work and will see to it. */
  readonly isInFlight: boolean
  /** Milliseconds until its call cannot arrive any more, 0 when it cannot. */
  readonly quietInMs: number
}

/** What keeps others from starting an import into the connection; null: nothing does. */
export async function findOpenImport(db: Handle, connectionId: string): Promise<OpenImport | null> {
  const [found] = await db.rows<OpenImport>(sql`/* intents.findOpenImport */
    select intent.id as "intentId", intent.epoch, intent.sync_id as "syncId",
           sync.name as "syncName", intent.import_tag as tag, intent.import_object as object,
           intent.import_job_id as "jobId",
           ${IS_IN_FLIGHT} as "isInFlight",
           greatest(0, extract(epoch from intent.quiet_at - now()) * 1000)::float8 as "quietInMs"
    from delivery_intent as intent
    join sync on sync.id = intent.sync_id
    left join run on run.id = intent.run_id
    where intent.connection_id = ${connectionId} and intent.is_import_open`)
  return found ?? null
}
