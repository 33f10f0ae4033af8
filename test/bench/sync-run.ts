/** A sync of a bench, made and run through the API as anybody would. */
import type { ApiClient } from '../../src/client/api-client.ts'
import {
  CreateConnectionMutation,
  CreateSyncMutation,
  PublishSyncMutation,
  RunProgressSubscription,
  RunSyncMutation,
} from '../../src/client/documents.ts'
import type { CreateConnectionInput, CreateSyncInput } from '../../src/client/gql/graphql.ts'

export async function connectTool(
  client: ApiClient,
  tool: Omit<CreateConnectionInput, 'name'>,
): Promise<string> {
  const input = { ...tool, name: tool.type }
  const { createConnection: made } = await client.request(CreateConnectionMutation, { input })
  if (made.__typename !== 'CreateConnectionPayload') {
    throw new Error(made.message)
  }
  return made.connection.id
}

/** Milliseconds from `runSync` to the run's end, as a dashboard sees it. */
export async function timeSync(client: ApiClient, input: CreateSyncInput): Promise<number> {
  const { createSync } = await client.request(CreateSyncMutation, { input })
  if (createSync.__typename !== 'ChangedSync') {
    throw new Error(createSync.message)
  }
  const syncId = createSync.sync.id
  await client.request(PublishSyncMutation, { syncId })
  const startedAt = performance.now()
  const { runSync } = await client.request(RunSyncMutation, { syncId })
  if (runSync.__typename !== 'StartedRun') {
    throw new Error('message' in runSync ? runSync.message : 'The run did not start.')
  }
  for await (const { runProgress } of client.subscribe(RunProgressSubscription, {
    runId: runSync.run.id,
  })) {
    if (runProgress.__typename === 'RunProgress' && runProgress.isTerminal) {
      if (runProgress.status !== 'SUCCEEDED') {
        throw new Error(`The run ended ${runProgress.status}.`)
      }
    }
  }
  return performance.now() - startedAt
}
