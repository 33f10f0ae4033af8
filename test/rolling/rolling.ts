/**
 * npm run test:rolling [-- --restarts N]: 20 restarts of three processes under load. Exits 1 when a record
 * was lost or doubled, an attempt was burnt, or a hand-over took 5 s.
 */
import { parseArgs } from 'node:util'
import { openDatabase } from '../../src/store/database.ts'
import { median, report } from '../bench/figures.ts'
import { buildPrograms } from '../support/programs.ts'
import { startPostgres, startRedis } from '../support/services.ts'
import { type RollingFigures, restartProcesses } from './restart-processes.ts'

const MAX_HAND_OVER_MS = 5_000

const { values } = parseArgs({ options: { restarts: { type: 'string', default: '20' } } })
const programs = await buildPrograms()
const [postgres, redis] = await Promise.all([
  startPostgres({ isOwn: true }),
  startRedis({ isOwn: true }),
])
try {
  const database = await openDatabase({
    at: { url: postgres.url },
    maxConnections: 2,
    applicationName: 'tajo-sync rolling',
  })
  const figures = await restartProcesses({
    databaseUrl: postgres.url,
    redisUrl: redis.url,
    database,
    restarts: Number(values.restarts),
    tell: (line) => process.stdout.write(`${line}\n`),
  })
  await database.close()
  process.exitCode = tellFigures(figures) ? 0 : 1
} finally {
  await Promise.all([postgres.stop(), redis.stop(), programs.remove()])
}

function tellFigures(figures: RollingFigures): boolean {
  const { handOversMs, restarts, runs, records } = figures
  const tell = (figure: string, value: number, unit: string, bound: object = {}) =>
    report({ bench: 'rolling', figure, value, unit, ...bound })
  const none = { atMost: 0 }
  const atMost = MAX_HAND_OVER_MS
  return [
    tell('restarts', restarts, 'restarts'),
    tell('runs', runs, 'runs'),
    tell('records', records, 'records'),
    tell('processes that did not end with 0', figures.badExits, 'restarts', none),
    tell('runs that did not succeed', figures.failedRuns, 'runs', none),
    tell('lost', figures.lost, 'records', none),
    tell('doubled', figures.doubled, 'records', none),
    tell('attempts burnt', figures.attemptsBurnt, 'attempts', none),
    tell('take-overs', figures.takeOvers, 'take-overs', none),
    tell('runs handed over', handOversMs.length, 'runs', { atLeast: 1 }),
    tell('hand-over, median', median(handOversMs), 'ms'),
    tell('hand-over, slowest', Math.max(...handOversMs), 'ms', { atMost }),
  ].every(Boolean)
}
