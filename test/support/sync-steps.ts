/** The steps by which a person makes a sync, through the API. Each throws when the API refuses. */
import {
  CreateConnectionMutation,
  CreateSyncMutation,
  PublishSyncMutation,
} from '../../src/client/documents.ts'
import type { CreateSyncInput } from '../../src/client/gql/graphql.ts'
import { parseGlobalId } from '../../src/graphql/global-id.ts'
import type { TestApi } from './app.ts'

export type Workspace = Awaited<ReturnType<TestApi['makeWorkspace']>>

export interface MadeTools {
  readonly sourceConnectionId: string
  readonly destinationConnectionId: string
}

export interface MadeSync extends MadeTools {
  /** As the API shows it. */
  readonly syncId: string
  readonly uuid: string
}

let made = 0

/** A name that no other call gave. */
export function newName(of: string): string {
  made += 1
  return `${of} ${made}`
}

export async function connectTools({ client }: Workspace): Promise<MadeTools> {
  const [sourceConnectionId, destinationConnectionId] = await Promise.all(
    [
      { type: 'file', config: {} },
      { type: 'http', config: { baseUrl: 'http://127.0.0.1:9' } },
    ].map(async ({ type, config }) => {
      const input = { name: newName(type), type, config }
      const { createConnection: result } = await client.request(CreateConnectionMutation, { input })
      if (result.__typename !== 'CreateConnectionPayload') {
        throw new Error(result.message)
      }
      return result.connection.id
    }),
  )
  return {
    sourceConnectionId: sourceConnectionId ?? '',
    destinationConnectionId: destinationConnectionId ?? '',
  }
}

/** What a valid new sync says; the stream is a file that {@link makeDraft} writes. */
export function newSyncInput(tools: MadeTools): CreateSyncInput {
  return {
    name: newName('sync'),
    ...tools,
    stream: 'customers.csv',
    object: '/contacts',
    mapping: { email: { $path: 'email' } },
  }
}

export async function makeDraft(
  api: TestApi,
  workspace: Workspace,
  given: Partial<CreateSyncInput> = {},
): Promise<MadeSync> {
  await api.writeFile('customers.csv', 'email,name\nada@example.com,Ada\n')
  const tools = await connectTools(workspace)
  const input = { ...newSyncInput(tools), ...given }
  const { createSync: result } = await workspace.client.request(CreateSyncMutation, { input })
  if (result.__typename !== 'ChangedSync') {
    throw new Error(result.message)
  }
  const { id } = result.sync
  return { ...tools, syncId: id, uuid: uuidOf(id) }
}

export async function makePublishedSync(
  api: TestApi,
  workspace: Workspace,
  given: Partial<CreateSyncInput> = {},
): Promise<MadeSync> {
  const draft = await makeDraft(api, workspace, given)
  const { publishSync: result } = await workspace.client.request(PublishSyncMutation, {
    syncId: draft.syncId,
  })
  if (result.__typename !== 'ChangedSync') {
    throw new Error(result.message)
  }
  return draft
}

export function uuidOf(id: string): string {
  const parsed = parseGlobalId(id)
  if (!parsed) {
    throw new Error(`${id} is no id.`)
  }
  return parsed.id
}
