/**
 * The rates of a Brevo account: calls for contacts are counted apart from everything else, which has 100 an hour.
 *
 * A bucket lets through at most what it holds and what flows in meanwhile. So a bucket of a vendor's limit of n in a
 * window holds a fifth of n and gets four fifths in the window: there are never more than n in it, wherever
 * the vendor's window begins.
 */
import type { Bucket, CallGate, Toll } from '../../call-gate.ts'
import type { HttpResponse } from '../../http-client.ts'
import type { BrevoPlan } from './brevo-settings.ts'

export type BrevoRoute = 'contacts' | 'others'

/** For one kind of calls, each by what Brevo calls its limit. */
type Buckets = Readonly<Record<BrevoRoute, ReadonlyMap<number, Bucket>>>

const HOUR_S = 3_600
/** The unit of what Brevo names as the time left is not documented; a long one may be no seconds at all. */
const MAX_WAIT_MS = { contacts: 30_000, others: 300_000 } as const satisfies Record<
  BrevoRoute,
  number
>
/** Where it names none. */
const USUAL_WAIT_MS = { contacts: 1_000, others: 60_000 } as const satisfies Record<
  BrevoRoute,
  number
>

const PLAN_BUCKETS = {
  GENERAL: makeBuckets({ contactsPerSecond: 10, contactsPerHour: 36_000, othersPerHour: 100 }),
  ADVANCED: makeBuckets({ contactsPerSecond: 20, contactsPerHour: 72_000, othersPerHour: 200 }),
  EXTENDED: makeBuckets({ contactsPerSecond: 60, contactsPerHour: null, othersPerHour: 600 }),
} as const satisfies Record<BrevoPlan, Buckets>

function makeBuckets(limits: {
  readonly contactsPerSecond: number
  readonly contactsPerHour: number | null
  readonly othersPerHour: number
}): Buckets {
  const { contactsPerSecond, contactsPerHour, othersPerHour } = limits
  const contacts = new Map([[contactsPerSecond, bucketOf('contacts-second', contactsPerSecond, 1)]])
  if (contactsPerHour !== null) {
    contacts.set(contactsPerHour, bucketOf('contacts-hour', contactsPerHour, HOUR_S))
  }
  const others = new Map([[othersPerHour, bucketOf('others-hour', othersPerHour, HOUR_S)]])
  return { contacts, others }
}

function bucketOf(name: string, limit: number, windowS: number): Bucket {
  const capacity = Math.floor(limit / 5)
  return { name, capacity, refillPerSecond: (limit - capacity) / windowS }
}

export function tollsOf(plan: BrevoPlan, route: BrevoRoute): readonly Toll[] {
  return [...PLAN_BUCKETS[plan][route].values()].map((bucket) => ({ bucket, tokens: 1 }))
}

/** How long to leave Brevo alone after a 429 or 425, in milliseconds. */
export function waitOf({ headers, retryAfterMs }: HttpResponse, route: BrevoRoute): number {
  const told = readCount(headers['x-sib-ratelimit-reset'])
  const waitMs = retryAfterMs ?? (told === null ? USUAL_WAIT_MS[route] : told * 1_000)
  return Math.min(waitMs, MAX_WAIT_MS[route])
}

/** Takes over what the answer says of the rates, if it says anything. */
export async function noteRates(
  gate: CallGate,
  call: { readonly plan: BrevoPlan; readonly route: BrevoRoute },
  response: HttpResponse,
): Promise<void> {
  const buckets = PLAN_BUCKETS[call.plan][call.route]
  if (response.status === 429) {
    const forMs = waitOf(response, call.route)
    const [first] = buckets.values()
    if (first) {
      await gate.block(first, forMs)
    }
    return
  }
  // Which of the windows is meant is told by its limit only.
  const bucket = buckets.get(readCount(response.headers['x-sib-ratelimit-limit']) ?? -1)
  const remaining = readCount(response.headers['x-sib-ratelimit-remaining'])
  if (bucket && remaining !== null && remaining < bucket.capacity) {
    await gate.correct(bucket, remaining)
  }
}

function readCount(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,12}$/.test(header.trim()) ? Number(header) : null
}
