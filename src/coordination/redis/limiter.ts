/**
 * The limiter of all processes together: a hash in Redis for each bucket and each host.
 *
 * Invariants: looking and taking is one script, so that between the two nobody else comes; time is Redis' own,
 * so that the clocks of the processes do not matter; who is refused changes nothing; a key that means nothing any
 * more expires by itself, and one that is not there is a full bucket or a host that lives.
 *
 * Of a bucket: `level` tokens `at` a moment, and `blocked` until one. Of a host: `dead` calls in a row, the next one that
 * is let through at `probe`. Moments are milliseconds of Redis' clock.
 */
import type { Redis, Result } from 'ioredis'
import { assert, unreachable } from '../../runtime/assert.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import {
  CIRCUIT_LIFE_MS,
  DEAD_CALLS_IN_A_ROW,
  type LimitedBucket,
  type Limiter,
  MAX_BLOCK_MS,
  type Passage,
  PROBE_INTERVAL_MS,
} from '../limiter.ts'
import { createMemoryLimiter } from '../memory/limiter.ts'
import { createCountWithRedis } from './apart.ts'

declare module 'ioredis' {
  interface RedisCommander<Context> {
    tajoPass(keyCount: number, ...rest: (string | number)[]): Result<PassReply, Context>
    tajoLowerBucket(
      ...args: [key: string, capacity: number, perS: number, available: number]
    ): Result<unknown, Context>
    tajoBlockBucket(key: string, forMs: number): Result<unknown, Context>
    tajoNoteDead(
      ...args: [key: string, inARow: number, probeMs: number, lifeMs: number]
    ): Result<unknown, Context>
  }
}

/** What holds the call up (none: it goes on), milliseconds to wait, dead calls in a row. */
type PassReply = [
  held: Extract<Passage, { kind: 'wait' }>['held'] | 'none',
  waitMs: number,
  dead: number,
]

const BUCKET_PREFIX = 'tajo:bucket:'
const HOST_PREFIX = 'tajo:host:'
/** A call waits for Redis no longer; beside a call to another system this is little. */
const COUNT_DEADLINE_MS = 1_000
/** Keys outlive by it what they say, so that none is gone a moment early. */
const SPARE_MS = 1_000

/**
 * Numbers are kept with `%.17g`: what Lua makes of them otherwise has 14 digits, which is less than a moment needs.
 * A clock that was set back would stop the refill, or the next call to a dead host, until it has caught up: so no moment
 * is further ahead than it can be.
 */
const SHARED = `
local time = redis.call('time')
local now = time[1] * 1000 + time[2] / 1000
local function text(number)
  return string.format('%.17g', number)
end
local function keep(key, ms)
  ms = math.ceil(ms) + ${SPARE_MS}
  if redis.call('pttl', key) < ms then
    redis.call('pexpire', key, ms)
  end
end
local function read(key, capacity, perS)
  local kept = redis.call('hmget', key, 'level', 'at', 'blocked')
  local level = capacity
  if kept[1] then
    local at = tonumber(kept[2])
    if at > now then
      at = now
      redis.call('hset', key, 'at', text(now))
    end
    level = math.min(capacity, tonumber(kept[1]) + (now - at) * perS / 1000)
  end
  return level, tonumber(kept[3] or '0') - now
end
local function write(key, capacity, perS, level)
  redis.call('hset', key, 'level', text(level), 'at', text(now))
  keep(key, (capacity - level) * 1000 / perS)
end
`

/**
 * KEYS: the host, then a bucket a toll. ARGV: dead calls in a row that open a circuit, time between two probes, life of a
 * circuit; then capacity, refill a second and tokens of each toll.
 */
const PASS = `${SHARED}
local held, wait = 'none', 0
local circuit = redis.call('hmget', KEYS[1], 'dead', 'probe')
local dead = tonumber(circuit[1] or '0')
local isOpen = dead >= tonumber(ARGV[1])
if isOpen then
  local ms = tonumber(circuit[2] or '0') - now
  if ms > tonumber(ARGV[2]) then
    ms = tonumber(ARGV[2])
    redis.call('hset', KEYS[1], 'probe', text(now + ms))
  end
  if ms > wait then
    held, wait = 'dead', ms
  end
end
local levels = {}
for toll = 1, #KEYS - 1 do
  local capacity, perS = tonumber(ARGV[3 * toll + 1]), tonumber(ARGV[3 * toll + 2])
  local tokens = math.min(tonumber(ARGV[3 * toll + 3]), capacity)
  local level, blocked = read(KEYS[toll + 1], capacity, perS)
  levels[toll] = level - tokens
  if blocked > wait then
    held, wait = 'blocked', blocked
  end
  local short = (tokens - level) * 1000 / perS
  if blocked <= 0 and short > wait then
    held, wait = 'short', short
  end
end
if held ~= 'none' then
  return { held, math.max(1, math.ceil(wait)), dead }
end
for toll = 1, #KEYS - 1 do
  if tonumber(ARGV[3 * toll + 3]) > 0 then
    write(KEYS[toll + 1], tonumber(ARGV[3 * toll + 1]), tonumber(ARGV[3 * toll + 2]), levels[toll])
  end
end
if isOpen then
  redis.call('hset', KEYS[1], 'probe', text(now + tonumber(ARGV[2])))
  redis.call('pexpire', KEYS[1], ARGV[3])
end
return { held, 0, dead }
`

const LOWER = `${SHARED}
local capacity, perS = tonumber(ARGV[1]), tonumber(ARGV[2])
local available = math.max(0, tonumber(ARGV[3]))
local level = read(KEYS[1], capacity, perS)
if available < level then
  write(KEYS[1], capacity, perS, available)
end
`

const BLOCK = `${SHARED}
local untilMs = now + tonumber(ARGV[1])
if untilMs > tonumber(redis.call('hget', KEYS[1], 'blocked') or '0') then
  redis.call('hset', KEYS[1], 'blocked', text(untilMs))
  keep(KEYS[1], tonumber(ARGV[1]))
end
`

const NOTE_DEAD = `${SHARED}
if redis.call('hincrby', KEYS[1], 'dead', 1) == tonumber(ARGV[1]) then
  redis.call('hset', KEYS[1], 'probe', text(now + tonumber(ARGV[2])))
end
redis.call('pexpire', KEYS[1], ARGV[3])
`

export function createRedisLimiter(
  client: Redis,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Limiter {
  client.defineCommand('tajoPass', { lua: PASS })
  client.defineCommand('tajoLowerBucket', { numberOfKeys: 1, lua: LOWER })
  client.defineCommand('tajoBlockBucket', { numberOfKeys: 1, lua: BLOCK })
  client.defineCommand('tajoNoteDead', { numberOfKeys: 1, lua: NOTE_DEAD })
  const own = createMemoryLimiter(clock)
  const count = createCountWithRedis({
    ...{ client, clock, logger, event: 'limiter.apart', deadlineMs: COUNT_DEADLINE_MS },
  })
  return {
    pass: (host, tolls) => {
      const keys = [HOST_PREFIX + host, ...tolls.map(({ bucket }) => keyOf(bucket))]
      const costs = tolls.flatMap(({ bucket, tokens }) => [
        bucket.capacity,
        bucket.refillPerSecond,
        tokens,
      ])
      const circuit = [DEAD_CALLS_IN_A_ROW, PROBE_INTERVAL_MS, CIRCUIT_LIFE_MS]
      return count(
        async () => toPassage(await client.tajoPass(keys.length, ...keys, ...circuit, ...costs)),
        () => own.pass(host, tolls),
      )
    },
    lower: (bucket, available) => {
      const { capacity, refillPerSecond } = bucket
      const args = [keyOf(bucket), capacity, refillPerSecond, available] as const
      return count(
        () => client.tajoLowerBucket(...args).then(() => undefined),
        () => own.lower(bucket, available),
      )
    },
    block: (bucket, forMs) => {
      const args = [keyOf(bucket), Math.min(forMs, MAX_BLOCK_MS)] as const
      return count(
        () => client.tajoBlockBucket(...args).then(() => undefined),
        () => own.block(bucket, forMs),
      )
    },
    note: (host, went) => {
      const key = HOST_PREFIX + host
      const noted = () =>
        went === 'answered'
          ? client.del(key)
          : client.tajoNoteDead(key, DEAD_CALLS_IN_A_ROW, PROBE_INTERVAL_MS, CIRCUIT_LIFE_MS)
      return count(
        () => noted().then(() => undefined),
        () => own.note(host, went),
      )
    },
  }
}

function toPassage([held, waitMs, dead]: PassReply): Passage {
  switch (held) {
    case 'none':
      return { kind: 'go', isSuspect: dead > 0 }
    case 'dead':
    case 'blocked':
    case 'short':
      return { kind: 'wait', waitMs, held }
    default:
      return unreachable(held)
  }
}

function keyOf({ key, capacity, refillPerSecond }: LimitedBucket): string {
  assert(capacity > 0 && refillPerSecond > 0, 'A bucket holds something and is filled again.')
  return BUCKET_PREFIX + key
}
