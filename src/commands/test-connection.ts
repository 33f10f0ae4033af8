/**
 * Tests a connection by one cheap call, as it is stored, and keeps what was seen: a refusal marks the connection, and
 * a success takes such a mark away (I24).
 *
 * Invariants: the call is made before the transaction, which holds nothing while somebody else's system is waited for; a
 * repetition with the client key makes no call.
 */
import { z } from 'zod'
import { CONNECTION_TEST_OUTCOMES, type ConnectionTestOutcome } from '../domain/connection-test.ts'
import { InvariantError } from '../runtime/assert.ts'
import type { Instant } from '../runtime/clock.ts'
import { UnknownKeyError } from '../runtime/seal.ts'
import {
  clearRefusal,
  findConnectionForUpdate,
  findConnections,
  markRefused,
  type StoredConnection,
} from '../store/connections.ts'
import type { Handle } from '../store/database.ts'
import { recordDeed } from './audit-trail.ts'
import { openConnection, toTrouble } from './call-connection.ts'
import { findConnector } from './connection-settings.ts'
import type { Actor, CommandContext } from './context.ts'
import { findAnswer, INSTANT, once, onceChecked, type Repeatable } from './once.ts'
import { Busy, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface TestConnectionInput extends Repeatable {
  readonly connectionId: string
}

export interface TestedConnection {
  readonly connectionId: string
  readonly outcome: ConnectionTestOutcome
  /** What the other system said, or what became of the call; null: it works. */
  readonly detail: string | null
  readonly testedAt: Instant
}

const TEST_CONNECTION = {
  name: 'testConnection',
  answer: z.object({
    connectionId: z.string(),
    outcome: z.enum(CONNECTION_TEST_OUTCOMES),
    detail: z.string().nullable(),
    testedAt: INSTANT,
  }),
}

/** For the turn and the call together. */
const AT_MOST_MS = 15_000

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link NotConnected}, {@link Busy}. */
export async function testConnection(
  context: CommandContext,
  actor: Actor,
  input: TestConnectionInput,
): Promise<TestedConnection> {
  requireRole(actor, 'publisher')
  const { workspaceId } = actor
  const call = { context, actor, command: TEST_CONNECTION, input }
  return await onceChecked<TestedConnection>(call, async () => {
    const connection = await getConnection(context, actor, input.connectionId)
    const limits = { workspaceId, atMostMs: AT_MOST_MS }
    const seen = await context.outsideCalls
      .within(limits, async (signal) => {
        // While its turn was waited for, another request with its key may have been done.
        const answer = await findAnswer<TestedConnection>(call)
        return answer
          ? ({ kind: 'answered', answer } as const)
          : await makeCall(context, { workspaceId, connection, signal })
      })
      .catch(toOutcome)
    if (seen.kind === 'answered') {
      return seen.answer
    }
    return await once<TestedConnection>(call, async (tx) => ({
      answer: await record(tx, { context, actor, connection, ...seen }),
    }))
  })
}

interface Seen {
  readonly kind: 'seen'
  readonly outcome: ConnectionTestOutcome
  readonly detail: string | null
}

const WORKS: Seen = { kind: 'seen', outcome: 'works', detail: null }

async function makeCall(
  context: CommandContext,
  given: {
    readonly workspaceId: string
    readonly connection: StoredConnection
    readonly signal: AbortSignal
  },
): Promise<Seen> {
  const { id, type } = given.connection
  const connector = findConnector(context, type)
  if (!connector) {
    throw new InvariantError(`The connection ${id} has the unknown type ${type}.`)
  }
  await connector.testConnection(openConnection(context, given))
  return WORKS
}

function toOutcome(error: unknown): Seen {
  if (error instanceof UnknownKeyError) {
    // No other system was asked, so nothing was seen. Another process may have the key.
    throw new Busy(`Its credentials could not be opened, so nothing was done. ${error.message}`)
  }
  const trouble = toTrouble(error)
  if (!trouble) {
    throw error
  }
  return { kind: 'seen', ...trouble }
}

async function getConnection(
  { database }: CommandContext,
  { workspaceId }: Actor,
  connectionId: string,
): Promise<StoredConnection> {
  const [found] = await findConnections(database, workspaceId, [connectionId])
  if (!found) {
    throw new NotFound('connection', 'connectionId')
  }
  return found
}

/** What was seen is of the access as it was before the call. */
async function record(
  tx: Handle,
  tested: Seen & {
    readonly context: CommandContext
    readonly actor: Actor
    readonly connection: StoredConnection
  },
): Promise<TestedConnection> {
  const { context, actor, connection, outcome, detail } = tested
  const connectionId = connection.id
  await findConnectionForUpdate(tx, actor.workspaceId, connectionId)
  if (outcome === 'works') {
    await clearRefusal(tx, connection)
  }
  if (outcome === 'refused') {
    await markRefused(tx, connection, detail ?? '')
  }
  await recordDeed(tx, context, actor, {
    action: 'testConnection',
    subjectType: 'connection',
    subjectId: connectionId,
    after: { outcome, detail },
  })
  return { connectionId, outcome, detail, testedAt: context.clock.now() }
}
