/**
 * Keeps connectors out of networks that are none of their business: addresses come from users, and this process
 * stands where it can reach more than they can.
 *
 * Invariants: only what lies in the public internet, or in a range that the configuration allows, is connected
 * to. A name is checked in the very look-up that connects, every address of it, so that no second answer can
 * take its place; an address needs no look-up and is checked by itself. Nobody is told what a name resolves to.
 * Addresses are read by node:net alone: what it connects to and what is checked cannot be two things.
 */
import { type LookupAddress, lookup as resolveName } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { WordedError } from '../runtime/worded-error.ts'

export interface AddressGuard {
  /**
   * In the place of the system's look-up, in the options of net.connect, tls.connect or an agent. Fails with
   * {@link RefusedAddressError}. It is not asked where the host is an address: see below.
   */
  readonly lookup: LookupFunction
  /** Why the host, where it is an address itself, may not be connected to, as a sentence; null: it may, or it is a name. */
  describeRefusedHost(host: string): string | null
}

export interface AddressGuardOptions {
  /** Ranges that may be connected to although they are not public, such as `10.1.0.0/16`. */
  readonly allowedRanges: readonly string[]
  /** Default: the system's. */
  readonly resolve?: typeof resolveName
}

/** The name resolves to an address that may not be connected to. */
export class RefusedAddressError extends WordedError {
  override readonly name = 'RefusedAddressError'
  readonly code = 'ERR_REFUSED_ADDRESS'
}

/** IPv4 that is not somebody's on the internet, as the IANA's registry of special addresses has it. */
const SPECIAL_V4 = [
  '0.0.0.0/8', // this host
  '10.0.0.0/8', // private
  '100.64.0.0/10', // between a provider and its customers (CGNAT)
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, and the metadata of clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocols
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // relays of 6to4
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
]

/**
 * All that is public of IPv6. Loopback, unspecified, mapped and translated IPv4, link-local, unique local and
 * multicast lie outside.
 */
const GLOBAL_V6 = '2000::/3'
/** What a NAT64 makes of an IPv4 address, which stands in its last 32 bits: as public as that one. */
const NAT64 = '64:ff9b::'
const NAT64_BITS = 96

/** Within the global ones: tunnels that carry an IPv4 address, which may be any, and what is nobody's. */
const SPECIAL_V6 = [
  '2001::/23', // protocols, Teredo, benchmarks, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
]

export function createAddressGuard(options: AddressGuardOptions): AddressGuard {
  const allowed = listOf(options.allowedRanges)
  const resolve = options.resolve ?? resolveName
  const isRefused = (address: string): boolean => {
    const isV6 = isIP(address) === 6
    const family = isV6 ? 'ipv6' : 'ipv4'
    if (allowed.check(address, family)) {
      return false
    }
    return SPECIAL.check(address, family) || (isV6 && !GLOBAL.check(address, family))
  }
  return {
    describeRefusedHost: (host) => {
      const address = withoutBrackets(host)
      return isIP(address) !== 0 && isRefused(address) ? describeRefusedAddress(address) : null
    },
    lookup: (hostname, asked, callback) => {
      resolve(hostname, { ...asked, all: true }, (error, addresses: LookupAddress[]) => {
        const [first] = addresses ?? []
        if (error || first === undefined) {
          callback(error ?? new RefusedAddressError(describeRefusedAddress(hostname)), '')
        } else if (addresses.some(({ address }) => isIP(address) === 0 || isRefused(address))) {
          callback(new RefusedAddressError(describeRefusedAddress(hostname)), '')
        } else if (asked.all === true) {
          callback(null, addresses)
        } else {
          callback(null, first.address, first.family)
        }
      })
    },
  }
}

/** One sentence, with the host as its connection names it and what can be done. */
function describeRefusedAddress(host: string): string {
  return `The host ${host} lies in a network that connections must not reach. Name one on the internet, or have whoever runs this installation allow its network (ALLOWED_PRIVATE_RANGES).`
}

/** Whether the text is a range of addresses, such as `10.0.0.0/8` or `fd00::/8`. */
export function isAddressRange(text: string): boolean {
  const range = splitRange(text)
  return range !== null && range.bits <= (range.family === 'ipv4' ? 32 : 128)
}

const SPECIAL = listOf([
  ...SPECIAL_V4,
  ...SPECIAL_V6,
  ...SPECIAL_V4.map((range) => {
    const [address, bits] = range.split('/')
    return `${NAT64}${address}/${NAT64_BITS + Number(bits)}`
  }),
])
const GLOBAL = listOf([GLOBAL_V6, `${NAT64}/${NAT64_BITS}`])

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of ranges) {
    const range = splitRange(text)
    if (range === null) {
      throw new TypeError(`${text} is no range of addresses.`)
    }
    list.addSubnet(range.address, range.bits, range.family)
  }
  return list
}

function splitRange(text: string) {
  const [, address = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const version = isIP(address)
  // An address with a zone (`fe80::1%eth0`) names one link of one machine, and no range.
  if (version === 0 || address.includes('%')) {
    return null
  }
  return {
    address,
    bits: Number(bits),
    family: version === 4 ? ('ipv4' as const) : ('ipv6' as const),
  }
}

/** As a URL writes an IPv6 address. */
function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}
