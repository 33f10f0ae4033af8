/**
 * Does what a command does once for each client key: a repetition is answered what the first one was.
 *
 * Invariant (I21): the key, the effect and the answer are one transaction. Of parallel requests with one key the
 * first does it, and the others wait for its end; a refusal keeps nothing, so the key may be used again. Nothing
 * that a repetition asks for is checked, done, audited or announced again, whatever has changed meanwhile.
 */
import { z } from 'zod'
import { canonicalJson, type JsonObject, type JsonValue } from '../domain/json.ts'
import { assert, InvariantError } from '../runtime/assert.ts'
import { parseInstant } from '../runtime/clock.ts'
import {
  deleteCommandKey,
  findKeptAnswer,
  insertCommandKey,
  type KeptAnswer,
  type KeyedRequest,
  keepAnswer,
} from '../store/command-keys.ts'
import type { Handle } from '../store/database.ts'
import { isContention } from '../store/database-errors.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText } from './input-checks.ts'
import { Busy, InvalidInput, Refusal } from './refusals.ts'

const MAX_CLIENT_KEY_LENGTH = 200
/** A key that was there and is not any more was forgotten just then. */
const MAX_TRIES = 2
/** Levels that an input has around the JSON in it, whose own depth is limited. */
const INPUT_LEVELS = 2

/** The input of a command that may be repeated. */
export interface Repeatable {
  /** The caller's own key for this very request; not given: it is another request each time. */
  readonly clientKey?: string | null | undefined
}

export interface RepeatableCommand<Answer> {
  /** The mutation. */
  readonly name: string
  /**
   * Between the answer and what is kept of it for days. What a version before has kept must stay readable: a
   * member that is added later is optional.
   */
  readonly answer: z.ZodType<Answer, JsonObject>
}

/** A moment, kept as text. */
export const INSTANT = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => {
    const moment = parseInstant(text)
    assert(moment !== null, 'A moment that was kept is one.')
    return moment
  },
  encode: (moment) => moment.toISOString(),
})

/** The answer of those that say no more than whether they changed something. */
export const DONE_OR_NOOP = z.enum(['done', 'noop'])

export interface Call<Answer> {
  readonly context: CommandContext
  readonly actor: Actor
  readonly command: RepeatableCommand<Answer>
  readonly input: Repeatable
}

export interface Done<Answer> {
  readonly answer: Answer
  /** Tells other processes, once it is committed. A hint: whoever misses it finds out by itself. */
  readonly announce?: () => Promise<void>
}

/**
 * Carries the work out in one transaction, or answers what it came to before. Null: the work gave it up, nothing
 * was kept, and it may be tried again. Throws {@link InvalidInput} for a key that was used for another request, and
 * {@link Busy}.
 */
export async function once<Answer, GivenUp extends null = never>(
  call: Call<Answer>,
  work: (tx: Handle) => Promise<Done<Answer> | GivenUp>,
): Promise<Answer | GivenUp> {
  const { context, command } = call
  const request = readRequest(call)
  const done = await context.database
    .transaction(command.name, (tx) => (request ? workOnce(tx, { call, request, work }) : work(tx)))
    .catch((error: unknown) => {
      throw isContention(error) ? new Busy() : error
    })
  if (done === null) {
    return done
  }
  await done.announce?.()
  return done.answer
}

/**
 * For a command that checks something before its transaction ({@link once}): a repetition is answered before the
 * checks. Where they refuse it, one with its key may have been done since they began; then that is its answer.
 */
export async function onceChecked<Answer>(
  call: Call<Answer>,
  checkAndWork: () => Promise<Answer>,
): Promise<Answer> {
  const answer = await findAnswer(call)
  if (answer !== null) {
    return answer
  }
  try {
    return await checkAndWork()
  } catch (error) {
    if (error instanceof Refusal && isKeyed(call)) {
      return await once<Answer>(call, () => Promise.reject(error))
    }
    throw error
  }
}

/** Its digest under each key that is known: the answer may have been kept before the key was changed. */
interface DigestedRequest extends KeyedRequest {
  readonly knownDigests: readonly string[]
}

/** What came of the request before, under its client key; null: nothing has, or it has none. */
export async function findAnswer<Answer>(call: Call<Answer>): Promise<Answer | null> {
  const request = readRequest(call)
  const kept = request && (await findKeptAnswer(call.context.database, request))
  return kept ? readAnswer(call.command, request, kept) : null
}

function isKeyed<Answer>(call: Call<Answer>): boolean {
  return readRequest(call) !== null
}

/** Null: no key is given. */
function readRequest<Answer>({
  context,
  actor,
  command,
  input,
}: Call<Answer>): DigestedRequest | null {
  const { clientKey, ...rest } = input
  if (clientKey === undefined || clientKey === null) {
    return null
  }
  const problems = checkText('clientKey', clientKey, MAX_CLIENT_KEY_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  // A token of Tajo's may be answered of what does not exist for others.
  const asked = actor.isTajo ? { ...rest, isTajo: true } : rest
  const { sealer } = context
  const knownDigests = sealer.digests(toCanonicalText(asked))
  const [inputDigest] = knownDigests
  assert(inputDigest !== undefined, 'A sealer has a key.')
  return {
    ...{ workspaceId: actor.workspaceId, clientKey, command: command.name },
    ...{ inputDigest, digestKeyId: sealer.keyId, knownDigests },
  }
}

/** Input that is nested too deep has none: its command refuses it, so nothing is kept under that. */
function toCanonicalText(input: object): string {
  try {
    return canonicalJson(JSON.parse(JSON.stringify(input)) as JsonValue, -INPUT_LEVELS)
  } catch (error) {
    if (error instanceof RangeError) {
      return ''
    }
    throw error
  }
}

async function workOnce<Answer, GivenUp extends null>(
  tx: Handle,
  given: {
    readonly call: Call<Answer>
    readonly request: DigestedRequest
    readonly work: (tx: Handle) => Promise<Done<Answer> | GivenUp>
  },
): Promise<Done<Answer> | GivenUp> {
  const { call, request, work } = given
  const kept = await useKey(tx, request)
  if (kept) {
    return { answer: readAnswer(call.command, request, kept) }
  }
  const done = await work(tx)
  if (done === null) {
    await deleteCommandKey(tx, request)
  } else {
    await keepAnswer(tx, request, z.encode(call.command.answer, done.answer))
  }
  return done
}

/** Null: the key is this transaction's from now on. */
async function useKey(tx: Handle, request: KeyedRequest): Promise<KeptAnswer | null> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (await insertCommandKey(tx, request)) {
      return null
    }
    const kept = await findKeptAnswer(tx, request)
    if (kept) {
      return kept
    }
  }
  throw new InvariantError('A client key is neither free nor used.')
}

function readAnswer<Answer>(
  command: RepeatableCommand<Answer>,
  request: DigestedRequest,
  kept: KeptAnswer,
): Answer {
  if (kept.command !== request.command || !request.knownDigests.includes(kept.inputDigest)) {
    const reason = 'This key was used before for another request.'
    throw new InvalidInput([{ field: 'clientKey', reason }])
  }
  assert(kept.answer !== null, 'A client key is committed with its answer.')
  return z.decode(command.answer, kept.answer)
}
