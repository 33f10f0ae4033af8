/**
 * Any two of the things that are done to a sync, at once, in both orders of their locks. A third transaction
 * holds the row of the sync, of its fence or of its run; the two are started one after the other and have
 * taken, by then, whatever comes before that row in their order; then the row is let go. Two that took their
 * rows in different orders would wait for each other here, whichever comes first.
 *
 * What must come out is what would have come out had one been done after the other.
 */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Database, type Handle, openDatabase } from '../../src/store/database.ts'
import { findUnavailable } from '../../src/store/unavailable.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { holdOpen, type Session, waitUntilBlockedOrDone } from '../support/held-open.ts'
import {
  act,
  type BusySync,
  mayPass,
  readBusySync,
  seedBusySync,
  VERBS,
} from '../support/sync-verbs.ts'

/** Pairs that are tried at the same time, each on a sync of its own. */
const LANES = 4

const BARRIERS = {
  sync: (tx: Handle, { sync }: BusySync) =>
    tx.rows(sql`select 1 from sync where id = ${sync.syncId} for no key update`),
  fence: (tx: Handle, { sync }: BusySync) =>
    tx.rows(sql`select 1 from sync_fence where sync_id = ${sync.syncId} for no key update`),
  run: (tx: Handle, { holder }: BusySync) =>
    tx.rows(sql`select 1 from run where id = ${holder.runId} for no key update`),
}
type Barrier = keyof typeof BARRIERS

interface Lane {
  readonly holder: Session
  readonly first: Session
  readonly second: Session
}

/** How both ended, and what stands there: of serial executions, the yardstick; of parallel ones, the result. */
interface Outcome {
  readonly ends: Readonly<Record<0 | 1, string | undefined>>
  readonly state: Readonly<Record<string, unknown>>
}

/** How each of some verbs ended, in their order, and what stands there then. */
interface InTurn {
  readonly ends: readonly string[]
  readonly state: Outcome['state']
}

const NAMES = Object.keys(VERBS)

describe.runIf(DATABASE_KINDS.includes('postgresql'))('two at once on one sync', () => {
  let test: TestDatabase
  let database: Database
  let lanes: Lane[] = []
  const known = new Map<string, Promise<InTurn>>()

  const openSession = async (): Promise<Session> => {
    const own = await openDatabase({
      at: { url: test.url },
      maxConnections: 1,
      applicationName: 'test',
    })
    const [row] = await own.rows<{ pid: number }>(sql`select pg_backend_pid() as pid`)
    return { database: own, pid: row?.pid ?? 0 }
  }
  beforeAll(async () => {
    test = await createTestDatabase()
    database = await test.open()
    lanes = await Promise.all(
      Array.from({ length: LANES }, async () => ({
        holder: await openSession(),
        first: await openSession(),
        second: await openSession(),
      })),
    )
  })
  afterAll(async () => {
    const sessions = lanes.flatMap(({ holder, first, second }) => [holder, first, second])
    await Promise.all(sessions.map((session) => session.database.close()))
    await test.drop()
  })

  /** One after the other, on one sync. The same whoever asks, and asked for by many pairs: it is done once. */
  function inTurn(lane: Lane, ...names: readonly string[]): Promise<InTurn> {
    const key = names.join(', ')
    const done = known.get(key) ?? doInTurn(lane, names)
    known.set(key, done)
    return done
  }

  async function doInTurn(lane: Lane, names: readonly string[]): Promise<InTurn> {
    const busy = await seedBusySync(database)
    const ends: string[] = []
    for (const name of names) {
      ends.push(await act(name, lane.first.database, busy))
    }
    return { ends, state: await readBusySync(database, busy) }
  }

  async function atOnce(lane: Lane, acts: readonly [Act, Act], barrier: Barrier) {
    const busy = await seedBusySync(database)
    const held = await holdOpen(lane.holder.database, (tx) => BARRIERS[barrier](tx, busy))
    const first = acts[0](lane.first.database, busy)
    await waitUntilBlockedOrDone(database, lane.first, first)
    const second = acts[1](lane.second.database, busy)
    await waitUntilBlockedOrDone(database, lane.second, second)
    await held.release()
    const ends = { 0: await first, 1: await second }
    return { ends, state: await readBusySync(database, busy) }
  }

  /**
   * What may come out: one after the other, in either order; or one alone, where the other passes by. The ends are
   * told by place, because a verb may meet itself.
   */
  async function serially(lane: Lane, [one, other]: readonly [string, string]) {
    const forth = await inTurn(lane, one, other)
    const back = await inTurn(lane, other, one)
    const allowed: Outcome[] = [
      { ends: { 0: forth.ends[0], 1: forth.ends[1] }, state: forth.state },
      { ends: { 0: back.ends[1], 1: back.ends[0] }, state: back.state },
    ]
    if (mayPass(one)) {
      const { ends, state } = await inTurn(lane, other)
      allowed.push({ ends: { 0: 'null', 1: ends[0] }, state })
    }
    if (mayPass(other)) {
      const { ends, state } = await inTurn(lane, one)
      allowed.push({ ends: { 0: ends[0], 1: 'null' }, state })
    }
    if (mayPass(one) && mayPass(other)) {
      allowed.push({ ends: { 0: 'null', 1: 'null' }, state: (await inTurn(lane)).state })
    }
    expect(JSON.stringify(allowed)).not.toContain('error')
    return allowed
  }

  const tryPair = async (lane: Lane, verbs: readonly [string, string]) => {
    const allowed = await serially(lane, verbs)
    const wrong: unknown[] = []
    for (const barrier of barriersFor(verbs)) {
      const outcome = await atOnce(lane, [toAct(verbs[0]), toAct(verbs[1])], barrier)
      if (!allowed.some((one) => isSame(one, outcome))) {
        wrong.push({ verbs, barrier, outcome, allowed })
      }
    }
    return wrong
  }

  it.each(NAMES)(
    '%s, and then any other: no deadlock, and as if one had come after the other',
    async (name) => {
      const queue = NAMES.map((other) => [name, other] as const).values()
      const wrong = await Promise.all(
        lanes.map(async (lane) => {
          const found: unknown[] = []
          for (const verbs of queue) {
            found.push(...(await tryPair(lane, verbs)))
          }
          return found
        }),
      )
      expect(wrong.flat()).toEqual([])
    },
    120_000,
  )

  it('is a deadlock where they take their rows in different orders (the control)', async () => {
    const [lane] = lanes
    const ends: string[] = []
    for (const acts of [
      [inOrder('sync', 'run'), inOrder('run', 'sync')],
      [inOrder('run', 'sync'), inOrder('sync', 'run')],
    ] as const) {
      for (const barrier of ['sync', 'run'] as const) {
        const outcome = lane && (await atOnce(lane, acts, barrier))
        ends.push(...Object.values(outcome?.ends ?? {}))
      }
    }
    // The one that came second at the row that was held had the other's row already.
    expect(ends.filter((end) => end !== 'done').sort()).toEqual(['40P01', '40P01'])
  })
})

/** All of them take long: `npm test` has one a pair, in turn, and `npm run test:exhaustive` has all. */
function barriersFor([one, other]: readonly [string, string]): readonly Barrier[] {
  const all = Object.keys(BARRIERS) as Barrier[]
  const turn = (NAMES.indexOf(one) + NAMES.indexOf(other)) % all.length
  return inject('isExhaustive') ? all : all.slice(turn, turn + 1)
}

type Act = (database: Database, busy: BusySync) => Promise<string>

const toAct =
  (name: string): Act =>
  (database, busy) =>
    act(name, database, busy)

/** Locks two rows in this order. */
function inOrder(first: Barrier, second: Barrier): Act {
  return (database, busy) =>
    database
      .transaction('inOrder', async (tx) => {
        await BARRIERS[first](tx, busy)
        await BARRIERS[second](tx, busy)
      })
      .then(
        () => 'done',
        (error: unknown) => findUnavailable(error)?.code ?? 'another error',
      )
}

function isSame(a: Outcome, b: Outcome): boolean {
  return JSON.stringify([a.ends, a.state]) === JSON.stringify([b.ends, b.state])
}
