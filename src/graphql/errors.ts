/**
 * Refusals as types of the API, and what becomes of everything else that is thrown.
 *
 * Invariant: a person sees a refusal's sentence or GraphQL's own complaint about the query. Whatever
 * else was thrown is logged under an id, and only that id is shown.
 */
import { GraphQLError } from 'graphql'
import {
  AlreadyRunning,
  AlreadySettled,
  ChangedMeanwhile,
  DeliveryInFlight,
  Forbidden,
  type InputProblem,
  InvalidInput,
  NotFound,
  NothingToRetry,
  NotPublished,
  Refusal,
  SyncPaused,
  SyncStillPausing,
} from '../commands/refusals.ts'
import type { Logger } from '../runtime/logger.ts'
import type { IdSource } from '../runtime/random.ts'
import { builder } from './builder.ts'
import { encodeGlobalId } from './global-id.ts'
import { RoleEnum } from './role.ts'

export const RefusalInterface = builder.interfaceRef<Refusal>('Refusal').implement({
  description: 'Why a mutation was not carried out. Nothing was changed.',
  fields: (t) => ({
    message: t.exposeString('message', { description: 'The reason, in full sentences.' }),
  }),
})

export const InputProblemType = builder.objectRef<InputProblem>('InputProblem').implement({
  description: 'What is wrong with one field of an input.',
  fields: (t) => ({
    field: t.exposeString('field', {
      description: 'The field, with dots between levels: `mapping.address.city`.',
    }),
    reason: t.exposeString('reason', { description: 'What is wrong with it, in a full sentence.' }),
  }),
})

builder.objectType(InvalidInput, {
  name: 'InvalidInput',
  description: 'The input cannot be accepted.',
  interfaces: [RefusalInterface],
  fields: (t) => ({
    problems: t.field({
      type: [InputProblemType],
      description: 'All of its problems.',
      resolve: (refusal) => [...refusal.problems],
    }),
  }),
})

builder.objectType(Forbidden, {
  name: 'Forbidden',
  description: 'The token may not do this.',
  interfaces: [RefusalInterface],
  fields: (t) => ({
    neededRole: t.expose('needed', { type: RoleEnum, description: 'The least role that may.' }),
  }),
})

builder.objectType(NotFound, {
  name: 'NotFound',
  description: 'The workspace has no such object. The same answer for what belongs to another one.',
  interfaces: [RefusalInterface],
  fields: (t) => ({
    field: t.exposeString('field', { description: 'The field of the input that gives the id.' }),
  }),
})

builder.objectType(AlreadyRunning, {
  name: 'AlreadyRunning',
  description: 'A run of this sync is queued or running.',
  interfaces: [RefusalInterface],
  fields: (t) => ({
    runId: t.id({
      description: 'The id of that run.',
      resolve: (refusal) => encodeGlobalId('Run', refusal.runId),
    }),
  }),
})

builder.objectType(SyncPaused, {
  name: 'SyncPaused',
  description: 'The sync is paused; the message says what brings it back.',
  interfaces: [RefusalInterface],
})

builder.objectType(SyncStillPausing, {
  name: 'SyncStillPausing',
  description: 'The sync was paused, and its run has yet to stop.',
  interfaces: [RefusalInterface],
})

builder.objectType(NotPublished, {
  name: 'NotPublished',
  description: 'The sync was never published.',
  interfaces: [RefusalInterface],
})

builder.objectType(NothingToRetry, {
  name: 'NothingToRetry',
  description: 'The run cannot be retried, or has been.',
  interfaces: [RefusalInterface],
  fields: (t) => ({
    latestRetryId: t.id({
      nullable: true,
      description: 'The retry that stands for the run now; null when it was never retried.',
      resolve: ({ runId }) => (runId === null ? null : encodeGlobalId('Run', runId)),
    }),
  }),
})

builder.objectType(DeliveryInFlight, {
  name: 'DeliveryInFlight',
  description: 'The call may still be under way, so nobody can know yet what became of it.',
  interfaces: [RefusalInterface],
  fields: (t) => ({
    settleableAt: t.expose('settleableAt', {
      type: 'DateTime',
      description: 'From when it can be settled; while its run is at work it may be later.',
    }),
  }),
})

export const SettlementEnum = builder.enumType('DeliverySettlement', {
  description: 'What became of a delivery in doubt.',
  values: {
    DELIVERED: {
      value: 'delivered',
      description: 'The destination has it: it is not sent again.',
    },
    SEND_AGAIN: {
      value: 'send_again',
      description: 'The destination does not have it: the next run sends it.',
    },
  } as const,
})

builder.objectType(AlreadySettled, {
  name: 'AlreadySettled',
  description: 'Somebody said before that the opposite became of the delivery.',
  interfaces: [RefusalInterface],
  fields: (t) => ({
    outcome: t.expose('settlement', {
      type: SettlementEnum,
      description: 'How it was settled.',
    }),
  }),
})

builder.objectType(ChangedMeanwhile, {
  name: 'ChangedMeanwhile',
  description: 'Somebody else changed the sync at the same time.',
  interfaces: [RefusalInterface],
})

/** What a caller is shown of an error that ended an operation or a field. */
export function maskError(error: unknown, parts: { logger: Logger; ids: IdSource }): GraphQLError {
  const cause = findCause(error)
  const place = error instanceof GraphQLError ? placeOf(error) : {}
  if (cause instanceof Refusal) {
    return new GraphQLError(cause.message, { ...place, extensions: describeRefusal(cause) })
  }
  if (cause instanceof GraphQLError) {
    return cause
  }
  const errorId = parts.ids.next()
  parts.logger.error('api.failed', { errorId }, cause)
  return new GraphQLError(`Something went wrong on our side; send us this id: ${errorId}.`, {
    ...place,
    extensions: { code: 'INTERNAL_SERVER_ERROR', errorId, http: { status: 500, spec: false } },
  })
}

/** What a GraphQL error was made of; the error itself when it was thrown as one. */
function findCause(error: unknown): unknown {
  let cause = error
  while (cause instanceof GraphQLError && cause.originalError) {
    cause = cause.originalError
  }
  return cause
}

function placeOf({ nodes, path }: GraphQLError) {
  return { ...(nodes ? { nodes } : {}), ...(path ? { path } : {}) }
}

function describeRefusal(refusal: Refusal) {
  const problems = refusal instanceof InvalidInput ? { problems: refusal.problems } : {}
  return { code: refusal.code, ...problems }
}
