/** Deeds, for the test that each leaves its entry in the audit trail. */
import type { MadeSync, Workspace } from './sync-steps.ts'

/** One deed: what changes something, and what is answered without a change. */
export interface Deed {
  readonly changes: () => Promise<unknown>
  /** Before it, where it then changes nothing. */
  readonly before?: () => Promise<unknown>
  /** The same once more, and what is refused. */
  readonly after: readonly (() => Promise<unknown>)[]
}

export type Prepare = (given: {
  readonly workspace: Workspace
  readonly sync: MadeSync
}) => Promise<Deed> | Deed
