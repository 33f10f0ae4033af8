/** What can be done about requests to publish, and why it is refused. */
import { approvePublication } from '../commands/approve-publication.ts'
import {
  ApprovalNeeded,
  ChangedMeanwhile,
  Forbidden,
  InvalidInput,
  NotFound,
  NothingToPublish,
  OwnRequest,
  RequestClosed,
  SyncStillPausing,
  SystemOutOfReach,
} from '../commands/refusals.ts'
import { refusePublication } from '../commands/refuse-publication.ts'
import { type ChangedRequest, requestPublication } from '../commands/request-publication.ts'
import { withdrawPublicationRequest } from '../commands/withdraw-publication-request.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { CommandStatusEnum } from './command-status.ts'
import { getActor } from './context.ts'
import { RefusalInterface } from './errors.ts'
import { readId } from './global-id.ts'
import { PublicationRequestType } from './nodes.ts'
import { ACCEPTS_UNCHECKED, readAcceptsUnchecked } from './publication-preview.ts'
import { PublicationRequestStatusEnum } from './publication-request.ts'

builder.objectType(ApprovalNeeded, {
  name: 'ApprovalNeeded',
  description: 'The workspace publishes only what was requested and approved by somebody else.',
  interfaces: [RefusalInterface],
})

builder.objectType(NothingToPublish, {
  name: 'NothingToPublish',
  description: 'The draft is the version that runs already.',
  interfaces: [RefusalInterface],
})

builder.objectType(OwnRequest, {
  name: 'OwnRequest',
  description: 'Four eyes: the token that made a request neither approves nor refuses it.',
  interfaces: [RefusalInterface],
})

builder.objectType(RequestClosed, {
  name: 'RequestClosed',
  description:
    'Something else has become of the request before; `SUPERSEDED`: the draft was changed since.',
  interfaces: [RefusalInterface],
  fields: (t) => ({
    requestStatus: t.expose('status', {
      type: PublicationRequestStatusEnum,
      description: 'What has become of it.',
    }),
  }),
})

const ChangedRequestPayload = builder
  .objectRef<ChangedRequest>('ChangedPublicationRequest')
  .implement({
    description: 'A request to publish after a mutation.',
    fields: (t) => ({
      status: t.expose('status', {
        type: CommandStatusEnum,
        description: '`DONE`, or `NOOP`: it was so before.',
      }),
      request: t.field({
        type: PublicationRequestType,
        description: 'The request.',
        resolve: ({ requestId }) => requestId,
      }),
    }),
  })

const RequestPublicationInput = builder.inputType('RequestPublicationInput', {
  description: 'A draft to be published.',
  fields: (t) => ({
    syncId: t.id({ required: true, description: 'The id of the sync.' }),
    reason: t.string({
      required: true,
      description: 'Why, for who is to approve it and those who will ask later.',
    }),
    acceptsUnchecked: t.boolean({ description: ACCEPTS_UNCHECKED }),
    clientKey: clientKeyField(t),
  }),
})

builder.mutationField('requestPublication', (t) =>
  t.field({
    type: ChangedRequestPayload,
    description:
      'Asks for the draft to be published as it is now. An `ADMIN` with another token approves or refuses it; a change of the draft ends it. For an `OPERATOR` or more.',
    errors: {
      types: [
        Forbidden,
        InvalidInput,
        NotFound,
        NothingToPublish,
        ChangedMeanwhile,
        SystemOutOfReach,
      ],
    },
    args: {
      input: t.arg({ type: RequestPublicationInput, required: true, description: 'The draft.' }),
    },
    resolve: (_root, { input }, context) =>
      requestPublication(context.parts, getActor(context), {
        syncId: readId('Sync', input.syncId, 'syncId'),
        reason: input.reason,
        ...readAcceptsUnchecked(input.acceptsUnchecked),
        clientKey: input.clientKey,
      }),
  }),
)

const ApprovePublicationInput = builder.inputType('ApprovePublicationInput', {
  description: 'A request to approve.',
  fields: (t) => ({
    requestId: t.id({ required: true, description: 'The id of the request to publish.' }),
    acceptsUnchecked: t.boolean({ description: ACCEPTS_UNCHECKED }),
    clientKey: clientKeyField(t),
  }),
})

builder.mutationField('approvePublication', (t) =>
  t.field({
    type: ChangedRequestPayload,
    description:
      'Publishes the version that was requested, and nothing else. For an `ADMIN`, with another token than the one that requested it.',
    errors: {
      types: [
        Forbidden,
        InvalidInput,
        NotFound,
        OwnRequest,
        RequestClosed,
        SyncStillPausing,
        SystemOutOfReach,
      ],
    },
    args: {
      input: t.arg({ type: ApprovePublicationInput, required: true, description: 'The request.' }),
    },
    resolve: (_root, { input }, context) =>
      approvePublication(context.parts, getActor(context), {
        requestId: readId('PublicationRequest', input.requestId, 'requestId'),
        ...readAcceptsUnchecked(input.acceptsUnchecked),
        clientKey: input.clientKey,
      }),
  }),
)

function closingInput(name: string, description: string) {
  return builder.inputType(name, {
    description,
    fields: (t) => ({
      requestId: t.id({ required: true, description: 'The id of the request to publish.' }),
      reason: t.string({ required: true, description: 'Why, for whoever requested it.' }),
      clientKey: clientKeyField(t),
    }),
  })
}

const RefusePublicationInput = closingInput('RefusePublicationInput', 'A request to refuse.')
const WithdrawPublicationRequestInput = closingInput(
  'WithdrawPublicationRequestInput',
  'A request to take back.',
)

builder.mutationField('refusePublication', (t) =>
  t.field({
    type: ChangedRequestPayload,
    description:
      'Refuses a request to publish; nothing changes for the sync. For an `ADMIN`, with another token than the one that requested it.',
    errors: { types: [Forbidden, InvalidInput, NotFound, OwnRequest, RequestClosed] },
    args: {
      input: t.arg({ type: RefusePublicationInput, required: true, description: 'The request.' }),
    },
    resolve: (_root, { input }, context) =>
      refusePublication(context.parts, getActor(context), {
        requestId: readId('PublicationRequest', input.requestId, 'requestId'),
        reason: input.reason,
        clientKey: input.clientKey,
      }),
  }),
)

builder.mutationField('withdrawPublicationRequest', (t) =>
  t.field({
    type: ChangedRequestPayload,
    description:
      'Takes a request to publish back: for the token that made it, and for an `ADMIN`. Nothing changes for the sync.',
    errors: { types: [Forbidden, InvalidInput, NotFound, RequestClosed] },
    args: {
      input: t.arg({
        ...{ type: WithdrawPublicationRequestInput, required: true },
        description: 'The request.',
      }),
    },
    resolve: (_root, { input }, context) =>
      withdrawPublicationRequest(context.parts, getActor(context), {
        requestId: readId('PublicationRequest', input.requestId, 'requestId'),
        reason: input.reason,
        clientKey: input.clientKey,
      }),
  }),
)
