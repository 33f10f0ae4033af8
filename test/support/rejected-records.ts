/** What tests of the store say about rejected records: how they come, and what the list tells of them. */
import { expect } from 'vitest'
import { LEDGER_RETENTION_MS, NO_COUNTS } from '../../src/domain/delivery.ts'
import type { Database, Handle } from '../../src/store/database.ts'
import { listRejectedRecords } from '../../src/store/history/rejected-records.ts'
import { openPage } from '../../src/store/ledger.ts'
import { type CheckpointOptions, checkpoint, type RecordToSetAside } from '../../src/store/pages.ts'
import type { RunHolder } from '../../src/store/run-ends.ts'
import { identityOf, newId, type SeededPage, type SeededSync } from './store-seed.ts'

const EVERY_STATE = [
  'held',
  'quarantined',
  'redriving',
  'delivered',
  'superseded',
  'discarded',
] as const

export function rejected(
  seeded: SeededPage,
  position: number,
  given: Partial<RecordToSetAside> = {},
): RecordToSetAside {
  const hash = identityOf(seeded, position)
  return {
    id: newId(),
    position,
    identityHash: hash,
    destinationIdentityHash: hash,
    reason: 'no',
    isSuperseded: false,
    isRejected: true,
    keepsIntent: false,
    sealedPayload: `sealed ${position}`,
    ...given,
  }
}

export async function storePage(
  database: Database,
  holder: RunHolder,
  seeded: SeededPage,
): Promise<void> {
  const opened = await openPage(database, {
    ...{ holder, page: seeded.page, chunk: null, resendsUnknown: true },
    retentionMs: LEDGER_RETENTION_MS,
  })
  expect(opened).not.toBeNull()
}

export function takeCheckpoint(
  database: Handle,
  holder: RunHolder,
  seeded: SeededPage,
  given: Partial<CheckpointOptions>,
) {
  const { pageDigest, toCursor } = seeded.page
  return checkpoint(database, {
    ...{ holder, pageDigest, toCursor, isClean: true, advances: true, counters: NO_COUNTS },
    ...{
      firstSends: 0,
      firstSendsRejected: 0,
      held: [],
      leftBehind: [],
      setAside: [],
      released: [],
    },
    confirmedKeys: null,
    retentionMs: LEDGER_RETENTION_MS,
    ...given,
  })
}

export function listRejected(database: Database, { workspaceId, syncId }: SeededSync) {
  return listRejectedRecords(database, workspaceId, {
    ...{ of: { syncId }, states: EVERY_STATE, after: null, limit: 100 },
  })
}
