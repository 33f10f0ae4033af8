/** Connections: tools connected in the workspace. */
import { createConnection } from '../commands/create-connection.ts'
import { disconnectConnection } from '../commands/disconnect-connection.ts'
import { reconnectConnection } from '../commands/reconnect-connection.ts'
import { Forbidden, InvalidInput, NotFound } from '../commands/refusals.ts'
import { type ConnectionAccess, decideAccess } from '../domain/connection-access.ts'
import type { Instant } from '../runtime/clock.ts'
import { listConnections, listSyncsOfConnection } from '../store/history/syncs.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { CommandStatusEnum } from './command-status.ts'
import { getActor } from './context.ts'
import { readId } from './global-id.ts'
import { ConnectionType, SyncType } from './nodes.ts'
import { resolveIdPage } from './paging.ts'

const ConnectionRoleEnum = builder.enumType('ConnectionRole', {
  description: 'What a connection can be used for.',
  values: {
    SOURCE: { description: 'Records can be read from it.' },
    DESTINATION: { description: 'Records can be written to it.' },
  } as const,
})

const ConnectionStatusEnum = builder.enumType('ConnectionStatus', {
  description: 'Whether a tool lets us in, as far as anybody has seen.',
  values: {
    CONNECTED: { value: 'connected', description: 'It is connected, and nobody was refused.' },
    UNAUTHORIZED: {
      value: 'unauthorized',
      description:
        'The other system refused our access: runs that need it fail with `CONNECTION_UNAUTHORIZED` until it is reconnected. A test or a run that gets through, and began after the refusal, ends this as well.',
    },
    DISCONNECTED: {
      value: 'disconnected',
      description: 'It is not connected: runs that need it fail with `CONNECTION_MISSING`.',
    },
  } as const,
})

const ConnectionAccessType = builder
  .objectRef<ConnectionAccess<Instant>>('ConnectionAccess')
  .implement({
    description: 'Whether a tool lets us in, since when it does not, and what to do.',
    fields: (t) => ({
      status: t.expose('status', { type: ConnectionStatusEnum, description: 'Where it stands.' }),
      since: t.expose('since', {
        type: 'DateTime',
        nullable: true,
        description: 'Since when it does not let us in; null while it does.',
      }),
      detail: t.exposeString('detail', {
        nullable: true,
        description:
          'What the other system said when it refused, without personal data and secrets; null where it did not refuse.',
      }),
      whatToDo: t.exposeString('whatToDo', {
        nullable: true,
        description: 'What to do about it; null while it lets us in.',
      }),
    }),
  })

ConnectionType.implement({
  description: 'A tool that is, or was, connected in the workspace.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Unique in the workspace.' }),
    type: t.exposeString('type', { description: 'The kind of tool, such as `file` or `http`.' }),
    roles: t.field({
      type: [ConnectionRoleEnum],
      description: 'What it can be used for.',
      resolve: ({ type }, _args, { parts }) => [
        ...(parts.registry.sources.has(type) ? (['SOURCE'] as const) : []),
        ...(parts.registry.destinations.has(type) ? (['DESTINATION'] as const) : []),
      ],
    }),
    config: t.expose('config', { type: 'JSON', description: 'Its settings. Never a secret.' }),
    hasCredentials: t.exposeBoolean('hasCredentials', {
      description: 'Whether credentials are stored. They are sealed and never shown.',
    }),
    isConnected: t.boolean({
      description:
        'Whether the tool is connected. Where it is not, runs that need it fail with `CONNECTION_MISSING`.',
      resolve: ({ disconnectedAt }) => disconnectedAt === null,
    }),
    disconnectedAt: t.expose('disconnectedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was disconnected; null while it is connected.',
    }),
    access: t.field({
      type: ConnectionAccessType,
      description: 'Whether the tool lets us in, as far as any run or test has seen.',
      resolve: (connection) => decideAccess(connection),
    }),
    syncs: t.connection({
      type: SyncType,
      description: 'The syncs that use it, in their draft or in what is published, newest first.',
      resolve: ({ id }, args, context) =>
        resolveIdPage(args, (page) =>
          listSyncsOfConnection(context.parts.database, getActor(context).workspaceId, {
            connectionId: id,
            page,
          }),
        ),
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'When it was first connected.',
    }),
  }),
})

builder.queryField('connections', (t) =>
  t.connection({
    type: ConnectionType,
    description: 'The connections of the workspace, newest first.',
    resolve: (_root, args, context) =>
      resolveIdPage(args, (page) =>
        listConnections(context.parts.database, getActor(context).workspaceId, page),
      ),
  }),
)

const CreateConnectionInput = builder.inputType('CreateConnectionInput', {
  description: 'A tool to connect.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Unique in the workspace.' }),
    type: t.string({ required: true, description: 'The kind of tool, such as `file` or `http`.' }),
    config: t.field({
      type: 'JSON',
      required: true,
      description: 'Its settings, as docs/connectors.md lists them for each type.',
    }),
    credentials: t.field({
      type: 'JSON',
      description: 'Its credentials, if it takes any. They are sealed and never shown.',
    }),
    clientKey: clientKeyField(t),
  }),
})

const CreateConnectionPayload = builder
  .objectRef<{ connectionId: string }>('CreateConnectionPayload')
  .implement({
    description: 'The connection that was made.',
    fields: (t) => ({
      connection: t.field({
        type: ConnectionType,
        description: 'The connection.',
        resolve: ({ connectionId }) => connectionId,
      }),
    }),
  })

builder.mutationField('createConnection', (t) =>
  t.field({
    type: CreateConnectionPayload,
    description: 'Connects a tool.',
    errors: { types: [Forbidden, InvalidInput] },
    args: {
      input: t.arg({ type: CreateConnectionInput, required: true, description: 'The tool.' }),
    },
    resolve: (_root, { input }, context) =>
      createConnection(context.parts, getActor(context), {
        name: input.name,
        type: input.type,
        config: input.config ?? null,
        credentials: input.credentials ?? {},
        clientKey: input.clientKey,
      }),
  }),
)

const ChangedConnectionPayload = builder
  .objectRef<{ readonly connectionId: string; readonly status: 'done' | 'noop' }>(
    'ChangedConnection',
  )
  .implement({
    description: 'The connection after a mutation; its `syncs` are those that it is about.',
    fields: (t) => ({
      status: t.expose('status', { type: CommandStatusEnum, description: 'What was done.' }),
      connection: t.field({
        type: ConnectionType,
        description: 'The connection.',
        resolve: ({ connectionId }) => connectionId,
      }),
    }),
  })

const DisconnectConnectionInput = builder.inputType('DisconnectConnectionInput', {
  description: 'A tool to disconnect.',
  fields: (t) => ({
    connectionId: t.id({ required: true, description: 'The id of the connection.' }),
    reason: t.string({ required: true, description: 'Why, for those who will ask later.' }),
    clientKey: clientKeyField(t),
  }),
})

builder.mutationField('disconnectConnection', (t) =>
  t.field({
    type: ChangedConnectionPayload,
    description:
      'Disconnects a tool and removes its credentials. The syncs that use it stay; their runs fail until it is connected again.',
    errors: { types: [Forbidden, InvalidInput, NotFound] },
    args: {
      input: t.arg({
        type: DisconnectConnectionInput,
        required: true,
        description: 'The connection.',
      }),
    },
    resolve: (_root, { input }, context) =>
      disconnectConnection(context.parts, getActor(context), {
        connectionId: readId('Connection', input.connectionId, 'connectionId'),
        reason: input.reason,
        clientKey: input.clientKey,
      }),
  }),
)

const ReconnectConnectionInput = builder.inputType('ReconnectConnectionInput', {
  description: 'A tool to connect again.',
  fields: (t) => ({
    connectionId: t.id({ required: true, description: 'The id of the connection.' }),
    credentials: t.field({
      type: 'JSON',
      description:
        'Its credentials, if it takes any. They take the place of those that are stored.',
    }),
    clientKey: clientKeyField(t),
  }),
})

builder.mutationField('reconnectConnection', (t) =>
  t.field({
    type: ChangedConnectionPayload,
    description:
      'Connects a tool again, or gives it a fresh authorisation; its settings stay. A sync that the breaker paused is published again after it.',
    errors: { types: [Forbidden, InvalidInput, NotFound] },
    args: {
      input: t.arg({
        type: ReconnectConnectionInput,
        required: true,
        description: 'The connection.',
      }),
    },
    resolve: (_root, { input }, context) =>
      reconnectConnection(context.parts, getActor(context), {
        connectionId: readId('Connection', input.connectionId, 'connectionId'),
        credentials: input.credentials ?? {},
        clientKey: input.clientKey,
      }),
  }),
)
