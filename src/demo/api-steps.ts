/** The steps of a person who sets up a sync and watches it, through the API only. */
import type { ApiClient } from '../client/api-client.ts'
import {
  CreateConnectionMutation,
  CreateSyncMutation,
  PublishSyncMutation,
  RunProgressSubscription,
  RunQuery,
  RunSyncMutation,
} from '../client/documents.ts'
import type { RunQuery as RunResult } from '../client/gql/graphql.ts'
import { CONTACTS_PATH } from './crm.ts'
import { CUSTOMERS_FILE, readMapping } from './customers.ts'

/** Small pages and calls, so that there are many places at which a kill can hit. */
export const PAGE_SIZE = 50
export const RECORDS_PER_CALL = 10

/** Connects the file and the CRM, saves a sync between them and publishes it. Returns the sync's id. */
export async function publishCustomerSync(client: ApiClient, crmUrl: string): Promise<string> {
  const { createSync } = await client.request(CreateSyncMutation, {
    input: {
      name: 'Customers to the CRM',
      sourceConnectionId: await connect(client, { name: 'Files', type: 'file', config: {} }),
      stream: CUSTOMERS_FILE,
      streamOptions: { identityField: 'customer_id' },
      destinationConnectionId: await connect(client, {
        name: 'CRM',
        type: 'http',
        config: { baseUrl: crmUrl },
      }),
      object: CONTACTS_PATH,
      objectOptions: {
        path: 'PAGE',
        identityField: 'id',
        maxRecordsPerCall: RECORDS_PER_CALL,
        deliveryClass: 'IDEMPOTENT',
      },
      mapping: await readMapping(),
      pageSize: PAGE_SIZE,
    },
  })
  if (createSync.__typename !== 'ChangedSync') {
    throw new Error(`The sync could not be saved. ${createSync.message}`)
  }
  const { id: syncId } = createSync.sync
  const { publishSync } = await client.request(PublishSyncMutation, { syncId })
  if (publishSync.__typename !== 'ChangedSync') {
    throw new Error(`The sync could not be published. ${publishSync.message}`)
  }
  return syncId
}

async function connect(
  client: ApiClient,
  input: { readonly name: string; readonly type: string; readonly config: unknown },
): Promise<string> {
  const { createConnection } = await client.request(CreateConnectionMutation, { input })
  if (createConnection.__typename !== 'CreateConnectionPayload') {
    throw new Error(`${input.name} could not be connected. ${createConnection.message}`)
  }
  return createConnection.connection.id
}

/** Returns the id of the run that was queued. */
export async function startRun(client: ApiClient, syncId: string): Promise<string> {
  const { runSync } = await client.request(RunSyncMutation, { syncId })
  if (runSync.__typename !== 'StartedRun') {
    throw new Error(`The run could not be started. ${runSync.message}`)
  }
  return runSync.run.id
}

export type Run = NonNullable<RunResult['run']>

export async function getRun(client: ApiClient, id: string): Promise<Run> {
  const { run } = await client.request(RunQuery, { id })
  if (!run) {
    throw new Error('The app does not know the run any more.')
  }
  return run
}

/** Tells `onRead` how many records have been read, until the run ends. Throws when the stream breaks off. */
export async function followRun(
  client: ApiClient,
  runId: string,
  onRead: (records: number) => void,
): Promise<void> {
  for await (const { runProgress } of client.subscribe(RunProgressSubscription, { runId })) {
    if (runProgress.__typename === 'RunProgress') {
      onRead(runProgress.counters.read)
      if (runProgress.isTerminal) {
        return
      }
    }
  }
  throw new Error('The stream of progress ended before the run did.')
}
