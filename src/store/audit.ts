/** The audit trail: who did what to what, and why. Entries are added in the transaction of what they tell of, and never changed. */
import type { JsonObject } from '../domain/json.ts'
import type { IdSource } from '../runtime/random.ts'
import type { Handle } from './database.ts'
import { auditEntry } from './schema-audit.ts'

const AUDIT_SUBJECTS = [
  'connection',
  'sync',
  'run',
  'intent',
  'access_token',
  'workspace',
  'alert',
] as const
export type AuditSubject = (typeof AUDIT_SUBJECTS)[number]

export interface NewAuditEntry {
  readonly id: string
  readonly workspaceId: string
  /** The name of the token that acted, or `tajo` for a machine. */
  readonly actor: string
  /** The command or verb, such as `pauseSync`. */
  readonly action: string
  readonly subjectType: AuditSubject
  readonly subjectId: string
  readonly reason: string | null
  /** Never credentials or a token. */
  readonly before: JsonObject | null
  readonly after: JsonObject | null
}

/** Who acted where nobody did: a watchman, or whoever runs the deployment at its console. */
const MACHINE = 'tajo'

/** Who acted in a workspace with a token of Tajo's that belongs to another one. */
export function nameForeignActor(tokenName: string): string {
  return `${MACHINE}: ${tokenName}`
}

/** Whether a person under this name could pass for a machine, or for somebody of Tajo's. */
export function isReservedName(name: string): boolean {
  // As it looks: other forms of a letter or a colon, and what is not seen at all, make no other name.
  const seen = name.normalize('NFKC').replace(/[\p{Cf}\s]/gu, '')
  const [beginning = ''] = seen.split(':')
  return beginning.toLowerCase() === MACHINE
}

export async function insertAuditEntry(tx: Handle, entry: NewAuditEntry): Promise<void> {
  await tx.orm.insert(auditEntry).values(entry)
}

/** What a watchman did to a run whose worker is silent, told in the transaction of that; `action` is its verb. */
export async function auditRunOfSilentWorker(
  tx: Handle,
  ids: IdSource,
  deed: {
    readonly action: 'cancel' | 'fail' | 'sweep'
    readonly run: { readonly runId: string; readonly workspaceId: string; readonly status: string }
    readonly reason: string | null
  },
): Promise<void> {
  const { action, run, reason } = deed
  await auditMachineDeed(tx, {
    id: ids.next(),
    workspaceId: run.workspaceId,
    action,
    subjectType: 'run',
    subjectId: run.runId,
    reason,
    before: { status: 'running' },
    after: { status: run.status },
  })
}

/** What a machine changed, told in the transaction of the change; `action` is the verb of src/README.md. */
export async function auditMachineDeed(
  tx: Handle,
  deed: Omit<NewAuditEntry, 'actor'>,
): Promise<void> {
  await insertAuditEntry(tx, { ...deed, actor: MACHINE })
}
