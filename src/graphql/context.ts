/** What every resolver works with. Made anew for each operation. */
import { GraphQLError } from 'graphql'
import type { Actor, CommandContext } from '../commands/context.ts'
import type { Sharing } from './sharing.ts'

export interface ApiSettings {
  /** Without progress for longer than this, a running run says so. */
  readonly progressStaleAfterMs: number
  /** How long the ledger remembers a delivery. */
  readonly retentionMs: number
  /** How long a stream may be idle before it gets a keep-alive. */
  readonly keepAliveMs: number
}

/** An idle stream gets a keep-alive at least every 15 s; the rest is for reading the run and for the network. */
export const KEEP_ALIVE_MS = 12_000

export interface ApiContext {
  readonly parts: CommandContext
  readonly settings: ApiSettings
  /** Null: nobody was authenticated, and nothing is served. */
  readonly actor: Actor | null
  /** Asks again, for operations that last: a token may be revoked or expire meanwhile. */
  isStillAuthenticated(): Promise<boolean>
  /** Of a subscription that is made once for many clients. */
  readonly sharing?: Sharing
}

/** Throws when who subscribed may not listen any more. */
export async function assertStillAuthenticated(context: ApiContext): Promise<void> {
  if (!(await context.isStillAuthenticated())) {
    throw unauthenticated('The token was revoked or has expired.')
  }
}

/** Throws UNAUTHENTICATED when nobody was authenticated. */
export function getActor(context: ApiContext): Actor {
  if (context.actor === null) {
    throw unauthenticated('A token is needed: send the header "Authorization: Bearer <token>".')
  }
  return context.actor
}

export function unauthenticated(message: string): GraphQLError {
  return new GraphQLError(message, {
    extensions: { code: 'UNAUTHENTICATED', http: { status: 401 } },
  })
}
