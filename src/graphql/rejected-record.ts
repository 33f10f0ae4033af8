/** Records that a run could not write. */
import {
  type HeldRecordKey,
  type HistoricHeldRecord,
  listHeldRecords,
} from '../store/history/runs.ts'
import { builder } from './builder.ts'
import { type ApiContext, getActor } from './context.ts'
import { type PageArguments, resolveForwardPage } from './paging.ts'

export const RejectedRecordType = builder
  .objectRef<HistoricHeldRecord>('RejectedRecord')
  .implement({
    description:
      'A record that was not written. Its page stays open, and the next run tries it again.',
    fields: (t) => ({
      position: t.exposeInt('position', { description: 'Its position in its page, from 0.' }),
      reason: t.exposeString('reason', {
        description: "Why: the destination's words, or the line of the source and what is wrong.",
      }),
      runs: t.exposeInt('runs', { description: 'In how many runs it was rejected.' }),
      rejectedAt: t.expose('rejectedAt', {
        type: 'DateTime',
        description: 'When it was rejected last.',
      }),
    }),
  })

export async function resolveRejectedRecords(
  runId: string,
  args: PageArguments,
  context: ApiContext,
) {
  return await resolveForwardPage(args, {
    cursorOf: (record: HistoricHeldRecord) => `${record.pageDigest}:${record.position}`,
    isCursor: (text) => parseKey(text) !== null,
    load: ({ after, limit }) =>
      listHeldRecords(context.parts.database, getActor(context).workspaceId, {
        runId,
        after: after === null ? null : parseKey(after),
        limit,
      }),
  })
}

function parseKey(text: string): HeldRecordKey | null {
  const match = /^([0-9a-f]{32}):(\d{1,9})$/.exec(text)
  return match?.[1] && match[2] ? { pageDigest: match[1], position: Number(match[2]) } : null
}
