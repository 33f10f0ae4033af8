/** Tokens: who may do what in the workspace. */
import { createToken, type MadeToken } from '../commands/create-token.ts'
import { Forbidden, InvalidInput, NotFound } from '../commands/refusals.ts'
import { requireRole } from '../commands/require-role.ts'
import { type RevokedToken, revokeToken } from '../commands/revoke-token.ts'
import { listTokens } from '../store/history/tokens.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { CommandStatusEnum } from './command-status.ts'
import { getActor } from './context.ts'
import { readId } from './global-id.ts'
import { AccessTokenType } from './nodes.ts'
import { resolveIdPage } from './paging.ts'
import { RoleEnum } from './role.ts'

builder.objectType(AccessTokenType, {
  description: 'A token that opens the workspace. Its text is shown once, when it is made.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description: 'What it is for. What is done with it is audited under this name.',
    }),
    role: t.expose('role', { type: RoleEnum, description: 'What it may do.' }),
    isUsable: t.exposeBoolean('isUsable', {
      description: 'Whether it still opens the workspace: it was not revoked and has not expired.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'From when it opens nothing any more; null: it does not expire.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was revoked; null: it was not.',
    }),
  }),
})

builder.queryField('tokens', (t) =>
  t.connection({
    type: AccessTokenType,
    description:
      'The tokens of the workspace, newest first, also those that open nothing any more. For an `ADMIN`.',
    resolve: (_root, args, context) => {
      const actor = getActor(context)
      requireRole(actor, 'admin')
      return resolveIdPage(args, (page) =>
        listTokens(context.parts.database, actor.workspaceId, page),
      )
    },
  }),
)

const CreateTokenInput = builder.inputType('CreateTokenInput', {
  description: 'A token to make.',
  fields: (t) => ({
    name: t.string({
      required: true,
      description: 'What it is for. The audit trail shows what is done with it under this name.',
    }),
    role: t.field({ type: RoleEnum, required: true, description: 'What it may do.' }),
    expiresAt: t.field({
      type: 'DateTime',
      description: 'From when it opens nothing any more. Not given: it does not expire.',
    }),
    clientKey: clientKeyField(t),
  }),
})

const CreatedTokenPayload = builder.objectRef<MadeToken>('CreatedToken').implement({
  description: 'The token that was made.',
  fields: (t) => ({
    secret: t.exposeString('token', {
      nullable: true,
      description:
        'What to send as `Authorization: Bearer <secret>`. It is shown here and never again: it is not kept, so null when the request is repeated with its `clientKey`. Whoever missed it revokes the token and makes another.',
    }),
    token: t.field({
      type: AccessTokenType,
      description: 'The token.',
      resolve: ({ tokenId }) => tokenId,
    }),
  }),
})

builder.mutationField('createToken', (t) =>
  t.field({
    type: CreatedTokenPayload,
    description: 'Makes a token that opens the workspace. For an `ADMIN`.',
    errors: { types: [Forbidden, InvalidInput] },
    args: {
      input: t.arg({ type: CreateTokenInput, required: true, description: 'The token.' }),
    },
    resolve: (_root, { input }, context) =>
      createToken(context.parts, getActor(context), {
        name: input.name,
        role: input.role,
        expiresAt: input.expiresAt ?? null,
        clientKey: input.clientKey,
      }),
  }),
)

const RevokeTokenInput = builder.inputType('RevokeTokenInput', {
  description: 'A token to revoke.',
  fields: (t) => ({
    tokenId: t.id({ required: true, description: 'The id of the token.' }),
    reason: t.string({ required: true, description: 'Why, for those who will ask later.' }),
    clientKey: clientKeyField(t),
  }),
})

const RevokedTokenPayload = builder.objectRef<RevokedToken>('RevokedToken').implement({
  description: 'The token after it was revoked.',
  fields: (t) => ({
    status: t.expose('status', {
      type: CommandStatusEnum,
      description: '`DONE`, or `NOOP`: it was revoked before.',
    }),
    token: t.field({
      type: AccessTokenType,
      description: 'The token.',
      resolve: ({ tokenId }) => tokenId,
    }),
  }),
})

builder.mutationField('revokeToken', (t) =>
  t.field({
    type: RevokedTokenPayload,
    description:
      'Revokes a token: it opens nothing from then on, and the streams that it has open end. For an `ADMIN`.',
    errors: { types: [Forbidden, InvalidInput, NotFound] },
    args: {
      input: t.arg({ type: RevokeTokenInput, required: true, description: 'The token.' }),
    },
    resolve: (_root, { input }, context) =>
      revokeToken(context.parts, getActor(context), {
        tokenId: readId('AccessToken', input.tokenId, 'tokenId'),
        reason: input.reason,
        clientKey: input.clientKey,
      }),
  }),
)
