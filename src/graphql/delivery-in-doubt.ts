/** Deliveries in doubt: whose answer was lost, at a destination that would write them twice. */
import {
  AlreadySettled,
  DeliveryInFlight,
  Forbidden,
  InvalidInput,
  NotFound,
} from '../commands/refusals.ts'
import { type SettledDelivery, settleDelivery } from '../commands/settle-delivery.ts'
import type { DoubtCause } from '../domain/doubt.ts'
import { isUuid } from '../domain/ids.ts'
import { type DoubtKey, type HistoricDoubt, listDoubts } from '../store/history/doubts.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { CommandStatusEnum } from './command-status.ts'
import { type ApiContext, getActor } from './context.ts'
import { SettlementEnum } from './errors.ts'
import { encodeGlobalId, readId } from './global-id.ts'
import { RunType, SyncType } from './nodes.ts'
import { type PageArguments, resolveForwardPage } from './paging.ts'

const DoubtCauseEnum = builder.enumType('DeliveryDoubtCause', {
  description: 'Why only a person can say what became of a delivery.',
  values: {
    NO_ANSWER: {
      value: 'no_answer',
      description: 'Its answer was lost, and the destination cannot be asked (NONE).',
    },
    CLASS_CHANGED: {
      value: 'class_changed',
      description:
        'Its answer was lost, and it was sent to a destination that was declared otherwise than now: it can neither be asked for nor sent again.',
    },
    IMPORT_OUT_OF_REACH: {
      value: 'import_out_of_reach',
      description:
        'It went into an import that nobody knows of: not where it was begun, and not where the sync says by now.',
    },
    LOOKUP_MOVED: {
      value: 'lookup_moved',
      description:
        'It is not there where the sync says to ask by now, which is not where it said when it was sent, and nothing shows that it would be there.',
    },
  } as const satisfies Record<string, { value: DoubtCause | 'no_answer'; description: string }>,
})

const DeliveryInDoubtType = builder.objectRef<HistoricDoubt>('DeliveryInDoubt').implement({
  description:
    'A record that was sent and whose answer was lost. Nothing of it is sent until a person says what became of it.',
  fields: (t) => ({
    intentId: t.id({
      description: 'The call that carried it. Together with the position it names the delivery.',
      resolve: ({ intentId }) => encodeGlobalId('Intent', intentId),
    }),
    position: t.exposeInt('position', { description: 'Its position in its page, from 0.' }),
    page: t.exposeString('pageDigest', {
      description: 'Its page, as its delivery key begins: the key is sent with every request.',
    }),
    since: t.expose('reservedAt', { type: 'DateTime', description: 'When it was reserved.' }),
    settleableAt: t.expose('settleableAt', {
      type: 'DateTime',
      description: 'From when it can be settled: until then the destination may still apply it.',
    }),
    cause: t.field({
      type: DoubtCauseEnum,
      description: 'Why only a person can say what became of it.',
      resolve: ({ cause }) => cause ?? 'no_answer',
    }),
    run: t.field({
      type: RunType,
      nullable: true,
      description: 'The run that sent it.',
      resolve: ({ runId }) => runId,
    }),
  }),
})

function resolveDoubts(
  of: { readonly syncId: string; readonly runId: string | null },
  args: PageArguments,
  context: ApiContext,
) {
  return resolveForwardPage(args, {
    cursorOf: (doubt: HistoricDoubt) => `${doubt.intentId}:${doubt.position}`,
    isCursor: (text) => parseKey(text) !== null,
    load: ({ after, limit }) =>
      listDoubts(context.parts.database, getActor(context).workspaceId, {
        ...of,
        after: after === null ? null : parseKey(after),
        limit,
      }),
  })
}

function parseKey(text: string): DoubtKey | null {
  const [intentId, position] = text.split(':')
  return intentId && isUuid(intentId) && position && /^\d{1,9}$/.test(position)
    ? { intentId, position: Number(position) }
    : null
}

builder.objectField(SyncType, 'deliveriesInDoubt', (t) =>
  t.connection({
    type: DeliveryInDoubtType,
    description:
      'The deliveries that wait for a person (see settleDelivery), oldest first. Read forwards only.',
    resolve: (sync, args, context) =>
      resolveDoubts({ syncId: sync.id, runId: null }, args, context),
  }),
)

builder.objectField(RunType, 'deliveriesInDoubt', (t) =>
  t.connection({
    type: DeliveryInDoubtType,
    description:
      'Those of the deliveries in doubt of its sync that it sent itself, oldest first. Read forwards only.',
    resolve: (run, args, context) =>
      resolveDoubts({ syncId: run.syncId, runId: run.id }, args, context),
  }),
)

const SettleDeliveryInput = builder.inputType('SettleDeliveryInput', {
  description: 'What became of a delivery in doubt, as somebody found it at the destination.',
  fields: (t) => ({
    intentId: t.id({ required: true, description: 'The call that carried it.' }),
    position: t.int({
      description: 'Its position; not given, all deliveries in doubt of the call are settled.',
    }),
    outcome: t.field({
      type: SettlementEnum,
      required: true,
      description: 'What became of it.',
    }),
    reason: t.string({
      required: true,
      description: 'How that was found out, for those who will ask later.',
    }),
    clientKey: clientKeyField(t),
  }),
})

const SettledDeliveryPayload = builder.objectRef<SettledDelivery>('SettledDelivery').implement({
  description: 'What was settled.',
  fields: (t) => ({
    status: t.expose('status', { type: CommandStatusEnum, description: 'What was done.' }),
    settled: t.exposeInt('settled', { description: 'How many deliveries were settled.' }),
    sync: t.field({
      type: SyncType,
      description: 'The sync they belong to.',
      resolve: ({ syncId }) => syncId,
    }),
  }),
})

builder.mutationField('settleDelivery', (t) =>
  t.field({
    type: SettledDeliveryPayload,
    description:
      'Settles a delivery in doubt. The next run takes it for delivered, or sends it once more.',
    errors: { types: [Forbidden, InvalidInput, NotFound, DeliveryInFlight, AlreadySettled] },
    args: {
      input: t.arg({ type: SettleDeliveryInput, required: true, description: 'The delivery.' }),
    },
    resolve: (_root, { input }, context) =>
      settleDelivery(context.parts, getActor(context), {
        intentId: readId('Intent', input.intentId, 'intentId'),
        position: input.position ?? null,
        settlement: input.outcome,
        reason: input.reason,
        clientKey: input.clientKey,
      }),
  }),
)
