/** Writes what a command did into the audit trail, in the command's own transaction. */
import type { JsonObject } from '../domain/json.ts'
import { insertAuditEntry, type NewAuditEntry } from '../store/audit.ts'
import type { Handle } from '../store/database.ts'
import type { Actor, CommandContext } from './context.ts'
import type { InputProblem } from './refusals.ts'

export interface Deed {
  readonly action: string
  readonly subjectType: NewAuditEntry['subjectType']
  readonly subjectId: string
  readonly reason?: string
  /** Never credentials or a token. */
  readonly before?: JsonObject
  readonly after?: JsonObject
}

/** What a publication was accepted without: which system could not be asked, and why. */
export function describeUnchecked(unchecked: readonly InputProblem[]): JsonObject {
  return unchecked.length === 0 ? {} : { unchecked: unchecked.map((one) => ({ ...one })) }
}

export async function recordDeed(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  deed: Deed,
): Promise<void> {
  await insertAuditEntry(tx, {
    id: context.ids.next(),
    workspaceId: actor.workspaceId,
    actor: actor.tokenName,
    action: deed.action,
    subjectType: deed.subjectType,
    subjectId: deed.subjectId,
    reason: deed.reason ?? null,
    before: deed.before ?? null,
    after: deed.after ?? null,
  })
}
