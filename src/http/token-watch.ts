/**
 * Asks again whether the tokens of open streams hold, each once however many streams it has opened.
 *
 * Invariant: the streams of a token that was revoked or has expired end; so do those of a token of which
 * nobody can say, without `complete`, so that their clients come again and are asked then.
 */
import { authenticate, type Credentials } from '../commands/authenticate.ts'
import type { CommandContext } from '../commands/context.ts'

/** Questions at once. */
const MAX_ASKED = 8

export interface WatchedStream {
  readonly credentials: Credentials
  /** The token does not hold any more. */
  refuse(): void
  cut(): void
}

export class TokenWatch {
  readonly #commands: CommandContext
  readonly #everyMs: number
  readonly #streams = new Map<string, Set<WatchedStream>>()
  #stopping: AbortController | null = null

  constructor(commands: CommandContext, everyMs: number) {
    this.#commands = commands
    this.#everyMs = everyMs
  }

  add(stream: WatchedStream): void {
    const key = keyOf(stream)
    const streams = this.#streams.get(key) ?? new Set()
    this.#streams.set(key, streams.add(stream))
    if (this.#stopping === null) {
      this.#stopping = new AbortController()
      void this.#ask(this.#stopping.signal)
    }
  }

  remove(stream: WatchedStream): void {
    const key = keyOf(stream)
    const streams = this.#streams.get(key)
    streams?.delete(stream)
    if (streams?.size === 0) {
      this.#streams.delete(key)
    }
    if (this.#streams.size === 0) {
      this.#stopping?.abort()
      this.#stopping = null
    }
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { clock } = this.#commands
    while (!signal.aborted) {
      try {
        await clock.sleep(this.#everyMs, signal)
      } catch (error) {
        if (!signal.aborted) {
          throw error
        }
        return
      }
      const waiting = [...this.#streams.keys()]
      const askInTurn = async () => {
        for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
          await this.#askOnce(next)
        }
      }
      await Promise.all(Array.from({ length: MAX_ASKED }, askInTurn))
    }
  }

  async #askOnce(key: string): Promise<void> {
    const { database, logger } = this.#commands
    const tell = (end: (stream: WatchedStream) => void) => {
      for (const stream of [...(this.#streams.get(key) ?? [])]) {
        end(stream)
      }
    }
    const [any] = this.#streams.get(key) ?? []
    if (!any) {
      return
    }
    try {
      const answer = await authenticate(database, any.credentials)
      if (answer.kind === 'refused') {
        tell((stream) => stream.refuse())
      }
    } catch (error) {
      logger.warn('stream.token_not_asked', {}, error)
      tell((stream) => stream.cut())
    }
  }
}

function keyOf({ credentials }: WatchedStream): string {
  return JSON.stringify([credentials.authorization, credentials.workspaceId])
}
