/**
 * Alerts as people see them. Every read names who looks (I13): a workspace sees what is meant for it; Tajo's
 * operators besides what is meant for them, of all workspaces.
 */
import { and, asc, eq, gt, inArray, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm'
import type { AlertKind, AlertSeverity } from '../../domain/alert.ts'
import type { Handle } from '../database.ts'
import { alert } from '../schema-alerts.ts'
import { workspace } from '../schema-configuration.ts'
import { type KeysetPage, keysetOrder, keysetRange } from './keyset.ts'

/** Who looks. */
export interface AlertViewer {
  readonly workspaceId: string
  readonly isTajo: boolean
}

export interface AlertFilter {
  readonly isOpen?: boolean
  readonly kind?: AlertKind
  readonly severity?: AlertSeverity
}

const COLUMNS = {
  id: alert.id,
  workspaceId: alert.workspaceId,
  workspaceName: workspace.name,
  audience: alert.audience,
  severity: alert.severity,
  kind: alert.kind,
  syncId: alert.syncId,
  runId: alert.runId,
  title: alert.title,
  message: alert.message,
  facts: alert.facts,
  openedAt: alert.openedAt,
  closedAt: alert.closedAt,
  closing: alert.closing,
  acknowledgedAt: alert.acknowledgedAt,
  acknowledgedBy: alert.acknowledgedBy,
}

export async function findAlertsByIds(handle: Handle, viewer: AlertViewer, ids: readonly string[]) {
  return await selectAlerts(handle).where(and(isSeenBy(viewer), inArray(alert.id, [...ids])))
}

export type HistoricAlert = Awaited<ReturnType<typeof findAlertsByIds>>[number]

export async function listAlerts(
  handle: Handle,
  viewer: AlertViewer,
  options: { readonly page: KeysetPage; readonly filter: AlertFilter },
) {
  const { page, filter } = options
  const { isOpen, kind, severity } = filter
  const isWanted = keysetRange(
    alert.id,
    page,
    isSeenBy(viewer),
    isOpen === undefined ? undefined : isOpen ? isNull(alert.closedAt) : isNotNull(alert.closedAt),
    kind === undefined ? undefined : eq(alert.kind, kind),
    severity === undefined ? undefined : eq(alert.severity, severity),
  )
  return await selectAlerts(handle)
    .where(isWanted)
    .orderBy(keysetOrder(alert.id, page))
    .limit(page.limit)
}

/** What is open, and what was closed or acknowledged within so many milliseconds; oldest first. */
export async function listMovingAlerts(
  handle: Handle,
  viewer: AlertViewer,
  options: {
    readonly withinMs: number
    /** Only those that come after this id. */
    readonly after: string | null
    readonly limit: number
  },
) {
  const { withinMs, after, limit } = options
  const since = sql`now() - ${withinMs}::float8 * interval '1 millisecond'`
  const isRecentlyClosed = sql<boolean>`coalesce(${alert.closedAt} >= ${since}, false)`
  return await handle.orm
    .select({ ...COLUMNS, isRecentlyClosed })
    .from(alert)
    .innerJoin(workspace, eq(workspace.id, alert.workspaceId))
    .where(
      and(
        isSeenBy(viewer),
        or(
          isNull(alert.closedAt),
          sql`${alert.closedAt} >= ${since}`,
          sql`${alert.acknowledgedAt} >= ${since}`,
        ),
        after === null ? undefined : gt(alert.id, after),
      ),
    )
    .orderBy(asc(alert.id))
    .limit(limit)
}

export type MovingAlert = Awaited<ReturnType<typeof listMovingAlerts>>[number]

function selectAlerts(handle: Handle) {
  return handle.orm
    .select(COLUMNS)
    .from(alert)
    .innerJoin(workspace, eq(workspace.id, alert.workspaceId))
}

function isSeenBy({ workspaceId, isTajo }: AlertViewer): SQL | undefined {
  return or(
    and(eq(alert.audience, 'workspace'), eq(alert.workspaceId, workspaceId)),
    isTajo ? eq(alert.audience, 'tajo') : undefined,
  )
}
