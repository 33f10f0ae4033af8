/**
 * Executes queries that come again and again as they were compiled, and everything else as graphql-js does.
 *
 * Invariant: what is executed has been parsed and validated by the endpoint, with all its rules, in this request or
 * one before: a document is known by what the endpoint's parser gave for it. Only a document that has come
 * before is compiled, so that one that comes once costs nothing more; how many are remembered the parser's
 * cache bounds.
 */
import {
  type ExecutionArgs,
  type ExecutionResult,
  getOperationAST,
  type OperationDefinitionNode,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { type CompiledQuery, compileQuery } from '../graphql/compiled/compiled-query.ts'
import { KeptPlans } from '../graphql/compiled/kept-plans.ts'
import { DocumentCache } from './document-cache.ts'

/** One that comes for the third time is likely to come again. */
const INTERPRETED_FIRST = 2

/** What is known of an operation. One that its document does not have is never remembered. */
interface Known {
  executions: number
  /** Undefined: not tried yet; null: it cannot be. */
  compiled?: CompiledQuery | null
}

export class CompiledQueries {
  readonly kept = new KeptPlans()
  readonly #operations = new WeakMap<OperationDefinitionNode, Known>()
  readonly #texts = new DocumentCache<true>()
  readonly #interpretedFirst: number

  constructor(interpretedFirst = INTERPRETED_FIRST) {
    this.#interpretedFirst = interpretedFirst
  }

  /** Whether a document with this text has been compiled, and not been forgotten. */
  isKnown(text: string): boolean {
    return this.#texts.get(text) === true
  }

  get plugin(): Plugin {
    return {
      onExecute: ({ args, executeFn, setExecuteFn }) => {
        const compiled = this.#find(args)
        if (compiled) {
          setExecuteFn((given: Given) => execute(compiled, given, executeFn))
        }
      },
    }
  }

  #find({ schema, document, operationName }: ExecutionArgs): CompiledQuery | null {
    const operation = getOperationAST(document, operationName)
    if (!operation) {
      return null
    }
    const known = this.#operations.get(operation) ?? { executions: 0 }
    this.#operations.set(operation, known)
    known.executions += 1
    if (known.compiled === undefined && known.executions > this.#interpretedFirst) {
      known.compiled = compileQuery(schema, document, operation, this.kept)
      const text = document.loc?.source.body
      if (known.compiled && text !== undefined) {
        this.#texts.set(text, true)
      }
    }
    return known.compiled ?? null
  }
}

type Given = ExecutionArgs & { readonly signal?: AbortSignal }
type Interpret = (args: Given) => unknown

/** Where the signal ends it, the interpreter tells why, and resolves nothing either. */
function execute(compiled: CompiledQuery, args: Given, interpret: Interpret): unknown {
  const { rootValue, contextValue, variableValues, signal } = args
  const text = compiled.execute({ rootValue, contextValue, variableValues, signal })
  const give = (given: string | null) =>
    given === null ? interpret(args) : new WrittenResult(given)
  return text instanceof Promise ? text.then(give) : give(text)
}

/** A result whose data are text already. Whoever wants them as objects has them, for the price of reading the text. */
export class WrittenResult implements ExecutionResult {
  readonly #text: string
  declare readonly data: Record<string, unknown>

  constructor(data: string) {
    this.#text = `{"data":${data}}`
    // Its own, and enumerable: sockets copy the members of a result.
    Object.defineProperty(this, 'data', { enumerable: true, get: () => this.toJSON().data })
  }

  /** The whole answer as JSON. No member of its own, which a socket would copy and send once more. */
  get text(): string {
    return this.#text
  }

  /** The endpoint asks a result for it when it answers in JSON. */
  readonly stringify = (result: ExecutionResult): string =>
    result === this ? this.text : JSON.stringify(result)

  toJSON(): { readonly data: Record<string, unknown> } {
    return JSON.parse(this.text) as { readonly data: Record<string, unknown> }
  }
}
