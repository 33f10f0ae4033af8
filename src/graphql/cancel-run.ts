/** Canceling a run. */
import { type CanceledRun, cancelRun } from '../commands/cancel-run.ts'
import { Forbidden, InvalidInput, NotFound } from '../commands/refusals.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { CommandStatusEnum } from './command-status.ts'
import { getActor } from './context.ts'
import { readId } from './global-id.ts'
import { RunType } from './nodes.ts'

const CancelRunInput = builder.inputType('CancelRunInput', {
  description: 'A run to cancel.',
  fields: (t) => ({
    runId: t.id({ required: true, description: 'The id of the run.' }),
    reason: t.string({ required: true, description: 'Why, for those who will ask later.' }),
    clientKey: clientKeyField(t),
  }),
})

const CanceledRunPayload = builder
  .objectRef<{ readonly runId: string; readonly canceled: CanceledRun }>('CanceledRun')
  .implement({
    description: 'The run after it was canceled, or asked to stop.',
    fields: (t) => ({
      status: t.field({
        type: CommandStatusEnum,
        description:
          '`DONE`: it was queued and is canceled. `WILL_STOP_BY`: it was running and stops at its next safe point. `NOOP`: it had ended, or was asked before.',
        resolve: ({ canceled }) => canceled.status,
      }),
      willStopBy: t.field({
        type: 'DateTime',
        nullable: true,
        description: 'By when it has stopped; null unless the status is `WILL_STOP_BY`.',
        resolve: ({ canceled }) => (canceled.status === 'will_stop_by' ? canceled.stopBy : null),
      }),
      run: t.field({ type: RunType, description: 'The run.', resolve: ({ runId }) => runId }),
    }),
  })

builder.mutationField('cancelRun', (t) =>
  t.field({
    type: CanceledRunPayload,
    description:
      'Ends a run. A queued one, also one that waits for its next attempt, ends at once; a running one at its next safe point.',
    errors: { types: [Forbidden, InvalidInput, NotFound] },
    args: { input: t.arg({ type: CancelRunInput, required: true, description: 'The run.' }) },
    resolve: async (_root, { input }, context) => {
      const runId = readId('Run', input.runId, 'runId')
      const { reason, clientKey } = input
      const given = { runId, reason, clientKey }
      const canceled = await cancelRun(context.parts, getActor(context), given)
      return { runId, canceled }
    },
  }),
)
