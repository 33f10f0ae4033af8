/**
 * Ids as the API shows them: the type and the UUID, such as `run_0198c0de-…`.
 *
 * Unique across types, so that `node` can find any object, and readable, so that the id in a message
 * is the one in a log. Clients treat them as opaque.
 */
import { GraphQLError } from 'graphql'
import { InvalidInput } from '../commands/refusals.ts'
import { isUuid } from '../domain/ids.ts'

const NODE_TYPES = [
  'AccessToken',
  'Alert',
  'Connection',
  'Publication',
  'PublicationRequest',
  'Run',
  'Sync',
] as const
type NodeType = (typeof NODE_TYPES)[number]
/** These have an id, and are no objects that can be asked for by it. */
const ID_TYPES = [...NODE_TYPES, 'Intent', 'Record', 'Workspace'] as const
export type IdType = (typeof ID_TYPES)[number]

export function encodeGlobalId(type: string, id: string | number | bigint): string {
  return `${type.toLowerCase()}_${id}`
}

/** Null for a text that is no id of this API. */
export function parseGlobalId(text: string): { readonly type: IdType; readonly id: string } | null {
  const separator = text.indexOf('_')
  const type = ID_TYPES.find((name) => name.toLowerCase() === text.slice(0, separator))
  const id = text.slice(separator + 1)
  return type && isUuid(id) ? { type, id } : null
}

/** The UUID in an id that an argument gives. Throws {@link InvalidInput}, which names the argument. */
export function readId(type: IdType, text: string | number, field: string): string {
  const parsed = parseGlobalId(String(text))
  if (parsed?.type !== type) {
    const article = /^[AEIOU]/.test(type) ? 'an' : 'a'
    const words = type.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()
    const reason = `It must be the id of ${article} ${words}, such as ${encodeGlobalId(type, EXAMPLE)}.`
    throw new InvalidInput([{ field, reason }])
  }
  return parsed.id
}

const EXAMPLE = '0198c0de-0000-7000-8000-000000000000'

/** For `node`, which takes an id of any type. */
export function decodeNodeId(text: string): { typename: NodeType; id: string } {
  const parsed = parseGlobalId(text)
  const typename = NODE_TYPES.find((name) => name === parsed?.type)
  if (!parsed || !typename) {
    const message = `id: It must be an id of this API, such as ${encodeGlobalId('Run', EXAMPLE)}.`
    throw new GraphQLError(message, {
      extensions: { code: 'INVALID_INPUT', problems: [{ field: 'id', reason: message.slice(4) }] },
    })
  }
  return { typename, id: parsed.id }
}
