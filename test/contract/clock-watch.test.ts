/** What the log says of a process whose clock is wrong. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CLOCK_NOTICE_INTERVAL_MS } from '../../src/domain/clock-difference.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { ClockWatch } from '../../src/watch/clock-watch.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createRecordingLogger, type RecordingLogger } from '../support/recording-logger.ts'

/** So far may the clocks of one machine seem apart, where it is slow. */
const NEAR_MS = 400

describe.each(DATABASE_KINDS)('the clock of a process on %s', (kind) => {
  const database = useDatabase(kind)
  let logger: RecordingLogger
  let offMs: number
  let passedMs: number
  /** Between one look at the monotonic clock and the next, such as the question and its answer. */
  let slowMs: number
  let watch: ClockWatch

  beforeEach(() => {
    logger = createRecordingLogger()
    offMs = 0
    passedMs = 0
    slowMs = 0
    watch = new ClockWatch({
      database: database(),
      logger,
      clock: {
        ...systemClock,
        now: () => new Date(Date.now() + offMs),
        monotonicMs: () => {
          passedMs += slowMs
          return performance.now() + passedMs
        },
      },
    })
  })
  afterEach(() => watch.stop())

  const told = () =>
    logger.events.map(({ level, event, bindings }) => [level, event, bindings['differenceMs']])
  const about = (ms: number) => expect.toSatisfy((value: number) => Math.abs(value - ms) < NEAR_MS)
  const lookAt = async (differenceMs: number) => {
    offMs = differenceMs
    await watch.runOnce()
  }

  it('is not worth a word while it is off by less than a second', async () => {
    await lookAt(0)
    await lookAt(500)
    await lookAt(-500)
    expect(told()).toEqual([])
  })

  it.each([1_500, -1_500, 3_600_000])(
    'is told of when it is off by %i ms',
    async (differenceMs) => {
      await lookAt(differenceMs)
      expect(told()).toEqual([['warn', 'clock.differs', about(differenceMs)]])
    },
  )

  it('is told of once an hour as long as it stays off, and when it jumps', async () => {
    for (let look = 0; look < 5; look += 1) {
      await lookAt(5_000)
    }
    expect(told()).toHaveLength(1)
    passedMs += CLOCK_NOTICE_INTERVAL_MS
    await lookAt(5_000)
    await lookAt(5_000)
    expect(told()).toHaveLength(2)
    await lookAt(6_000)
    expect(told()).toHaveLength(2)
    await lookAt(60_000)
    expect(told().slice(2)).toEqual([['warn', 'clock.differs', about(60_000)]])
  })

  it('is told of when it is right again, and when it is off once more', async () => {
    await lookAt(5_000)
    await lookAt(0)
    await lookAt(0)
    await lookAt(-5_000)
    expect(told()).toEqual([
      ['warn', 'clock.differs', about(5_000)],
      ['info', 'clock.agrees', about(0)],
      ['warn', 'clock.differs', about(-5_000)],
    ])
  })

  it('is not blamed for a database that takes its time to answer', async () => {
    slowMs = 8_000
    await lookAt(3_000)
    expect(told()).toEqual([])
    await lookAt(20_000)
    expect(told()).toEqual([['warn', 'clock.differs', about(16_000)]])
  })
})
