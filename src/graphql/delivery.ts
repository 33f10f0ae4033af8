/** Deliveries: receipts of what was written, by delivery key or by record. */
import { InvalidInput } from '../commands/refusals.ts'
import { DELIVERY_KEY_BYTES, hashIdentity, PAGE_DIGEST_BYTES } from '../domain/delivery.ts'
import { instantAt } from '../runtime/clock.ts'
import { sha256 } from '../runtime/hash.ts'
import { findReceipt, listReceipts, MAX_RECEIPTS, type Receipt } from '../store/history/receipts.ts'
import { builder } from './builder.ts'
import { getActor } from './context.ts'
import { SyncType } from './nodes.ts'

const KEY = new RegExp(`^[0-9a-f]{${DELIVERY_KEY_BYTES * 2}}$`)
const MAX_IDENTITY_LENGTH = 10_000

const DeliveryType = builder.objectRef<Receipt>('Delivery').implement({
  description:
    'The receipt of one write of one record: the ledger has it as completed, so it is not sent again.',
  fields: (t) => ({
    key: t.exposeString('key', {
      description:
        'The delivery key, 64 hexadecimal characters: what the destination was sent with it.',
    }),
    sync: t.field({
      type: SyncType,
      description: 'The sync that wrote it.',
      resolve: ({ syncId }) => syncId,
    }),
    page: t.string({
      description: 'Its page, as its delivery key begins.',
      resolve: ({ key }) => key.slice(0, PAGE_DIGEST_BYTES * 2),
    }),
    position: t.exposeInt('position', { description: 'Its position in its page, from 0.' }),
    deliveredAt: t.expose('completedAt', {
      type: 'DateTime',
      description: 'When the ledger learned that it was written.',
    }),
    remoteId: t.exposeString('remoteId', {
      nullable: true,
      description: "The destination's id for the record; null: it gave none.",
    }),
    isSettled: t.exposeBoolean('isTold', {
      description:
        'Whether a person said so (see settleDelivery); false: the destination confirmed it.',
    }),
    replayProtectedUntil: t.field({
      type: 'DateTime',
      description:
        'Until when the ledger keeps it from being written again. Where its page is open it is kept as long as that is.',
      resolve: ({ completedAt }, _args, { settings }) =>
        instantAt(completedAt.getTime() + settings.retentionMs),
    }),
  }),
})

builder.queryField('delivery', (t) =>
  t.field({
    type: DeliveryType,
    nullable: true,
    description:
      'The receipt of a delivery by its key, as the destination was sent it; null: the ledger has none, because it was not delivered or was forgotten since.',
    args: {
      key: t.arg.string({ required: true, description: 'The key: 64 hexadecimal characters.' }),
    },
    resolve: async (_root, { key }, context) => {
      const wanted = key.toLowerCase()
      if (!KEY.test(wanted)) {
        const reason = `It must be a delivery key: ${DELIVERY_KEY_BYTES * 2} hexadecimal characters.`
        throw new InvalidInput([{ field: 'key', reason }])
      }
      return await findReceipt(context.parts.database, getActor(context).workspaceId, wanted)
    },
  }),
)

builder.objectField(SyncType, 'deliveries', (t) =>
  t.field({
    type: [DeliveryType],
    description: `The receipts of one record, newest first, at most ${MAX_RECEIPTS}. Empty: no delivery of it is in the ledger. See \`rejectedRecords\` and \`deliveriesInDoubt\` for what was not delivered.`,
    args: {
      record: t.arg.string({
        required: true,
        description:
          "The record as the source names it: the value of its identity field, or the source's own id.",
      }),
    },
    resolve: async (sync, { record }, context) => {
      if (record.length > MAX_IDENTITY_LENGTH) {
        const reason = `It has ${record.length} characters, and at most ${MAX_IDENTITY_LENGTH} are allowed.`
        throw new InvalidInput([{ field: 'record', reason }])
      }
      const { workspaceId } = getActor(context)
      const identityHash = hashIdentity(sha256, sync.id, record)
      const options = { syncId: sync.id, identityHash }
      return [...(await listReceipts(context.parts.database, workspaceId, options))]
    },
  }),
)
