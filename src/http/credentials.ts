/** What a request says of who sent it: in its headers, or in the first message of a WebSocket. */
import type { Credentials } from '../commands/authenticate.ts'
import { parseGlobalId } from '../graphql/global-id.ts'

const AUTHORIZATION = 'authorization'
/** With a token of Tajo's: the id of the workspace that the request is for. */
const WORKSPACE = 'tajo-workspace'

export const NOBODY: Credentials = { authorization: null, workspaceId: null }

/**
 * Each of the two from the first of these that has it. Names are compared without their case: only those of HTTP
 * headers come in lower case.
 */
export function readCredentials(...given: readonly unknown[]): Credentials {
  const workspace = findFirst(given, WORKSPACE)
  const parsed = workspace === null ? null : parseGlobalId(workspace.trim())
  return {
    authorization: findFirst(given, AUTHORIZATION),
    // What is no such id is handed on as it is, and opens nothing.
    workspaceId: parsed?.type === 'Workspace' ? parsed.id : workspace,
  }
}

function findFirst(given: readonly unknown[], name: string): string | null {
  for (const members of given) {
    const found = find(members, name)
    if (found !== null) {
      return found
    }
  }
  return null
}

function find(members: unknown, name: string): string | null {
  if (typeof members !== 'object' || members === null) {
    return null
  }
  const found = Object.entries(members).find(([each]) => each.toLowerCase() === name)
  return typeof found?.[1] === 'string' ? found[1] : null
}
