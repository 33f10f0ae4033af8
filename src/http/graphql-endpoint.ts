/** GraphQL over HTTP: queries, mutations, and subscriptions as server-sent events. */
import type { ExecutionResult } from 'graphql'
import { createYoga, type GraphiQLOptions, type Plugin } from 'graphql-yoga'
import { authenticate, type Credentials } from '../commands/authenticate.ts'
import type { Actor, CommandContext } from '../commands/context.ts'
import type { ApiContext, ApiSettings } from '../graphql/context.ts'
import { maskError } from '../graphql/errors.ts'
import { apiSchema } from '../graphql/schema.ts'
import { CompiledQueries } from './compiled-queries.ts'
import type { SubscriptionCounts } from './count-subscriptions.ts'
import { DocumentCache } from './document-cache.ts'
import { limitPlugin } from './limit-plugin.ts'
import type { ApiLimits } from './limits.ts'

export const GRAPHQL_PATH = '/graphql'

/** What is known of a request before GraphQL sees it. */
export interface RequestFacts {
  readonly actor: Actor | null
  /** Kept, so that an operation that lasts can ask again. */
  readonly credentials: Credentials
  /** The result, where it is known before the endpoint sees the request. */
  readonly foregone?: ExecutionResult
}

export interface EndpointOptions {
  readonly commands: CommandContext
  readonly settings: ApiSettings
  readonly limits: ApiLimits
  readonly subscriptions: SubscriptionCounts
  /** Whether to serve the GraphiQL page. The page itself is served to anybody; it can do nothing without a token. */
  readonly hasGraphiql: boolean
  /** Executions of a query before it is compiled; Infinity: it never is. Default: 2. */
  readonly interpretedFirst?: number
}

export type GraphqlEndpoint = ReturnType<typeof createEndpoint>

export function createEndpoint(options: EndpointOptions) {
  const { commands, settings, limits, subscriptions } = options
  const compiledQueries = new CompiledQueries(options.interpretedFirst)
  const yoga = createYoga<RequestFacts, ApiContext>({
    schema: apiSchema,
    graphqlEndpoint: GRAPHQL_PATH,
    landingPage: false,
    cors: false,
    multipart: false,
    logging: false,
    batching: false,
    graphiql: options.hasGraphiql && GRAPHIQL,
    renderGraphiQL: renderPage,
    // The limits come last: they hold for whatever way of executing the others choose.
    plugins: [
      FOREGONE_RESULTS,
      compiledQueries.plugin,
      limitPlugin({ schema: apiSchema, limits, subscriptions, clock: commands.clock }),
    ],
    parserAndValidationCache: {
      documentCache: new DocumentCache(),
      errorCache: new DocumentCache(),
    },
    maskedErrors: { maskError: (error) => maskError(error, commands) },
    context: ({ actor, credentials }) => ({
      parts: commands,
      settings,
      actor,
      isStillAuthenticated: async () => {
        const answer = await authenticate(commands.database, credentials)
        return answer.kind === 'authenticated'
      },
    }),
  })
  return Object.assign(yoga, { compiledQueries })
}

/** Makes the endpoint answer with the result that is known, where one is. */
const FOREGONE_RESULTS: Plugin<object, RequestFacts> = {
  onParams: ({ context, setResult }) => {
    if (context.foregone) {
      setResult(context.foregone)
    }
  },
}

/**
 * With its own copy of the page's scripts: the default one loads them from the internet. These are 9 MB, which take
 * half a second and 47 MB, so they are loaded by whoever asks for the page and not by every process that starts.
 */
async function renderPage(options: GraphiQLOptions): Promise<string> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  return renderGraphiQL(options)
}

const GRAPHIQL = {
  title: 'Tajo',
  headers: JSON.stringify({ Authorization: 'Bearer <token>' }, null, 2),
  defaultQuery: `query Overview {
  viewer { workspaceName tokenName }
  syncs(first: 10) {
    edges { node { id name status lastRun { id status counters { read written } } } }
  }
}
`,
}
