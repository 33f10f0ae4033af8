/** Whether one person alone may publish in the workspace. */
import { Forbidden, InvalidInput } from '../commands/refusals.ts'
import { type PublishingPolicy, setPublishingPolicy } from '../commands/set-publishing-policy.ts'
import { findPublishingPolicy } from '../store/history/syncs.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { CommandStatusEnum } from './command-status.ts'
import { getActor } from './context.ts'
import { ViewerType } from './viewer.ts'

builder.objectField(ViewerType, 'publishingNeedsApproval', (t) =>
  t.boolean({
    description:
      'Whether nothing is published in the workspace without a request that an `ADMIN` with another token approves: then `publishSync` is refused to everybody.',
    resolve: (_viewer, _args, context) =>
      findPublishingPolicy(context.parts.database, getActor(context).workspaceId),
  }),
)

const SetPublishingPolicyInput = builder.inputType('SetPublishingPolicyInput', {
  description: 'How the workspace publishes.',
  fields: (t) => ({
    needsApproval: t.boolean({
      required: true,
      description: 'Whether nothing is published without a request that somebody else approves.',
    }),
    reason: t.string({ required: true, description: 'Why, for those who will ask later.' }),
    clientKey: clientKeyField(t),
  }),
})

const PublishingPolicyPayload = builder.objectRef<PublishingPolicy>('PublishingPolicy').implement({
  description: 'How the workspace publishes, after a mutation.',
  fields: (t) => ({
    status: t.expose('status', {
      type: CommandStatusEnum,
      description: '`DONE`, or `NOOP`: it was so before.',
    }),
    needsApproval: t.exposeBoolean('needsApproval', {
      description: 'Whether nothing is published without a request that somebody else approves.',
    }),
  }),
})

builder.mutationField('setPublishingPolicy', (t) =>
  t.field({
    type: PublishingPolicyPayload,
    description:
      'Says whether publishing needs an approval in the workspace. What is published stays so, and open requests stay open. For an `ADMIN`.',
    errors: { types: [Forbidden, InvalidInput] },
    args: {
      input: t.arg({
        ...{ type: SetPublishingPolicyInput, required: true },
        description: 'How it publishes.',
      }),
    },
    resolve: (_root, { input }, context) =>
      setPublishingPolicy(context.parts, getActor(context), {
        needsApproval: input.needsApproval,
        reason: input.reason,
        clientKey: input.clientKey,
      }),
  }),
)
