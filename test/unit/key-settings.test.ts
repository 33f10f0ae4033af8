/** The keys of the environment: one seals, the others only open. */
import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../../src/config.ts'

const [key, other, third] = [5, 6, 7].map((byte) => Buffer.alloc(32, byte).toString('base64'))
const SERVICES = {
  DATABASE_URL: 'postgres://localhost/tajo',
  REDIS_URL: 'redis://localhost',
  CREDENTIALS_KEY: key,
}
const keysOf = (text: string | undefined) =>
  readConfig({ ...SERVICES, CREDENTIALS_OLD_KEYS: text }).oldCredentialsKeys.map((each) =>
    Buffer.from(each).toString('base64'),
  )

describe('CREDENTIALS_OLD_KEYS', () => {
  it('names any number of keys', () => {
    expect(keysOf(undefined)).toEqual([])
    expect(keysOf(`${other}`)).toEqual([other])
    expect(keysOf(` ${other}, ${third},`)).toEqual([other, third])
  })

  it.each(['nonsense', `${other},${key?.slice(8)}`])(
    'that is not made of keys is told of with all other problems: %s',
    (text) => {
      const read = () =>
        readConfig({ ...SERVICES, CREDENTIALS_KEY: 'short', CREDENTIALS_OLD_KEYS: text })
      expect(read).toThrow(ConfigError)
      expect(read).toThrow(
        /CREDENTIALS_KEY must be .+ CREDENTIALS_OLD_KEYS must be keys of 32 bytes/,
      )
    },
  )
})
