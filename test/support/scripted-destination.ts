/**
 * A destination with a schema, scripted by a test: what it says of its fields and of our access, and what it was asked.
 *
 * It writes nothing anywhere: for what is delivered there are recording-destination.ts and the HTTP connector.
 */
import { z } from 'zod'
import { FREE_GATE } from '../../src/connectors/call-gate.ts'
import type { OpenConnection } from '../../src/connectors/connector.ts'
import type {
  DestinationConnector,
  DestinationField,
  OpenDestination,
} from '../../src/connectors/destination.ts'
import { settingsObject, textSetting, withoutUndefined } from '../../src/connectors/settings.ts'
import type { JsonObject } from '../../src/domain/json.ts'

export const SCRIPTED_CRM = 'scripted-crm'

export interface ScriptedCrm extends DestinationConnector {
  /** What it was asked with, in order. */
  readonly asked: readonly (OpenConnection | OpenDestination)[]
  /** Null: it cannot tell. */
  setFields(fields: readonly DestinationField[] | null): void
  /** Every answer from now on is made by this; null: it works. */
  answerWith(answer: ((signal: AbortSignal) => Promise<void>) | null): void
}

const objectOptions = settingsObject({
  identityField: textSetting('identityField', 200).optional(),
})

export function createScriptedCrm(): ScriptedCrm {
  const asked: (OpenConnection | OpenDestination)[] = []
  let fields: readonly DestinationField[] | null = null
  let answer: ((signal: AbortSignal) => Promise<void>) | null = null
  const ask = async (request: OpenConnection) => {
    asked.push(request)
    await answer?.(request.signal)
  }
  return {
    type: SCRIPTED_CRM,
    connectionConfig: settingsObject({}),
    credentials: z.record(z.string(), z.string()) as unknown as z.ZodType<JsonObject>,
    objectOptions: objectOptions.transform(withoutUndefined),
    requestDeadlineMs: () => 1_000,
    describeObjectProblem: () => null,
    testConnection: ask,
    listFields: async (request) => {
      await ask(request)
      return fields
    },
    open: async (request) => {
      await ask(request)
      return {
        deliveryClass: 'idempotent',
        ...{ settlingMs: 0, requestDeadlineMs: 1_000, maxRecordsPerCall: 1, concurrency: 1 },
        ...{ lookUp: null, imports: null, identityOf: () => null, describeUnsendable: () => null },
        takeTurn: () => FREE_GATE.take([]),
        deliver: ({ records }) =>
          Promise.resolve({
            kind: 'answered',
            outcomes: records.map(() => ({ kind: 'written', remoteId: null })),
          }),
        close: () => Promise.resolve(),
      }
    },
    asked,
    setFields: (given) => {
      fields = given
    },
    answerWith: (given) => {
      answer = given
    },
  }
}
