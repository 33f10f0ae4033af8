/** A process says in its log that its clock is wrong, whatever else it does. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { createSignal } from '../support/signal.ts'

describe('an app whose clock is wrong', () => {
  it('says so when it starts, and works', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tajo-clock-'))
    const logger = createRecordingLogger()
    const isTold = createSignal()
    const app = await startApp(readConfig({ DATA_DIR: directory, PORT: '0' }), {
      clock: { ...systemClock, now: () => new Date(Date.now() + 5_000) },
      logger: {
        ...logger,
        warn: (event, ...told) => {
          logger.warn(event, ...told)
          if (event === 'clock.differs') {
            isTold.reach()
          }
        },
      },
    })
    try {
      await isTold.reached
      const health = await fetch(`${app.address}/health`)
      expect(await health.json()).toMatchObject({ status: 'healthy' })
      expect(logger.count('clock.differs')).toBe(1)
    } finally {
      await app.stop()
      await rm(directory, { recursive: true, force: true })
    }
  }, 90_000)
})
