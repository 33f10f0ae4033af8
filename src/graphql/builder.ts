/**
 * The schema builder: plugins and defaults. Types are in the files beside this one, a file a type.
 *
 * The order of plugins matters: errors before authorisation, so that a refusal of either is a member of
 * a mutation's result. Everything is non-null unless a type says otherwise.
 */
import SchemaBuilder from '@pothos/core'
import DataloaderPlugin from '@pothos/plugin-dataloader'
import ErrorsPlugin from '@pothos/plugin-errors'
import RelayPlugin from '@pothos/plugin-relay'
import ScopeAuthPlugin from '@pothos/plugin-scope-auth'
import type { JsonValue } from '../domain/json.ts'
import type { Instant } from '../runtime/clock.ts'
import { type ApiContext, unauthenticated } from './context.ts'
import { decodeNodeId, encodeGlobalId } from './global-id.ts'
import { describePageArgument } from './paging.ts'

interface ApiTypes {
  Context: ApiContext
  AuthScopes: { authenticated: boolean }
  Scalars: {
    DateTime: { Input: Instant; Output: Instant }
    JSON: { Input: JsonValue; Output: JsonValue }
    ID: { Input: string; Output: string }
  }
  DefaultFieldNullability: false
  DefaultEdgesNullability: { list: false; items: false }
  DefaultNodeNullability: false
}

export const builder = new SchemaBuilder<ApiTypes>({
  plugins: [ErrorsPlugin, ScopeAuthPlugin, RelayPlugin, DataloaderPlugin],
  defaultFieldNullability: false,
  errors: {
    directResult: true,
    defaultUnionOptions: {
      name: ({ fieldName }) => `${fieldName.charAt(0).toUpperCase()}${fieldName.slice(1)}Result`,
      description: 'What the mutation did, or why it was refused. A refusal changed nothing.',
    },
  },
  scopeAuth: {
    authorizeOnSubscribe: true,
    authScopes: (context) => ({ authenticated: context.actor !== null }),
    unauthorizedError: () => unauthenticated('A token of this product is needed.'),
  },
  relay: {
    cursorType: 'String',
    encodeGlobalID: encodeGlobalId,
    decodeGlobalID: decodeNodeId,
    nodeTypeOptions: { description: 'An object that can be found again by its id.' },
    idFieldOptions: { description: 'Unique among all objects; to be treated as opaque.' },
    nodeQueryOptions: {
      description: 'The object with this id; null when the workspace has none.',
      args: { id: { description: 'The id of an object of any type.' } },
    },
    nodesQueryOptions: false,
    firstArgOptions: { description: describePageArgument('first') },
    afterArgOptions: { description: 'The cursor of the entry after which the page begins.' },
    lastArgOptions: { description: describePageArgument('last') },
    beforeArgOptions: { description: 'The cursor of the entry before which the page ends.' },
    pageInfoTypeOptions: { description: 'Where a page lies in its list.' },
    hasNextPageFieldOptions: { description: 'Whether entries follow the page.' },
    hasPreviousPageFieldOptions: { description: 'Whether entries come before the page.' },
    startCursorFieldOptions: {
      description: 'The cursor of the first entry; null on an empty page.',
    },
    endCursorFieldOptions: { description: 'The cursor of the last entry; null on an empty page.' },
    defaultConnectionTypeOptions: { description: 'One page of a list, newest entries first.' },
    defaultEdgeTypeOptions: { description: 'One entry of a page.' },
    edgesFieldOptions: {
      description: 'The entries of the page.',
      nullable: { list: false, items: false },
    },
    nodeFieldOptions: { description: 'The entry itself.', nullable: false },
    cursorFieldOptions: {
      description: 'Where the entry lies in the list; to be treated as opaque.',
    },
    pageInfoFieldOptions: { description: 'Where the page lies in the list.' },
  },
})

builder.queryType({
  description:
    "What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others.",
  authScopes: { authenticated: true },
})
builder.mutationType({
  description:
    'What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely.',
  authScopes: { authenticated: true },
})
builder.subscriptionType({
  description: 'What can be watched, over server-sent events or a WebSocket.',
  authScopes: { authenticated: true },
})
