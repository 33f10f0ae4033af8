/** Connections: tools connected in the workspace. */
import { createConnection } from '../commands/create-connection.ts'
import { InvalidInput } from '../commands/refusals.ts'
import { listConnections } from '../store/history/syncs.ts'
import { builder } from './builder.ts'
import { getActor } from './context.ts'
import { ConnectionType } from './nodes.ts'
import { resolveIdPage } from './paging.ts'

const ConnectionRoleEnum = builder.enumType('ConnectionRole', {
  description: 'What a connection can be used for.',
  values: {
    SOURCE: { description: 'Records can be read from it.' },
    DESTINATION: { description: 'Records can be written to it.' },
  } as const,
})

ConnectionType.implement({
  description: 'A tool that is connected in the workspace.',
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
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was connected.' }),
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
    errors: { types: [InvalidInput] },
    args: {
      input: t.arg({ type: CreateConnectionInput, required: true, description: 'The tool.' }),
    },
    resolve: (_root, { input }, context) =>
      createConnection(context.parts, getActor(context), {
        name: input.name,
        type: input.type,
        config: input.config ?? null,
        credentials: input.credentials ?? {},
      }),
  }),
)
