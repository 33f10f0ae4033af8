/**
 * The tables of what people set up: workspaces, tokens, connections, syncs, their versions and schedules; and the
 * keys under which they asked for it.
 *
 * Invariants that the database itself keeps: a sync is published exactly when it is no draft; a paused
 * one has a cause; a slot to come belongs to a schedule; a sync has one open request to be published at most,
 * and nobody approves or refuses what the same token has requested (I22).
 */
import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  foreignKey,
  index,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import {
  PUBLICATION_REQUEST_STATUSES,
  type PublicationRequestStatus,
} from '../domain/publication-request.ts'
import { ROLES, type Role } from '../domain/role.ts'
import type { PauseCause, SyncStatus } from '../domain/sync.ts'
import { bytes, count, instant, json, oneOf } from './columns.ts'

export const workspace = pgTable('workspace', {
  id: uuid('id').primaryKey(),
  name: text('name').notNull(),
  /** Whether nothing is published in it without a request that somebody else approves. */
  publishingNeedsApproval: boolean('publishing_needs_approval').notNull().default(false),
  createdAt: instant('created_at').notNull().defaultNow(),
})

/** A bearer token; only its hash is kept. */
export const accessToken = pgTable(
  'access_token',
  {
    id: uuid('id').primaryKey(),
    workspaceId: uuid('workspace_id')
      .notNull()
      .references(() => workspace.id),
    name: text('name').notNull(),
    tokenHash: bytes('token_hash').notNull(),
    /** What it may do in its workspace. */
    role: text('role').$type<Role>().notNull(),
    /** It is of Tajo's operators, who see what concerns them across workspaces. */
    isTajo: boolean('is_operator').notNull().default(false),
    createdAt: instant('created_at').notNull().defaultNow(),
    expiresAt: instant('expires_at'),
    revokedAt: instant('revoked_at'),
  },
  (table) => [
    uniqueIndex('access_token_hash').on(table.tokenHash),
    index('access_token_of_workspace').on(table.workspaceId, table.id),
    check('access_token_role', oneOf('role', ROLES.map((role) => `'${role}'`).join(', '))),
  ],
)

export const connection = pgTable(
  'connection',
  {
    id: uuid('id').primaryKey(),
    workspaceId: uuid('workspace_id')
      .notNull()
      .references(() => workspace.id),
    name: text('name').notNull(),
    /** The connector's type, such as `file` or `http`. */
    type: text('type').notNull(),
    config: json('config').notNull(),
    /** JSON, sealed for this row's id; null: the connector takes no credentials. */
    sealedCredentials: text('sealed_credentials'),
    /** Since when the tool is not connected any more; null: it is. */
    disconnectedAt: instant('disconnected_at'),
    /** Since when the other system refuses our access; null: it does not, as far as anybody has seen. */
    refusedAt: instant('refused_at'),
    refusalDetail: text('refusal_detail'),
    /** Raised when it is connected, disconnected or refused: what was seen before does not count for what comes after. */
    accessEpoch: count('access_epoch'),
    createdAt: instant('created_at').notNull().defaultNow(),
    updatedAt: instant('updated_at').notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex('connection_name').on(table.workspaceId, table.name),
    index('connection_sealing_key')
      .on(sql`"left"(sealed_credentials, 8)`)
      .where(sql`sealed_credentials is not null`),
    check('connection_refused_iff_told', sql`(refused_at is null) = (refusal_detail is null)`),
  ],
)

export const sync = pgTable(
  'sync',
  {
    id: uuid('id').primaryKey(),
    workspaceId: uuid('workspace_id')
      .notNull()
      .references(() => workspace.id),
    name: text('name').notNull(),
    status: text('status').$type<SyncStatus>().notNull().default('draft'),
    pauseCause: text('pause_cause').$type<PauseCause>(),
    pauseReason: text('pause_reason'),
    pausedBy: text('paused_by'),
    pausedAt: instant('paused_at'),
    /** The failed run after which the breaker paused it; null: a person did, or it is not paused. */
    pausedByRunId: uuid('paused_by_run_id'),
    /** When it was last published or resumed: what came before does not count for the watchmen. */
    activatedAt: instant('activated_at'),
    /** The draft: what the next publication will attest. A domain `SyncConfig`. */
    draft: json('draft').notNull(),
    sourceConnectionId: uuid('source_connection_id')
      .notNull()
      .references(() => connection.id),
    destinationConnectionId: uuid('destination_connection_id')
      .notNull()
      .references(() => connection.id),
    publicationId: uuid('publication_id'),
    createdAt: instant('created_at').notNull().defaultNow(),
    updatedAt: instant('updated_at').notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex('sync_name').on(table.workspaceId, table.name),
    check('sync_status', oneOf('status', "'draft', 'active', 'pausing', 'paused'")),
    check(
      'sync_paused_iff_cause',
      sql`(status in ('pausing', 'paused')) = (pause_cause is not null)`,
    ),
    check('sync_published_iff_not_draft', sql`(status = 'draft') = (publication_id is null)`),
  ],
)

/** Immutable; named by the digest of its configuration. */
export const syncVersion = pgTable(
  'sync_version',
  {
    syncId: uuid('sync_id')
      .notNull()
      .references(() => sync.id),
    digest: text('digest').notNull(),
    config: json('config').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.syncId, table.digest] })],
)

export const publication = pgTable(
  'publication',
  {
    id: uuid('id').primaryKey(),
    syncId: uuid('sync_id').notNull(),
    versionDigest: text('version_digest').notNull(),
    publishedBy: text('published_by').notNull(),
    approvedBy: text('approved_by'),
    publishedAt: instant('published_at').notNull().defaultNow(),
  },
  (table) => [
    foreignKey({
      columns: [table.syncId, table.versionDigest],
      foreignColumns: [syncVersion.syncId, syncVersion.digest],
    }),
    index('publication_sync').on(table.syncId, table.id),
  ],
)

/** That somebody wants one version published, and what became of that. */
export const publicationRequest = pgTable(
  'publication_request',
  {
    id: uuid('id').primaryKey(),
    workspaceId: uuid('workspace_id')
      .notNull()
      .references(() => workspace.id),
    syncId: uuid('sync_id').notNull(),
    /** The draft as it was when it was requested: what is published, and nothing else. */
    versionDigest: text('version_digest').notNull(),
    status: text('status').$type<PublicationRequestStatus>().notNull().default('open'),
    reason: text('reason').notNull(),
    requestedBy: text('requested_by').notNull(),
    requestedByTokenId: uuid('requested_by_token_id').notNull(),
    requestedAt: instant('requested_at').notNull().defaultNow(),
    /** Who closed it; for one that was superseded, who changed what it asked for. */
    closedBy: text('closed_by'),
    closedByTokenId: uuid('closed_by_token_id'),
    closedAt: instant('closed_at'),
    closingReason: text('closing_reason'),
    /** What its approval made. */
    publicationId: uuid('publication_id').references(() => publication.id),
  },
  (table) => [
    foreignKey({
      name: 'publication_request_version',
      columns: [table.syncId, table.versionDigest],
      foreignColumns: [syncVersion.syncId, syncVersion.digest],
    }),
    uniqueIndex('publication_request_open').on(table.syncId).where(sql`status = 'open'`),
    uniqueIndex('publication_request_publication').on(table.publicationId),
    index('publication_request_workspace').on(table.workspaceId, table.id),
    index('publication_request_sync').on(table.syncId, table.id),
    check(
      'publication_request_status',
      oneOf('status', PUBLICATION_REQUEST_STATUSES.map((status) => `'${status}'`).join(', ')),
    ),
    check(
      'publication_request_closed_iff_not_open',
      sql`(status = 'open') = (closed_at is null)
        and (closed_at is null) = (closed_by is null)
        and (closed_at is null) = (closed_by_token_id is null)`,
    ),
    check(
      'publication_request_approved_iff_published',
      sql`(status = 'approved') = (publication_id is not null)`,
    ),
    check(
      'publication_request_four_eyes',
      sql`status not in ('approved', 'refused') or closed_by_token_id <> requested_by_token_id`,
    ),
  ],
)

/** When a sync runs by itself: the published version's schedule and the slot that comes next. */
export const syncSchedule = pgTable(
  'sync_schedule',
  {
    syncId: uuid('sync_id')
      .primaryKey()
      .references(() => sync.id),
    /** A domain `Schedule`; null: the published version has none any more. */
    schedule: json('schedule'),
    /** From when intervals count. */
    anchorAt: instant('anchor_at').notNull(),
    /** The next slot to fire: whoever fires it moves it on; null: nothing will (no schedule, or not active). */
    slotAt: instant('slot_at'),
    /** The slot that started a run last. */
    firedAt: instant('fired_at'),
    /** Slots that found a run of the sync queued or running, and started nothing. */
    coalesced: count('coalesced'),
  },
  (table) => [
    index('sync_schedule_slot').on(table.slotAt).where(sql`slot_at is not null`),
    check('sync_schedule_slot_of_schedule', sql`slot_at is null or schedule is not null`),
  ],
)

/** A request that was done, under the key that whoever sent it chose: its repetition is answered with this. */
export const commandKey = pgTable(
  'command_key',
  {
    workspaceId: uuid('workspace_id')
      .notNull()
      .references(() => workspace.id),
    clientKey: text('client_key').notNull(),
    command: text('command').notNull(),
    /** Keyed, as an input may have credentials in it. */
    inputDigest: text('input_digest').notNull(),
    /** The id of the key it is digested with; null: a version before this one did not keep it. */
    digestKeyId: text('digest_key_id'),
    /** Null only within the transaction that does it. */
    answer: json('answer'),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.clientKey] }),
    index('command_key_created').on(table.createdAt),
    index('command_key_digest_key').on(table.digestKeyId),
  ],
)
