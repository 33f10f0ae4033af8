/**
 * The tables of runs and deliveries; with the other schema files the source of drizzle/.
 *
 * Invariants that the database itself keeps: one run of a sync queued or running (I9); a run is finished
 * exactly when its status is final; the books of a run balance at every moment (I8); a run is retried by at
 * most one run that was not canceled; a run that is to be canceled is never queued again. Timestamps have
 * milliseconds, so that they pass through JavaScript unchanged.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  date,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import type { DeliveryClass } from '../domain/delivery.ts'
import { DOUBT_CAUSES, type DoubtCause } from '../domain/doubt.ts'
import type { FailureCode, Step } from '../domain/failure.ts'
import type { RejectionState } from '../domain/quarantine.ts'
import type { AttemptOutcome, RunCause, RunStatus } from '../domain/run.ts'
import type { RunStanding } from '../domain/run-standing.ts'
import { bytes, count, instant, oneOf } from './columns.ts'
import { publication, sync, workspace } from './schema-configuration.ts'

/** A row of its own, so that pausing and publishing never queue behind the ledger. */
export const syncFence = pgTable('sync_fence', {
  syncId: uuid('sync_id')
    .primaryKey()
    .references(() => sync.id),
  /** Raised by every taking of a run; a statement that carries an older one changes nothing. */
  epoch: bigint('epoch', { mode: 'number' }).notNull().default(0),
  /** How far delivery has come; null: at the beginning. */
  reached: text('reached'),
  /** In front of the oldest open page; where a run starts. */
  savedCursor: text('saved_cursor'),
  /** 32 bytes a key: a few of those that a destination of class `lookup` has confirmed last, at a checkpoint. */
  confirmedKeys: bytes('confirmed_keys'),
  /** A reset took the cursor back, and the source has not been read to its end since. */
  isRereading: boolean('is_rereading').notNull().default(false),
})

/** What a sync that reads its source again has written anew: a newer record of it must be, too. */
export const rewrittenIdentity = pgTable(
  'rewritten_identity',
  {
    syncId: uuid('sync_id')
      .notNull()
      .references(() => sync.id),
    /** The hash of what the destination knows it by. */
    destinationIdentityHash: bytes('destination_identity_hash').notNull(),
    /** Before the last call that wrote it. */
    notedAt: instant('noted_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.syncId, table.destinationIdentityHash] })],
)

/** The run table is the queue. */
export const run = pgTable(
  'run',
  {
    id: uuid('id').primaryKey(),
    workspaceId: uuid('workspace_id')
      .notNull()
      .references(() => workspace.id),
    syncId: uuid('sync_id')
      .notNull()
      .references(() => sync.id),
    /** Null for a run that was refused because nothing is published. */
    publicationId: uuid('publication_id').references(() => publication.id),
    cause: text('cause').$type<RunCause>().notNull(),
    /** The name of the token that asked for it; null: a machine did. */
    requestedBy: text('requested_by'),
    /** Slots before its own were missed, as after an outage: it stands for them. */
    isCatchingUp: boolean('is_catching_up').notNull().default(false),
    status: text('status').$type<RunStatus>().notNull().default('queued'),
    /** Cut to the millisecond: rounded up, a run would not be due yet at the moment it wakes a worker. */
    dueAt: instant('due_at').notNull().default(sql`date_trunc('milliseconds', now())`),
    attemptAllowance: integer('attempt_allowance').notNull(),
    attemptsSpent: integer('attempts_spent').notNull().default(0),
    /** Claims so far; the number of the attempt that runs. */
    claims: integer('claims').notNull().default(0),
    /** Take-overs since the last checkpoint. */
    takeOvers: integer('take_overs').notNull().default(0),
    /** Attempts since the last checkpoint that lost the database. */
    interruptions: integer('interruptions').notNull().default(0),
    epoch: count('epoch'),
    /** Orders the events of an epoch. */
    eventN: integer('event_n').notNull().default(0),
    workerId: uuid('worker_id'),
    startedAt: instant('started_at'),
    progressAt: instant('progress_at'),
    finishedAt: instant('finished_at'),
    /** The transaction that ended it, as a trigger notes for every verb; null: it is in flight, or ended before this was noted. */
    endedIn: bigint('ended_in', { mode: 'number' }),
    read: count('read'),
    written: count('written'),
    replayed: count('replayed'),
    rejected: count('rejected'),
    inDoubt: count('in_doubt'),
    quarantined: count('quarantined'),
    skipped: count('skipped'),
    firstSends: count('first_sends'),
    firstSendsRejected: count('first_sends_rejected'),
    /** Records in the stream, where the source can tell. */
    totalRecords: bigint('total_records', { mode: 'number' }),
    failureCode: text('failure_code').$type<FailureCode>(),
    failureStep: text('failure_step').$type<Step>(),
    failureSubject: text('failure_subject'),
    failureDetail: text('failure_detail'),
    /** A person wants it to end. Of a running run that is a request, which its attempt carries out. */
    cancelRequestedAt: instant('cancel_requested_at'),
    cancelRequestedBy: text('cancel_requested_by'),
    cancelReason: text('cancel_reason'),
    retryOf: uuid('retry_of'),
    /** The succeeded retry that took this run out of the DLQ. */
    resolvedByRunId: uuid('resolved_by_run_id'),
    resolvedAt: instant('resolved_at'),
    createdAt: instant('created_at').notNull().defaultNow(),
    /** What history is filtered by; it changes with the status only, so that progress stays out of every index. */
    standing: text('standing')
      .$type<RunStanding>()
      .notNull()
      .generatedAlwaysAs(
        sql`case status
          when 'failed' then failure_code
          when 'partial' then case when rejected + quarantined > 0 then 'partial_refused' else 'partial_in_doubt' end
          else status end`,
      ),
  },
  (table) => [
    foreignKey({ columns: [table.retryOf], foreignColumns: [table.id] }),
    index('run_finished').on(table.syncId, table.finishedAt),
    index('run_succeeded').on(table.workspaceId, table.finishedAt).where(sql`status = 'succeeded'`),
    uniqueIndex('run_in_flight').on(table.syncId).where(sql`status in ('queued', 'running')`),
    uniqueIndex('run_retry_of')
      .on(table.retryOf)
      .where(sql`retry_of is not null and status <> 'canceled'`),
    index('run_due').on(table.workspaceId, table.dueAt).where(sql`status = 'queued'`),
    index('run_running').on(table.workerId).where(sql`status = 'running'`),
    index('run_in_flight_of_workspace')
      .on(table.workspaceId, table.id)
      .where(sql`status in ('queued', 'running')`),
    index('run_ended_of_workspace')
      .on(table.workspaceId, table.endedIn)
      .where(sql`ended_in is not null`),
    index('run_ended_of_sync').on(table.syncId, table.endedIn).where(sql`ended_in is not null`),
    index('run_of_workspace').on(table.workspaceId, table.id),
    index('run_of_sync').on(table.syncId, table.id),
    index('run_standing').on(table.workspaceId, table.standing, table.cause, table.id),
    index('run_dlq')
      .on(table.workspaceId, table.standing, table.id)
      .where(sql`status in ('failed', 'partial') and resolved_at is null`),
    check(
      'run_status',
      oneOf('status', "'queued', 'running', 'succeeded', 'partial', 'failed', 'canceled'"),
    ),
    check(
      'run_finished_iff_final',
      sql`(status in ('succeeded', 'partial', 'failed', 'canceled')) = (finished_at is not null)`,
    ),
    check('run_failed_iff_failure', sql`(status = 'failed') = (failure_code is not null)`),
    check('run_queued_is_wanted', sql`status <> 'queued' or cancel_requested_at is null`),
    check('run_running_has_worker', sql`status <> 'running' or worker_id is not null`),
    check(
      'run_books',
      sql`"read" = written + replayed + rejected + in_doubt + quarantined + skipped
        and least(written, replayed, rejected, in_doubt, quarantined, skipped) >= 0`,
    ),
    check(
      'run_succeeded_whole',
      sql`status <> 'succeeded' or (rejected = 0 and in_doubt = 0 and quarantined = 0)`,
    ),
    check('run_attempts', sql`attempt_allowance between 1 and 100 and attempts_spent >= 0`),
  ],
)

/** One try of a run by one worker. */
export const attempt = pgTable(
  'attempt',
  {
    runId: uuid('run_id')
      .notNull()
      .references(() => run.id),
    number: integer('number').notNull(),
    epoch: bigint('epoch', { mode: 'number' }).notNull(),
    workerId: uuid('worker_id').notNull(),
    startedAt: instant('started_at').notNull().defaultNow(),
    finishedAt: instant('finished_at'),
    outcome: text('outcome').$type<AttemptOutcome>(),
    failureCode: text('failure_code').$type<FailureCode>(),
    failureStep: text('failure_step').$type<Step>(),
    failureSubject: text('failure_subject'),
    failureDetail: text('failure_detail'),
  },
  (table) => [
    primaryKey({ columns: [table.runId, table.number] }),
    check('attempt_finished_iff_outcome', sql`(outcome is null) = (finished_at is null)`),
  ],
)

/** A process that runs syncs, the only row it beats on; or one that serves the API, so that it is seen that it seals. */
export const worker = pgTable('worker', {
  id: uuid('id').primaryKey(),
  host: text('host').notNull(),
  pid: integer('pid').notNull(),
  beatN: bigint('beat_n', { mode: 'number' }).notNull().default(0),
  startedAt: instant('started_at').notNull().defaultNow(),
  beatAt: instant('beat_at').notNull().defaultNow(),
  stoppedAt: instant('stopped_at'),
  /** The id of the key that it seals with; null: a version before this one did not say. */
  sealingKeyId: text('sealing_key_id'),
})

/** A page as first read; kept until every record of it is written, replayed, skipped or quarantined. */
export const openPage = pgTable(
  'open_page',
  {
    syncId: uuid('sync_id')
      .notNull()
      .references(() => sync.id),
    pageDigest: bytes('page_digest').notNull(),
    /** Orders a sync's pages by when they were first stored. */
    ordinal: bigint('ordinal', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    fromCursor: text('from_cursor').notNull(),
    toCursor: text('to_cursor').notNull(),
    /** 16 bytes a record, in the order of their positions. */
    identities: bytes('identities').notNull(),
    /** 12 bytes a position: the record digest of its newest completed key, zeros for none; set when the page is kept at a checkpoint. */
    completed: bytes('completed'),
    /** Whether `reached` has moved past it. */
    isPassed: boolean('is_passed').notNull().default(false),
    /** The last run in whose books its records stand: a page counts once a run. */
    countedRunId: uuid('counted_run_id'),
    openedAt: instant('opened_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.syncId, table.pageDigest] }),
    index('open_page_order').on(table.syncId, table.ordinal),
  ],
)

/** Rejected records: held in their open page, or set aside from it until a person brings them back. */
export const heldRecord = pgTable(
  'held_record',
  {
    id: uuid('id').primaryKey().default(sql`gen_random_uuid()`),
    syncId: uuid('sync_id')
      .notNull()
      .references(() => sync.id),
    pageDigest: bytes('page_digest').notNull(),
    position: integer('position').notNull(),
    /** The ordinal of the page that it was set aside from, which may be closed; null: it is held. */
    ordinal: bigint('ordinal', { mode: 'number' }),
    state: text('state').$type<RejectionState>().notNull().default('held'),
    identityHash: bytes('identity_hash').notNull(),
    /** The hash of what the destination knows it by. */
    destinationIdentityHash: bytes('destination_identity_hash').notNull(),
    reason: text('reason').notNull(),
    /** In how many runs it was rejected. */
    runs: integer('runs').notNull().default(1),
    firstRunId: uuid('first_run_id').notNull(),
    lastRunId: uuid('last_run_id').notNull(),
    /** The last run in whose books it stands after it was brought back: it counts once a run. */
    countedRunId: uuid('counted_run_id'),
    /** The row as the source gave it, sealed for its place (I17); null: it is held, has ended, or could not be kept. */
    sealedPayload: text('sealed_payload'),
    /** A later record of the same identity has been delivered: this one must not be sent any more. */
    isSuperseded: boolean('is_superseded').notNull().default(false),
    firstRejectedAt: instant('first_rejected_at').notNull().defaultNow(),
    rejectedAt: instant('rejected_at').notNull().defaultNow(),
    setAsideAt: instant('set_aside_at'),
    /** When it was delivered, discarded or superseded. */
    endedAt: instant('ended_at'),
  },
  (table) => [
    unique('held_record_place')
      .on(table.syncId, table.pageDigest, table.position, table.ordinal)
      .nullsNotDistinct(),
    index('held_record_of_sync').on(table.syncId, table.id),
    index('held_record_run').on(table.lastRunId, table.id),
    index('held_record_identity').on(table.syncId, table.identityHash),
    index('held_record_destination_identity').on(table.syncId, table.destinationIdentityHash),
    index('held_record_redriving')
      .on(table.syncId, table.ordinal, table.position)
      .where(sql`state = 'redriving' and not is_superseded`),
    index('held_record_ended').on(table.endedAt).where(sql`ended_at is not null`),
    index('held_record_sealing_key')
      .on(sql`"left"(sealed_payload, 8)`)
      .where(sql`sealed_payload is not null`),
    check(
      'held_record_state',
      oneOf('state', "'held', 'quarantined', 'redriving', 'delivered', 'discarded'"),
    ),
    check('held_record_set_aside_iff_ordinal', sql`(state = 'held') = (ordinal is null)`),
    check(
      'held_record_payload_while_needed',
      sql`sealed_payload is null or (state in ('quarantined', 'redriving') and not is_superseded)`,
    ),
  ],
)

/** Keys reserved before the destination is called: what is in flight, or in doubt. One row a reserved chunk. */
export const deliveryIntent = pgTable(
  'delivery_intent',
  {
    id: uuid('id').primaryKey(),
    syncId: uuid('sync_id')
      .notNull()
      .references(() => sync.id),
    epoch: bigint('epoch', { mode: 'number' }).notNull(),
    runId: uuid('run_id').notNull(),
    connectionId: uuid('connection_id').notNull(),
    pageDigest: bytes('page_digest').notNull(),
    /** The positions of the chunk's records, in the order of the packed columns. */
    positions: integer('positions').array().notNull(),
    /** 12 bytes a record: its digest. With page digest and position it is the delivery key. */
    recordDigests: bytes('record_digests').notNull(),
    /** 16 bytes a record: the hash of the destination's name for it. */
    destinationIdentities: bytes('destination_identities').notNull(),
    /** 16 bytes a record: its source identity. Null while these stand in the open page; set when a reset drops it, and for what was set aside. */
    identities: bytes('identities'),
    /** The ordinal of the page that its records were set aside from; null: it carries records of a page. */
    redrivenOrdinal: bigint('redriven_ordinal', { mode: 'number' }),
    /** What the destination does with the same write twice, as it was declared when this was reserved. */
    deliveryClass: text('delivery_class').$type<DeliveryClass>().notNull(),
    /** UTC day on which its deliveries will be filed, also when they are completed after midnight. */
    day: date('day', { mode: 'string' }).notNull(),
    reservedAt: instant('reserved_at').notNull().defaultNow(),
    /** Before this moment nobody looks up, marks or settles it. */
    quietAt: instant('quiet_at').notNull(),
    /** What the import that was started with it can be found by; null: its call is answered at once. */
    importTag: uuid('import_tag'),
    /** Where that import can be asked about, as its sync said when it was begun. */
    importObject: text('import_object'),
    /** The destination's name of that import; null: whether it was started is not known. */
    importJobId: text('import_job_id'),
    /** The import may still be going on: nobody starts another one at the connection. */
    isImportOpen: boolean('is_import_open').notNull().default(false),
    /** Where its writes can be asked for, as its sync said when it was reserved under class `lookup`. */
    lookupObject: text('lookup_object'),
    /** Why it is for a person although it was not reserved under class `none`. */
    doubtCause: text('doubt_cause').$type<DoubtCause>(),
  },
  (table) => [
    index('delivery_intent_sync').on(table.syncId, table.pageDigest),
    uniqueIndex('delivery_intent_open_import').on(table.connectionId).where(sql`is_import_open`),
    check(
      'delivery_intent_import_has_tag',
      sql`import_tag is not null
        or (import_job_id is null and import_object is null and not is_import_open)`,
    ),
    check(
      'delivery_intent_doubt_cause',
      oneOf('doubt_cause', DOUBT_CAUSES.map((cause) => `'${cause}'`).join(', ')),
    ),
    check('delivery_intent_cause_of_doubt', sql`doubt_cause is null or delivery_class = 'none'`),
  ],
)

/** The ledger: what has been delivered. Partitioned by day (see drizzle/). */
export const delivery = pgTable(
  'delivery',
  {
    /** 32 bytes: page digest, position, record digest. */
    key: bytes('key').notNull(),
    day: date('day', { mode: 'string' }).notNull(),
    /** The destination's id for the record, where it gave one. */
    result: text('result'),
    /** A person says so: the destination need not know of it. */
    isTold: boolean('is_told').notNull().default(false),
    completedAt: instant('completed_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.key, table.day] })],
)
