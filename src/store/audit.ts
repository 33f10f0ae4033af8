/** The audit trail: who did what to what, and why. Entries are added in the transaction of what they tell of, and never changed. */
import type { JsonObject } from '../domain/json.ts'
import type { Handle } from './database.ts'
import { auditEntry } from './schema.ts'

export interface NewAuditEntry {
  readonly id: string
  readonly workspaceId: string
  /** The name of the token that acted, or `tajo` for a machine. */
  readonly actor: string
  /** The command or verb, such as `pauseSync`. */
  readonly action: string
  readonly subjectType:
    | 'connection'
    | 'sync'
    | 'run'
    | 'intent'
    | 'access_token'
    | 'workspace'
    | 'alert'
  readonly subjectId: string
  readonly reason: string | null
  /** Never credentials or a token. */
  readonly before: JsonObject | null
  readonly after: JsonObject | null
}

export async function insertAuditEntry(tx: Handle, entry: NewAuditEntry): Promise<void> {
  await tx.orm.insert(auditEntry).values(entry)
}
