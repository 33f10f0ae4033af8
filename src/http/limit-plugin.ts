/**
 * The limits as a plugin of the endpoint: whoever parses, executes or subscribes with the endpoint's functions is
 * under them, over whatever protocol.
 *
 * `parse` throws for a document that is too large, as it does for one that is no GraphQL. What a document costs may
 * depend on the variables, so it is asked for each request, with those of the context's `params`. `execute` and
 * `subscribe` answer with an error.
 */
import {
  type DocumentNode,
  type ExecutionArgs,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  type ParseOptions,
  parse,
  type Source,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { Clock } from '../runtime/clock.ts'
import type { SubscriptionCounts } from './count-subscriptions.ts'
import {
  type DocumentSize,
  type MeasuredDocument,
  measureDocument,
  type Variables,
} from './document-limits.ts'
import { executeInTime } from './execute-in-time.ts'
import { type ApiLimits, exceeded } from './limits.ts'
import { checkSubscriptions } from './subscription-rule.ts'

export interface LimitOptions {
  readonly schema: GraphQLSchema
  readonly limits: ApiLimits
  readonly subscriptions: SubscriptionCounts
  readonly clock: Clock
}

export function limitPlugin({ schema, limits, subscriptions, clock }: LimitOptions): Plugin {
  const { maxTokens } = limits
  const known = new WeakMap<DocumentNode, MeasuredDocument>()
  return {
    onParse: ({ context, setParseFn }) => {
      setParseFn((source: string | Source, options?: ParseOptions) =>
        parse(source, { ...options, maxTokens }),
      )
      return ({ result }) => {
        if (isTooLong(result)) {
          const sentence = `The document has more than ${maxTokens} tokens.`
          throw exceeded('tokens', { maximum: maxTokens, sentence })
        }
        if (isDocument(result)) {
          const measured =
            known.get(result) ?? measureDocument(schema, result, readVariables(context))
          checkSize(measured.size, limits)
          checkSubscriptions(result)
          if (!measured.needsVariables) {
            known.set(result, measured)
          }
        }
      }
    },
    onRequestParse: ({ requestParser, setRequestParser }) => {
      if (requestParser) {
        setRequestParser((request) => parseOrRefuse(async () => await requestParser(request)))
      }
    },
    onValidate: ({ addValidationRule }) => {
      if (!limits.hasIntrospection) {
        addValidationRule(NoSchemaIntrospectionCustomRule)
      }
    },
    onExecute: ({ executeFn, setExecuteFn }) => {
      setExecuteFn((args: ExecutionArgs) =>
        executeInTime((given) => executeFn(given), args, { clock, timeoutMs: limits.timeoutMs }),
      )
    },
    onSubscribe: ({ subscribeFn, setSubscribeFn }) => {
      setSubscribeFn((args: ExecutionArgs) => subscriptions.open(args, () => subscribeFn(args)))
    },
  }
}

/** Variables in an address or a form that are no JSON are the caller's mistake, and no error of the server. */
async function parseOrRefuse<T>(parseRequest: () => Promise<T>): Promise<T> {
  try {
    return await parseRequest()
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new GraphQLError('The variables or extensions of the request are not valid JSON.', {
        extensions: { code: 'BAD_REQUEST', http: { status: 400 } },
      })
    }
    throw error
  }
}

const TOO_MANY_TOKENS = /more that \d+ tokens/

/** The parser's own words, which count as a mistake in the document. */
function isTooLong(result: unknown): boolean {
  return result instanceof GraphQLError && TOO_MANY_TOKENS.test(result.message)
}

function isDocument(result: unknown): result is DocumentNode {
  return typeof result === 'object' && result !== null && 'definitions' in result
}

function readVariables(context: unknown): Variables {
  const { params } = context as { readonly params?: { readonly variables?: unknown } }
  const variables = params?.variables
  return typeof variables === 'object' && variables !== null ? (variables as Variables) : {}
}

/** Throws for the first limit that the document is over. */
function checkSize(size: DocumentSize, limits: ApiLimits): void {
  const { maxTokens, maxDepth, maxAliases, maxCost } = limits
  if (size.selections > maxTokens) {
    const sentence = `With its fragments written out the document selects ${size.selections} fields and fragments, and at most ${maxTokens} are allowed.`
    throw exceeded('selections', { maximum: maxTokens, found: size.selections, sentence })
  }
  if (size.depth > maxDepth) {
    const sentence = `Fields are nested ${size.depth} deep, and at most ${maxDepth} are allowed.`
    throw exceeded('depth', { maximum: maxDepth, found: size.depth, sentence })
  }
  if (size.aliases > maxAliases) {
    const sentence = `The document has ${size.aliases} aliases, and at most ${maxAliases} are allowed.`
    throw exceeded('aliases', { maximum: maxAliases, found: size.aliases, sentence })
  }
  if (size.cost > maxCost) {
    const sentence = `The document may read ${size.cost} objects, and at most ${maxCost} are allowed: ask for shorter pages.`
    throw exceeded('cost', { maximum: maxCost, found: size.cost, sentence })
  }
}
