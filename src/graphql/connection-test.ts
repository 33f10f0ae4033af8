/** Tests of connections: one real call, and what it showed. */
import { Forbidden, InvalidInput, NotConnected, NotFound } from '../commands/refusals.ts'
import { type TestedConnection, testConnection } from '../commands/test-connection.ts'
import { type ConnectionTestOutcome, describeTestOutcome } from '../domain/connection-test.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { getActor } from './context.ts'
import { RefusalInterface } from './errors.ts'
import { readId } from './global-id.ts'
import { ConnectionType } from './nodes.ts'

builder.objectType(NotConnected, {
  name: 'NotConnected',
  description: 'The tool is not connected, so it cannot be asked.',
  interfaces: [RefusalInterface],
})

type Verdict = Pick<TestedConnection, 'outcome' | 'detail'>

const VerdictInterface = builder.interfaceRef<Verdict>('ConnectionTestVerdict').implement({
  description: 'What a test of a connection showed.',
  fields: (t) => ({
    message: t.string({
      description: 'What was seen, and what to do, in full sentences.',
      resolve: ({ outcome }) => describeTestOutcome(outcome),
    }),
    detail: t.exposeString('detail', {
      nullable: true,
      description:
        'What the other system said, or what became of the call, without personal data and secrets; null where it works.',
    }),
  }),
})

const verdict = (name: string, description: string) =>
  builder.objectRef<Verdict>(name).implement({ description, interfaces: [VerdictInterface] })

const VERDICTS = {
  works: verdict('ConnectionWorks', 'The other system answered, and it lets us in.'),
  refused: verdict(
    'ConnectionRefused',
    'The other system answered, and it refuses our access: other credentials are needed.',
  ),
  out_of_reach: verdict(
    'ConnectionOutOfReach',
    'The other system could not be reached, was too slow or asked us to slow down: that may pass.',
  ),
  misconfigured: verdict(
    'ConnectionMisconfigured',
    'Nothing can answer under the address, or what does is not what it should be.',
  ),
} as const satisfies Record<ConnectionTestOutcome, object>

const ConnectionTestResult = builder.unionType('ConnectionTestResult', {
  description: 'What a test of a connection showed. More may be told apart one day.',
  types: Object.values(VERDICTS),
  resolveType: ({ outcome }) => VERDICTS[outcome],
})

const TestedConnectionPayload = builder.objectRef<TestedConnection>('TestedConnection').implement({
  description: 'A connection that was tested.',
  fields: (t) => ({
    result: t.field({
      type: ConnectionTestResult,
      description: 'What the test showed.',
      resolve: ({ outcome, detail }) => ({ outcome, detail }),
    }),
    testedAt: t.expose('testedAt', { type: 'DateTime', description: 'When it was tested.' }),
    connection: t.field({
      type: ConnectionType,
      description: 'The connection; its `access` is what the test made of it.',
      resolve: ({ connectionId }) => connectionId,
    }),
  }),
})

const TestConnectionInput = builder.inputType('TestConnectionInput', {
  description: 'A connection to test.',
  fields: (t) => ({
    connectionId: t.id({ required: true, description: 'The id of the connection.' }),
    clientKey: clientKeyField(t),
  }),
})

builder.mutationField('testConnection', (t) =>
  t.field({
    type: TestedConnectionPayload,
    description:
      'Asks the tool by one cheap call whether the connection works, within 15 s, and keeps in `Connection.access` what that showed. Nothing is read or written there.',
    errors: { types: [Forbidden, InvalidInput, NotFound, NotConnected] },
    args: {
      input: t.arg({ type: TestConnectionInput, required: true, description: 'The connection.' }),
    },
    resolve: (_root, { input }, context) =>
      testConnection(context.parts, getActor(context), {
        connectionId: readId('Connection', input.connectionId, 'connectionId'),
        clientKey: input.clientKey,
      }),
  }),
)
