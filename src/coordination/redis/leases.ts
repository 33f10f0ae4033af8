/**
 * Leases in Redis: one string a name, its value the holder's token, its life Redis' own expiry.
 *
 * Invariant: every change compares and sets in one script, so that between looking and changing nobody
 * else comes. Redis compares bytes; a token is never parsed here.
 */
import type { Redis, Result } from 'ioredis'
import type { Clock } from '../../runtime/clock.ts'
import type { Leases } from '../lease.ts'
import { runCommand } from './connection.ts'

declare module 'ioredis' {
  interface RedisCommander<Context> {
    tajoTakeLease(key: string, token: string, lifeMs: number): Result<string | null, Context>
    tajoReplaceLease(
      key: string,
      heldBy: string,
      token: string,
      lifeMs: number,
    ): Result<number, Context>
    tajoRenewLease(key: string, token: string, lifeMs: number): Result<number, Context>
    tajoReleaseLease(key: string, token: string): Result<number, Context>
  }
}

const KEY_PREFIX = 'tajo:lease:'

/** Nil: taken. Otherwise the token of who holds it. */
const TAKE = `
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] then
  return holder
end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return nil
`

/** One's own token is accepted too: the answer to a first try may have been lost. */
const REPLACE = `
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] and holder ~= ARGV[2] then
  return 0
end
redis.call('set', KEYS[1], ARGV[2], 'px', ARGV[3])
return 1
`

const RENEW = `
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0
`

const RELEASE = `
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
`

export function createRedisLeases(client: Redis, clock: Clock): Leases {
  client.defineCommand('tajoTakeLease', { numberOfKeys: 1, lua: TAKE })
  client.defineCommand('tajoReplaceLease', { numberOfKeys: 1, lua: REPLACE })
  client.defineCommand('tajoRenewLease', { numberOfKeys: 1, lua: RENEW })
  client.defineCommand('tajoReleaseLease', { numberOfKeys: 1, lua: RELEASE })
  const run = <T>(command: () => Promise<T>) => runCommand(client, clock, command)
  const key = (name: string) => `${KEY_PREFIX}${name}`
  return {
    take: async (name, token, lifeMs) => {
      const heldBy = await run(() => client.tajoTakeLease(key(name), token, lifeMs))
      return heldBy === null ? { kind: 'taken' } : { kind: 'held', heldBy }
    },
    replace: async (name, heldBy, token, lifeMs) =>
      (await run(() => client.tajoReplaceLease(key(name), heldBy, token, lifeMs))) === 1,
    renew: async (name, token, lifeMs) =>
      (await run(() => client.tajoRenewLease(key(name), token, lifeMs))) === 1,
    release: async (name, token) =>
      (await run(() => client.tajoReleaseLease(key(name), token))) === 1,
    findHolder: (name) => run(() => client.get(key(name))),
  }
}
