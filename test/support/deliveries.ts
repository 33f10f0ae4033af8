/** What tests of deliveries tell the recording destination and the engine, and what they read back. */
import { sql } from 'drizzle-orm'
import { type Counters, NO_COUNTS } from '../../src/domain/delivery.ts'
import type { FaultHook, FaultPoint } from '../../src/engine/fault-points.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import type { Database } from '../../src/store/database.ts'
import type { Reaction, RecordedRequest, RecordingDestination } from './recording-destination.ts'
import { createSignal } from './signal.ts'

/** A record as the tests' mapping writes it. */
export interface Contact {
  readonly email: string
  readonly note: string
}

export function counts(given: Partial<Counters>): Counters {
  return { ...NO_COUNTS, ...given }
}

/** The call is refused as a whole, without a word about who is guilty. */
export const REFUSED: Reaction = { kind: 'answer', status: 422, body: '{"error":"bad record"}' }
export const TOO_LARGE: Reaction = { kind: 'answer', status: 413, body: '{"error":"too large"}' }
/** Known not to be applied, and a wait so long that the attempt ends with it. */
export const AWAY_FOR_LONG: Reaction = {
  kind: 'answer',
  status: 503,
  body: '{"error":"maintenance"}',
  headers: { 'retry-after': '3600' },
}

/** Takes a call and rejects those of its records that are bad. */
export function rejecting(isBad: (contact: Contact) => boolean): (r: RecordedRequest) => Reaction {
  return (request) => {
    if ('records' in JSON.parse(request.body)) {
      return answering((contact) =>
        isBad(contact) ? { status: 'rejected', reason: 'no' } : { status: 'written' },
      )
    }
    return isBad(JSON.parse(request.body)) ? REFUSED : { kind: 'apply' }
  }
}

/** Answers record by record; null: not a word about it. */
export function answering(
  of: (contact: Contact) => Readonly<Record<string, unknown>> | null,
): Reaction {
  return { kind: 'results', of: (_, record) => of(record as Contact) }
}

/** The notes with which an e-mail was written, in the order in which the destination applied them. */
export function notesOf(destination: RecordingDestination, email: string): readonly string[] {
  return destination.applied
    .map(({ record }) => record as Contact)
    .filter((contact) => contact.email === email)
    .map((contact) => contact.note)
}

/** The contacts that a request carries. */
export function contactsIn({ body }: RecordedRequest): readonly Contact[] {
  const parsed = JSON.parse(body) as Contact | { readonly records: { record: Contact }[] }
  return 'records' in parsed ? parsed.records.map(({ record }) => record) : [parsed]
}

/** How often an e-mail was sent, applied or not. */
export function timesSent(destination: RecordingDestination, email: string): number {
  return destination.requests.flatMap(contactsIn).filter((contact) => contact.email === email)
    .length
}

/** The attempt breaks where the point is reached for the nth time. */
export function breaksAt(point: FaultPoint, nth = 1): FaultHook {
  let reached = 0
  return (at) => {
    if (at === point) {
      reached += 1
      if (reached === nth) {
        throw new Error(`Broken at ${point}.`)
      }
    }
  }
}

/** The system's clock, but that nobody waits between two tries of a call nor for the quiet time of one with such a deadline. */
export function createHurriedClock(requestDeadlineMs: number): Clock {
  const isHurried = (ms: number) =>
    (ms > 200 && ms < 2_000) || (ms > 5_200 && ms < requestDeadlineMs + 5_100)
  return {
    ...systemClock,
    sleep: (ms, signal) => systemClock.sleep(isHurried(ms) ? 0 : ms, signal),
  }
}

/** For calls of a second. */
export const hurriedClock: Clock = createHurriedClock(1_000)

/** The system's clock, on which waits of such a length last until the test lets them pass. */
export function createWaitingClock(minMs: number, maxMs: number) {
  const [isWaiting, mayPass] = [createSignal(), createSignal()]
  const waits: number[] = []
  return {
    ...systemClock,
    waits,
    waiting: isWaiting.reached,
    pass: mayPass.reach,
    sleep: async (ms: number, signal?: AbortSignal) => {
      if (ms < minMs || ms > maxMs) {
        await systemClock.sleep(ms, signal)
        return
      }
      waits.push(ms)
      isWaiting.reach()
      await mayPass.reached
    },
  }
}

/** What is left of a sync's open pages. */
export async function leftOf(database: Database, syncId: string) {
  const [row] = await database.rows<{ pages: number; intents: number; held: number }>(sql`
    select (select count(*)::int from open_page where sync_id = ${syncId}) as pages,
           (select count(*)::int from delivery_intent where sync_id = ${syncId}) as intents,
           (select count(*)::int from held_record where sync_id = ${syncId}) as held`)
  return row ?? { pages: -1, intents: -1, held: -1 }
}

/** Each attempt breaks where the point is reached, as long as the condition holds. */
export function breaksWhenever(point: FaultPoint, holds: () => boolean = () => true): FaultHook {
  return (at) => {
    if (at === point && holds()) {
      throw new Error(`Broken at ${point}.`)
    }
  }
}
