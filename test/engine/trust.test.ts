/**
 * How long a worker may trust itself (I1): its trust ends by its own clock, before anybody takes its run
 * over, and once it has ended it does not come back, whatever is acknowledged later.
 */
import type { SQL } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createMemoryLeases } from '../../src/coordination/memory/leases.ts'
import { leaseName } from '../../src/domain/lease.ts'
import { AttemptStop } from '../../src/engine/attempt-stop.ts'
import { Heartbeat } from '../../src/engine/heartbeat.ts'
import { LeaseKeeper, type LeaseKeeperOptions } from '../../src/engine/lease-keeper.ts'
import type { Database, Row } from '../../src/store/database.ts'
import { DATABASE_KINDS, ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { hurriedClock, notesOf } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { createHandClock, type HandClock } from '../support/hand-clock.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { createScriptedSource, scriptedRow } from '../support/scripted-source.ts'
import { createSignal, type Signal } from '../support/signal.ts'
import { nameOf } from '../support/statement-name.ts'
import { newId } from '../support/store-seed.ts'

const [KIND = 'embedded'] = DATABASE_KINDS
const BEAT_MS = 5_000
const BEAT_TRUST_MS = 15_000
const LEASE_LIFE_MS = 900_000
const RENEWAL_MS = 300_000

/** A way to a database on which beats can be held up, as on a network that loses some packets. */
function createBeatGate(database: Database) {
  let gate: Signal | null = null
  let isHeld = createSignal()
  let beats = 0
  let acknowledged: { readonly after: number; readonly signal: Signal }[] = []
  const gated: Database = {
    ...database,
    rows: async <R extends Row>(statement: SQL) => {
      if (nameOf(statement) !== 'workers.beat') {
        return await database.rows<R>(statement)
      }
      if (gate) {
        isHeld.reach()
        await gate.reached
      }
      const rows = await database.rows<R>(statement)
      beats += 1
      for (const { signal } of acknowledged.filter(({ after }) => beats > after)) {
        signal.reach()
      }
      acknowledged = acknowledged.filter(({ after }) => beats <= after)
      return rows
    },
  }
  return {
    database: gated,
    close: () => {
      gate = createSignal()
      isHeld = createSignal()
    },
    /** Resolves when a beat waits at the closed gate. */
    held: () => isHeld.reached,
    open: () => {
      gate?.reach()
      gate = null
    },
    /** Resolves when so many beats more have been acknowledged. */
    beats: (count: number) => {
      const signal = createSignal()
      acknowledged.push({ after: beats + count - 1, signal })
      return signal.reached
    },
  }
}

describe.each(ENGINE_DATABASE_KINDS)(
  'a worker that was taken over while it stood still, on %s,',
  (kind) => {
    const database = useDatabase(kind)
    let destination: RecordingDestination
    let harness: EngineHarness

    beforeEach(async () => {
      const source = createScriptedSource()
      for (const [rank, note] of ['old', 'new'].entries()) {
        source.put({ ...scriptedRow(`row${rank}`, rank), fields: { email: 'x', note } })
      }
      destination = await startRecordingDestination({ honoursKeys: false })
      harness = createEngineHarness({ database: database(), source, destination })
    })
    afterEach(async () => {
      await harness.close()
      await destination.close()
    })

    it.each([
      ['before its next beat', 0],
      ['after its next beat was acknowledged', 1],
      ['after several', 3],
    ])('sends nothing when it wakes %s', async (_, beats) => {
      const [isAsleep, mayWake, isOver] = [createSignal(), createSignal(), createSignal()]
      const gate = createBeatGate(database())
      let reserved = 0
      const asleep = await harness.startEngine({
        database: gate.database,
        engine: { ...QUICK, slots: 1 },
        faults: async (point) => {
          if (point === 'afterReserve' && ++reserved === 1) {
            isAsleep.reach()
            await mayWake.reached
          } else if (point === 'beforeFinish') {
            isOver.reach()
          }
        },
      })
      const objectOptions = { path: 'PAGE', identityField: 'email', requestDeadlineMs: 1_000 }
      const sync = await harness.seedSync({ pageSize: 1, objectOptions })
      const runId = await harness.enqueue(sync)
      await isAsleep.reached
      gate.close()
      await harness.startEngine({ clock: hurriedClock, engine: QUICK })
      expect((await harness.waitForEnd(runId)).status).toBe('succeeded')
      expect(notesOf(destination, 'x')).toEqual(['old', 'new'])
      const requests = destination.requests.length

      if (beats > 0) {
        const acknowledged = gate.beats(beats)
        gate.open()
        await acknowledged
      }
      mayWake.reach()
      await isOver.reached
      gate.open()
      await asleep.stop()
      expect(destination.requests).toHaveLength(requests)
      expect(notesOf(destination, 'x')).toEqual(['old', 'new'])
      expect(harness.logger.count('run.lost')).toBe(1)
    })
  },
)

/** Beats and silences that a test can wait for. */
const QUICK = {
  slots: 4,
  pollMs: 50,
  beatMs: 50,
  silentAfterMs: 1_000,
  schedulerMs: 100,
  drainDeadlineMs: 15_000,
}

describe('a heartbeat', () => {
  const database = useDatabase(KIND)
  let clock: HandClock
  let gate: ReturnType<typeof createBeatGate>
  let heartbeat: Heartbeat

  beforeEach(async () => {
    clock = createHandClock()
    gate = createBeatGate(database())
    heartbeat = new Heartbeat({
      database: gate.database,
      clock,
      logger: createRecordingLogger(),
      sealer: { keyId: 'key' },
      workerId: newId(),
      host: 'test',
      pid: 1,
      intervalMs: BEAT_MS,
      trustMs: BEAT_TRUST_MS,
    })
    await heartbeat.start()
    await clock.asleep()
  })
  afterEach(async () => {
    gate.open()
    await heartbeat.stop()
  })

  it('is trusted from when it was sent, not from when it was acknowledged', async () => {
    gate.close()
    clock.advance(BEAT_MS)
    await gate.held()
    clock.advance(3_000)
    expect(heartbeat.lastAcknowledgedSentAtMs).toBe(0)
    gate.open()
    await clock.asleep()
    expect(heartbeat.lastAcknowledgedSentAtMs).toBe(BEAT_MS)
    expect(heartbeat.gaps).toBe(0)
  })

  it.each([
    [BEAT_TRUST_MS - 1, 0],
    [BEAT_TRUST_MS, 1],
    [BEAT_TRUST_MS * 10, 1],
  ])('that is acknowledged %i ms after the last one was sent leaves %i gaps', async (at, gaps) => {
    gate.close()
    clock.advance(BEAT_MS)
    await gate.held()
    clock.advance(at - BEAT_MS)
    gate.open()
    await clock.asleep()
    expect(heartbeat.gaps).toBe(gaps)
  })

  it('that is acknowledged in time mends no gap, and makes none', async () => {
    gate.close()
    clock.advance(BEAT_TRUST_MS)
    await gate.held()
    gate.open()
    await clock.asleep()
    expect(heartbeat.gaps).toBe(1)
    for (let n = 0; n < 5; n += 1) {
      clock.advance(BEAT_MS)
      await clock.asleep()
    }
    expect(heartbeat.gaps).toBe(1)
  })
})

describe('trust in a lease', () => {
  let clock: HandClock
  let leases: ReturnType<typeof createMemoryLeases>
  let beatSentAtMs: number
  let gaps: number
  let keeper: LeaseKeeper | null

  beforeEach(() => {
    clock = createHandClock()
    leases = createMemoryLeases(clock)
    beatSentAtMs = 0
    gaps = 0
    keeper = null
  })
  afterEach(() => keeper?.release())

  const syncId = newId()
  const take = async (given: Partial<LeaseKeeperOptions> = {}) => {
    keeper = new LeaseKeeper({
      leases,
      clock,
      logger: createRecordingLogger(),
      syncId,
      token: { epoch: 1, runId: newId() },
      lifeMs: LEASE_LIFE_MS,
      renewalMs: RENEWAL_MS,
      beatTrustMs: BEAT_TRUST_MS,
      beatSentAtMs: () => beatSentAtMs,
      beatGaps: () => gaps,
      ...given,
    })
    await keeper.take()
    await clock.asleep()
    return keeper
  }
  /** The time passes while the worker beats. */
  const advance = (ms: number) => {
    clock.advance(ms)
    beatSentAtMs = clock.monotonicMs()
  }
  const expectLost = (given: LeaseKeeper) => expect(() => given.assertTrusted()).toThrow(LEASE_LOST)

  it('ends to the millisecond when the last beat is no longer trusted, and does not come back with the next', async () => {
    const lease = await take()
    clock.advance(BEAT_TRUST_MS - 1)
    lease.assertTrusted()
    clock.advance(1)
    expectLost(lease)
    beatSentAtMs = clock.monotonicMs()
    expectLost(lease)
  })

  it('does not come back either where nobody asked while it had ended', async () => {
    const lease = await take()
    advance(BEAT_TRUST_MS)
    gaps += 1
    expectLost(lease)
    advance(BEAT_MS)
    expectLost(lease)
  })

  it('counts only the gaps since it was begun', async () => {
    gaps = 3
    const lease = await take()
    lease.assertTrusted()
  })

  it('lasts as long as beats and renewals come in time', async () => {
    const lease = await take()
    for (let n = 0; n < 9; n += 1) {
      advance(RENEWAL_MS)
      await clock.asleep()
      lease.assertTrusted()
    }
    await lease.verify()
  })

  it('ends with the lease when no renewal succeeds', async () => {
    const lease = await take({ renewalMs: LEASE_LIFE_MS * 2 })
    advance(LEASE_LIFE_MS - 1)
    lease.assertTrusted()
    advance(1)
    expectLost(lease)
  })

  it.each([
    [LEASE_LIFE_MS - 1, 'is'],
    [LEASE_LIFE_MS, 'is not'],
  ])(
    'after a renewal that was answered %i ms after the last one %s there',
    async (answeredAtMs, is) => {
      const [isSent, mayAnswer] = [createSignal(), createSignal()]
      let renewals = 0
      const slow = {
        ...leases,
        renew: async (name: string, token: string, lifeMs: number) => {
          const isRenewed = await leases.renew(name, token, lifeMs)
          renewals += 1
          if (renewals > 1) {
            isSent.reach()
            await mayAnswer.reached
          }
          return isRenewed
        },
      }
      const lease = await take({ leases: slow })
      advance(RENEWAL_MS)
      await isSent.reached
      advance(answeredAtMs - RENEWAL_MS)
      mayAnswer.reach()
      await clock.asleep()
      if (is === 'is') {
        lease.assertTrusted()
      } else {
        expectLost(lease)
      }
    },
  )

  it.each(['gone', 'held by another'])(
    'is lost for good when a renewal finds it %s',
    async (how) => {
      const lease = await take()
      const name = leaseName(syncId)
      const ours = (await leases.findHolder(name)) ?? ''
      await leases.release(name, ours)
      if (how === 'held by another') {
        await leases.take(name, 'another', LEASE_LIFE_MS)
      }
      advance(RENEWAL_MS)
      await clock.asleep()
      expectLost(lease)
      await leases.release(name, 'another')
      await leases.take(name, ours, LEASE_LIFE_MS)
      advance(RENEWAL_MS)
      await clock.asleep()
      expectLost(lease)
      await expect(lease.verify()).rejects.toThrow(LEASE_LOST)
    },
  )

  it('is lost for good when Redis names another holder', async () => {
    const lease = await take()
    const name = leaseName(syncId)
    const ours = (await leases.findHolder(name)) ?? ''
    await leases.replace(name, ours, 'another', LEASE_LIFE_MS)
    lease.assertTrusted()
    await expect(lease.verify()).rejects.toThrow(LEASE_LOST)
    await leases.replace(name, 'another', ours, LEASE_LIFE_MS)
    expectLost(lease)
  })
})

const LEASE_LOST = expect.objectContaining({
  constructor: AttemptStop,
  message: 'lease_lost',
})
