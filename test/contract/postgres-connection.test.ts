/** Connections to PostgreSQL, which the source and the destination share. */
import { describe, expect, it } from 'vitest'
import { createAddressGuard } from '../../src/connectors/address-guard.ts'
import type { ConnectorError } from '../../src/connectors/connector.ts'
import { connectGuarded } from '../../src/connectors/postgres-connection.ts'
import { createPostgresSource } from '../../src/connectors/sources/postgres/postgres-source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { postgresSource as source } from '../support/postgres-streams.ts'
import { usePostgresWorld } from '../support/postgres-world.ts'
import { LOCALHOST_CERTIFICATE, startTlsFront } from '../support/tls-front.ts'

const world = usePostgresWorld()

describe('a connection to PostgreSQL', () => {
  const test = (change: JsonObject, credentials: JsonObject = world().credentials) =>
    source.testConnection(
      world().connect({ config: { ...world().config, ...change }, credentials }),
    )

  it('is tested by a call, and says what is wrong', async () => {
    await expect(test({})).resolves.toBeUndefined()
    const told = async (...args: Parameters<typeof test>) =>
      await test(...args).then(
        () => null,
        (error: ConnectorError) => [error.code, error.message],
      )
    expect(await told({ port: 1 })).toEqual([
      'provider_unavailable',
      'The server is out of reach (ECONNREFUSED).',
    ])
    expect(await told({ database: 'nowhere' })).toEqual([
      'node_failed',
      'The server has no such database (3D000).',
    ])
    expect(await told({}, { user: 'nobody' })).toEqual([
      'connection_unauthorized',
      'The server refused the sign-in (28000).',
    ])
    expect(await told({ tls: 'VERIFY' })).toEqual([
      'node_failed',
      expect.stringContaining('does not speak TLS'),
    ])
    const reason = new Error('the run stops')
    const stopped = source.testConnection(world().connect({ signal: AbortSignal.abort(reason) }))
    await expect(stopped).rejects.toBe(reason)
  })

  it.each(['127.0.0.1', 'localhost', '2130706433'])(
    'is not made to %s unless the installation allows its network',
    async (host) => {
      const told = async (allowedRanges: readonly string[]) => {
        const connect = connectGuarded(createAddressGuard({ allowedRanges }))
        const guarded = createPostgresSource({ clock: systemClock, connect })
        return await guarded
          .testConnection(world().connect({ config: { ...world().config, host } }))
          .then(
            () => null,
            (error: ConnectorError) => [error.code, error.message],
          )
      }
      const refusal = `The host ${host} lies in a network that connections must not reach.`
      expect(await told([])).toEqual(['node_failed', expect.stringContaining(refusal)])
      expect(await told(['127.0.0.0/8', '::1/128'])).toBeNull()
    },
  )

  it('verifies the certificate of the server, unless it is told not to', async () => {
    const { hostname, port } = new URL(world().url)
    const target = { host: hostname, port: Number(port) }
    const front = await startTlsFront(target)
    const slipping = await startTlsFront(target, 'E')
    const at = { host: 'localhost', port: front.port }
    const trusted = { tls: 'VERIFY', caCertificate: LOCALHOST_CERTIFICATE }
    const wrong = (code: string) => ({
      code: 'node_failed',
      message: `No connection could be made to this host (${code}).`,
    })
    await expect(test({ ...at, ...trusted })).resolves.toBeUndefined()
    await expect(test({ ...at, tls: 'ENCRYPT' })).resolves.toBeUndefined()
    await expect(test({ ...at, tls: 'VERIFY' })).rejects.toMatchObject(
      wrong('DEPTH_ZERO_SELF_SIGNED_CERT'),
    )
    await expect(test({ ...at, ...trusted, host: '127.0.0.1' })).rejects.toMatchObject(
      wrong('ERR_TLS_CERT_ALTNAME_INVALID'),
    )
    await expect(test({ ...at, ...trusted, port: slipping.port })).rejects.toThrow(
      'The server does not speak TLS',
    )
    front.close()
    slipping.close()
  })

  it.each([
    [{ host: 'a,b' }, 'host must be'],
    [{ host: '/tmp' }, 'host must be'],
    [{ port: 0 }, 'port must be'],
    [{ database: '' }, 'database must be'],
    [{ tls: 'MAYBE' }, 'tls must be'],
    [{ caCertificate: 'x' }, 'caCertificate must be'],
    [
      { caCertificate: LOCALHOST_CERTIFICATE, tls: 'OFF' },
      'caCertificate must only be given with the tls mode VERIFY.',
    ],
    [{ password: 'x' }, 'Unknown field password'],
  ])('refuses %j with the name of the field', (change, reason) => {
    const parsed = source.connectionConfig.safeParse({ host: 'db', database: 'shop', ...change })
    expect(parsed.error?.issues.map(({ message }) => message)).toEqual([
      expect.stringContaining(reason),
    ])
  })
})
