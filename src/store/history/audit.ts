/** The audit trail as people see it, newest first. Every read names the workspace (I13). */
import { eq, gte, lt } from 'drizzle-orm'
import type { Instant } from '../../runtime/clock.ts'
import type { AuditSubject } from '../audit.ts'
import type { Handle } from '../database.ts'
import { auditEntry } from '../schema-audit.ts'
import { type KeysetPage, keysetOrder, keysetRange } from './keyset.ts'

/** What is not given does not restrict. */
export interface AuditFilter {
  readonly subjectType?: AuditSubject
  readonly subjectId?: string
  readonly actor?: string
  readonly action?: string
  /** The moment itself included. */
  readonly from?: Instant
  /** The moment itself not included. */
  readonly to?: Instant
}

export async function listAuditEntries(
  handle: Handle,
  workspaceId: string,
  options: { readonly page: KeysetPage; readonly filter: AuditFilter },
) {
  const { page, filter } = options
  const { subjectType, subjectId, actor, action, from, to } = filter
  const isWanted = keysetRange(
    auditEntry.id,
    page,
    eq(auditEntry.workspaceId, workspaceId),
    subjectType === undefined ? undefined : eq(auditEntry.subjectType, subjectType),
    subjectId === undefined ? undefined : eq(auditEntry.subjectId, subjectId),
    actor === undefined ? undefined : eq(auditEntry.actor, actor),
    action === undefined ? undefined : eq(auditEntry.action, action),
    from === undefined ? undefined : gte(auditEntry.at, from),
    to === undefined ? undefined : lt(auditEntry.at, to),
  )
  return await handle.orm
    .select()
    .from(auditEntry)
    .where(isWanted)
    .orderBy(keysetOrder(auditEntry.id, page))
    .limit(page.limit)
}

export type HistoricAuditEntry = Awaited<ReturnType<typeof listAuditEntries>>[number]
