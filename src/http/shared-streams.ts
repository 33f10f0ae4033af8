/**
 * Subscriptions over server-sent events, shared by all clients of a process that ask for the same.
 *
 * Invariants: whoever joins has asked as if alone: its own token, and its own document through the
 * endpoint's parsing, validation and context, with whatever limits these have. Shared is what is asked for
 * in the same words, with the same variables, in the same workspace and with the same rights. Everything
 * that is no such subscription, or is refused, is left to the endpoint. (docs/adr/0012)
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BREAK, type DocumentNode, visit } from 'graphql'
import type { Actor, CommandContext } from '../commands/context.ts'
import { type ApiContext, type ApiSettings, unauthenticated } from '../graphql/context.ts'
import { maskError } from '../graphql/errors.ts'
import { InvariantError } from '../runtime/assert.ts'
import { sha256 } from '../runtime/hash.ts'
import type { SubscriptionCounts } from './count-subscriptions.ts'
import type { GraphqlEndpoint, RequestFacts } from './graphql-endpoint.ts'
import type { ApiLimits } from './limits.ts'
import { giveBody, receiveBody } from './request-body.ts'
import { type Member, SharedStream, type Subscribed } from './shared-stream.ts'
import { StreamClient } from './stream-client.ts'
import { encodeEvent } from './stream-event.ts'
import { isShared, readStreamParams, type StreamParams } from './stream-request.ts'
import { TokenWatch } from './token-watch.ts'

export interface SharedStreamsOptions {
  readonly endpoint: GraphqlEndpoint
  readonly commands: CommandContext
  readonly settings: ApiSettings
  readonly subscriptions: SubscriptionCounts
  readonly limits: Pick<ApiLimits, 'maxBodyBytes'>
}

type Enveloped = ReturnType<GraphqlEndpoint['getEnveloped']>

interface Asked {
  readonly params: StreamParams
  readonly document: DocumentNode
  readonly enveloped: Enveloped
  readonly context: ApiContext
}

const REFUSED = 'The token was revoked or has expired.'

export class SharedStreams {
  readonly #options: SharedStreamsOptions
  readonly #streams = new Map<string, SharedStream>()
  readonly #tokens: TokenWatch

  constructor(options: SharedStreamsOptions) {
    this.#options = options
    this.#tokens = new TokenWatch(options.commands, options.settings.keepAliveMs)
  }

  /** Answers a request for a stream of a person whose token holds. */
  async respond(
    request: IncomingMessage,
    response: ServerResponse,
    facts: RequestFacts & { readonly actor: Actor },
  ): Promise<void> {
    const body = await receiveBody(request, response, this.#options.limits.maxBodyBytes)
    if (body === null) {
      return
    }
    const answerAlone = async () => {
      await this.#options.endpoint.handle(giveBody(request, body), response, facts)
    }
    const asked = await this.#read(body, facts)
    const key = asked && keyOf(asked, facts.actor)
    const { subscriptions } = this.#options
    const endCount = key && subscriptions.take(facts.actor.tokenId)
    if (!asked || !key || !endCount) {
      await answerAlone()
      return
    }
    const client = new StreamClient(response)
    client.onGone(endCount)
    if (!response.destroyed) {
      this.#join(asked, client, { key, facts, endCount, answerAlone })
    }
  }

  /** Null: it is nothing that is shared, or the endpoint has to say what is wrong with it. */
  async #read(body: Buffer, facts: RequestFacts): Promise<Asked | null> {
    const params = readStreamParams(body)
    if (params === null) {
      return null
    }
    const enveloped = this.#options.endpoint.getEnveloped({ ...facts, params })
    let document: DocumentNode
    try {
      document = enveloped.parse(params.query)
    } catch {
      return null
    }
    const isValid =
      isShared(document, params.operationName) &&
      enveloped.validate(enveloped.schema, document).length === 0
    return isValid
      ? { params, document, enveloped, context: await enveloped.contextFactory() }
      : null
  }

  #join(
    asked: Asked,
    client: StreamClient,
    given: {
      readonly key: string
      readonly facts: RequestFacts & { readonly actor: Actor }
      endCount(): void
      answerAlone(): Promise<void>
    },
  ): void {
    const stream = this.#findOrOpen(asked, given.key)
    const { logger } = this.#options.commands
    const member: Member = {
      client,
      refuse: () => {
        // The endpoint counts it and asks for its token now.
        given.endCount()
        this.#tokens.remove(watched)
        given.answerAlone().catch((error: unknown) => {
          logger.error('http.failed', {}, error)
          client.cut()
        })
      },
    }
    const watched = {
      credentials: given.facts.credentials,
      refuse: () => {
        client.refuse(encodeEvent({ errors: [unauthenticated(REFUSED)] }))
        stream.leave(member)
      },
      cut: () => client.cut(),
    }
    this.#tokens.add(watched)
    stream.join(member)
    client.onGone(() => {
      this.#tokens.remove(watched)
      stream.leave(member)
    })
  }

  #findOrOpen(asked: Asked, key: string): SharedStream {
    const found = this.#streams.get(key)
    if (found) {
      return found
    }
    const { commands } = this.#options
    const stream = new SharedStream({
      onClosed: () => {
        if (this.#streams.get(key) === stream) {
          this.#streams.delete(key)
        }
      },
      maskError: (error) => maskError(error, commands),
      onEndFailed: (error) => commands.logger.warn('stream.end_failed', {}, error),
    })
    this.#streams.set(key, stream)
    stream
      .run(() => subscribe(asked, stream))
      .catch((error: unknown) => {
        commands.logger.error('stream.failed', {}, error)
      })
    return stream
  }
}

/** Who subscribes first does so for all: whether the others may listen is asked of each of them. */
async function subscribe(asked: Asked, { sharing }: SharedStream): Promise<Subscribed> {
  const { params, document, enveloped, context } = asked
  const { operationName, variables } = params
  const subscribed: unknown = await enveloped.subscribe({
    schema: enveloped.schema,
    document,
    operationName,
    variableValues: variables,
    contextValue: {
      ...context,
      actor: goesByToken(document) ? context.actor : context.actor && withoutToken(context.actor),
      sharing,
      isStillAuthenticated: () => Promise.resolve(true),
    },
  })
  return subscribed as Subscribed
}

/** Fields whose value goes by the token that asks. */
const TOKEN_FIELDS: readonly string[] = ['isOwn']

function goesByToken(document: DocumentNode): boolean {
  let isFound = false
  visit(document, {
    Field: ({ name }) => {
      if (TOKEN_FIELDS.includes(name.value)) {
        isFound = true
        return BREAK
      }
      return undefined
    },
  })
  return isFound
}

/** What is shared may not go by the token of whoever came first: a field that asks for it is a mistake. */
function withoutToken({ workspaceId, role, isTajo }: Actor): Actor {
  const refuse = (): never => {
    throw new InvariantError('A subscription that is shared asked for the token.')
  }
  return {
    ...{ workspaceId, role, isTajo },
    get tokenId(): string {
      return refuse()
    },
    get tokenName(): string {
      return refuse()
    },
  }
}

/** Null: it cannot be written down, as its variables are nested too deep. */
function keyOf({ params, document }: Asked, actor: Actor): string | null {
  const { query, operationName, variables } = params
  const { workspaceId, role, isTajo, tokenId } = actor
  const who = [workspaceId, role, isTajo, goesByToken(document) ? tokenId : null]
  try {
    return sha256(JSON.stringify([who, query, operationName ?? null, variables ?? {}]))
  } catch (error) {
    if (error instanceof RangeError) {
      return null
    }
    throw error
  }
}
