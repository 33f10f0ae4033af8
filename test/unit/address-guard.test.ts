/** Which addresses a connection may reach, and that no second answer of a resolver takes the place of the one checked. */
import type { lookup as resolveName } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../../src/config.ts'
import { createAddressGuard, RefusedAddressError } from '../../src/connectors/address-guard.ts'
import { createHttpClient } from '../../src/connectors/http-client.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { startRecordingDestination } from '../support/recording-destination.ts'

const PUBLIC = [
  '93.184.215.14',
  '1.1.1.1',
  '100.128.0.1',
  '172.32.0.1',
  '2606:4700::1111',
  '64:ff9b::8.8.8.8',
]

const REFUSED = {
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  unspecified: ['0.0.0.0', '0.1.2.3', '::'],
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  'shared by a provider': ['100.64.0.1', '100.127.255.255'],
  'link-local, with the metadata of clouds': ['169.254.169.254', 'fe80::1', 'fe80::1%eth0'],
  'unique local': ['fd00:ec2::254', 'fc00::1'],
  multicast: ['224.0.0.1', '239.1.1.1', 'ff02::1'],
  'reserved or broadcast': ['240.0.0.1', '255.255.255.255', '192.0.0.1', '198.18.0.1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  'IPv4 in IPv6, mapped': [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:a9fe:a9fe',
    '::ffff:8.8.8.8',
  ],
  'IPv4 in IPv6, compatible or translated': ['::127.0.0.1', '::ffff:0:127.0.0.1'],
  'private IPv4 behind a NAT64': ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::a00:1'],
  'IPv4 in a tunnel': ['2002:7f00:1::', '2002:a9fe:a9fe::1', '2001:0:4136:e378::1'],
  'of no network': ['100::1', 'fec0::1', '4000::1', '::2'],
}

/** As URLs write them down, after which none of them is anything but an address. */
const DISGUISED = [
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0177.0.0.1/',
  'http://127.0.0.1./',
  'http://①②⑦.0.0.1/',
  'http://0/',
  'http://[::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[0:0:0:0:0:ffff:a9fe:a9fe]/',
  'http://2852039166/latest/meta-data',
]

const closed = createAddressGuard({ allowedRanges: [] })

describe('the guard of addresses', () => {
  it.each(PUBLIC)('lets %s pass', async (address) => {
    expect(closed.describeRefusedHost(address)).toBeNull()
    expect(await lookUp(resolvingTo(address), { all: true })).toEqual([
      expect.objectContaining({ address }),
    ])
  })

  it.each(Object.entries(REFUSED))('refuses what is %s', async (_, addresses) => {
    for (const address of addresses) {
      expect(closed.describeRefusedHost(address), address).not.toBeNull()
      await expect(lookUp(resolvingTo(address), {}), address).rejects.toThrow(RefusedAddressError)
    }
  })

  it.each(DISGUISED)('sees through %s', (url) => {
    expect(closed.describeRefusedHost(new URL(url).hostname)).not.toBeNull()
  })

  it('refuses a name as soon as one of its addresses is', async () => {
    await expect(lookUp(resolvingTo('1.1.1.1', '10.0.0.1'), { all: true })).rejects.toThrow(
      RefusedAddressError,
    )
    await expect(lookUp(resolvingTo('1.1.1.1', '10.0.0.1'), {})).rejects.toThrow(
      RefusedAddressError,
    )
  })

  it('lets pass what the configuration allows, and nothing beside it', () => {
    const guard = createAddressGuard({ allowedRanges: ['10.1.0.0/16', 'fd12::/32'] })
    expect(guard.describeRefusedHost('10.1.255.255')).toBeNull()
    expect(guard.describeRefusedHost('[fd12::1]')).toBeNull()
    expect(guard.describeRefusedHost('10.2.0.0')).not.toBeNull()
    expect(guard.describeRefusedHost('[fd13::1]')).not.toBeNull()
    expect(guard.describeRefusedHost('127.0.0.1')).not.toBeNull()
  })

  it('answers as the look-up of the system does, in both of its forms', async () => {
    const guard = resolvingTo('1.1.1.1', '2606:4700::1111')
    expect(await lookUp(guard, {})).toBe('1.1.1.1')
    expect(await lookUp(guard, { all: true })).toEqual([
      { address: '1.1.1.1', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ])
  })

  it('names the host and what can be done, and not what the name resolves to', async () => {
    const refusal = await lookUp(resolvingTo('10.9.8.7'), {}).catch((error: unknown) => error)
    expect(refusal).toMatchObject({
      message:
        'The host crm.example.com lies in a network that connections must not reach. Name one on the internet, or have whoever runs this installation allow its network (ALLOWED_PRIVATE_RANGES).',
    })
  })
})

describe('the HTTP client behind the guard', () => {
  it.each(['localhost', '127.0.0.1', '2130706433', '[::ffff:127.0.0.1]'])(
    'makes no connection to %s',
    async (host) => {
      const standIn = await startRecordingDestination()
      const client = createHttpClient({ clock: systemClock, guard: closed })
      const url = new URL(standIn.url)
      url.hostname = host
      const result = await client.send(request(url))
      expect(result).toEqual({
        kind: 'not_sent',
        isMisdirected: true,
        reason: expect.stringMatching(/^The host \S+ lies in a network .+ALLOWED_PRIVATE_RANGES/),
      })
      expect(standIn.connections()).toBe(0)
      client.close()
      await standIn.close()
    },
  )

  it.each([true, false])(
    'connects to the address that was checked, whatever the name resolves to a moment later (kept alive: %s)',
    async (reusesConnections) => {
      const standIn = await startRecordingDestination()
      let asked = 0
      // Good at the first question, and from then on the one that an attacker means.
      const resolve = answering(() => {
        asked += 1
        return asked === 1 ? ['127.0.0.1'] : ['127.0.0.2']
      })
      const guard = createAddressGuard({ allowedRanges: ['127.0.0.1/32'], resolve })
      const client = createHttpClient({ clock: systemClock, guard })
      const url = new URL(standIn.url.replace('127.0.0.1', 'rebound.example.com'))
      expect(await client.send(request(url, reusesConnections))).toMatchObject({ kind: 'response' })
      expect(asked).toBe(1)
      const second = await client.send(request(url, reusesConnections))
      // Kept alive, the connection is the one that was checked; a new one is checked anew.
      expect(second).toMatchObject(reusesConnections ? { kind: 'response' } : { kind: 'not_sent' })
      expect(standIn.connections()).toBe(1)
      client.close()
      await standIn.close()
    },
  )
})

describe('ALLOWED_PRIVATE_RANGES', () => {
  it('is empty where nothing is set, also embedded', () => {
    expect(readConfig({}).allowedPrivateRanges).toEqual([])
  })

  it('is a list', () => {
    const { allowedPrivateRanges } = readConfig({ ALLOWED_PRIVATE_RANGES: '10.1.0.0/16, fd00::/8' })
    expect(allowedPrivateRanges).toEqual(['10.1.0.0/16', 'fd00::/8'])
  })

  it.each([
    '10.0.0.0',
    '10.0.0.0/33',
    'fd00::/129',
    'localhost/8',
    '10.0.0.0/8,',
    '10.0.0/8',
    'fe80::1%1/64',
  ])('must not be %s, which is told with every other problem', (given) => {
    const problems = problemsOf({ ALLOWED_PRIVATE_RANGES: given, PORT: 'eighty' })
    expect(problems).toHaveLength(2)
    expect(problems).toContain(
      'ALLOWED_PRIVATE_RANGES: must be ranges of addresses such as 10.1.0.0/16 or fd00::/8 with commas between them.',
    )
  })
})

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    return error instanceof ConfigError ? error.problems : [String(error)]
  }
}

function answering(addresses: () => readonly string[]): typeof resolveName {
  return ((_: string, __: object, callback: (error: null, found: object[]) => void) =>
    callback(
      null,
      addresses().map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )) as unknown as typeof resolveName
}

function resolvingTo(...addresses: string[]) {
  return createAddressGuard({ allowedRanges: [], resolve: answering(() => addresses) })
}

function lookUp(guard: { readonly lookup: LookupFunction }, options: { readonly all?: boolean }) {
  return new Promise((resolve, reject) => {
    guard.lookup('crm.example.com', options, (error, found) =>
      error ? reject(error) : resolve(found),
    )
  })
}

function request(url: URL, reusesConnections = true) {
  return {
    method: 'GET' as const,
    url,
    headers: {},
    body: '',
    deadlineMs: 5_000,
    signal: new AbortController().signal,
    reusesConnections,
    beforeSend: () => undefined,
  }
}
