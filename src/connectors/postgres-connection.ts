/**
 * What a connection to a PostgreSQL server is made of: the same for the source and the destination.
 *
 * Invariants: the server's certificate is verified unless the connection says otherwise, and nothing is said to the
 * server in the clear where TLS was asked for. Every socket to a server is made by {@link ConnectSocket}, which is
 * the one place where an address can be refused.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { z } from 'zod'
import { type AddressGuard, RefusedAddressError } from './address-guard.ts'
import { ConnectorError } from './connector.ts'
import {
  choiceSetting,
  countSetting,
  settingsObject,
  textSetting,
  withoutUndefined,
} from './settings.ts'

const MAX_HOST_LENGTH = 253
/** PostgreSQL cuts longer names off silently. */
const MAX_NAME_BYTES = 63
const MAX_PASSWORD_LENGTH = 1_000
const MAX_CERTIFICATE_LENGTH = 64_000
const DEFAULT_PORT = 5432

const HOST = /^(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?|[0-9A-Fa-f:.]+)$/
const CERTIFICATE = /^\s*-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----\s*$/

const serverName = (field: string) =>
  textSetting(field, MAX_NAME_BYTES).refine(
    (text) => Buffer.byteLength(text) <= MAX_NAME_BYTES && !text.includes('\u0000'),
    { error: `${field} must be at most ${MAX_NAME_BYTES} bytes long and without NUL characters.` },
  )

const configShape = settingsObject({
  host: textSetting('host', MAX_HOST_LENGTH)
    .regex(HOST, { error: 'host must be the name or the address of one server, without a port.' })
    .describe('Name or address of the server.'),
  port: countSetting('port', 1, 65_535).default(DEFAULT_PORT),
  database: serverName('database').describe('The database on the server.'),
  tls: choiceSetting('tls', ['VERIFY', 'ENCRYPT', 'OFF'])
    .describe(
      'VERIFY: encrypted, and the certificate must be the host’s. ENCRYPT: encrypted, whoever answers. OFF: in the clear.',
    )
    .default('VERIFY'),
  caCertificate: textSetting('caCertificate', MAX_CERTIFICATE_LENGTH)
    .regex(CERTIFICATE, { error: 'caCertificate must be a certificate in PEM form.' })
    .describe('With VERIFY: who signed the certificate, where it is no public authority.')
    .optional(),
})

const connectionConfig = configShape.superRefine(({ tls, caCertificate }, context) => {
  if (caCertificate !== undefined && tls !== 'VERIFY') {
    context.addIssue({
      code: 'custom',
      message: 'caCertificate must only be given with the tls mode VERIFY.',
    })
  }
})

const credentials = settingsObject({
  user: serverName('user').describe('The role that signs in.'),
  password: textSetting('password', MAX_PASSWORD_LENGTH)
    .refine((text) => !text.includes('\u0000'), {
      error: 'password must not contain NUL characters.',
    })
    .describe('Its password; left out where the server asks for none.')
    .optional(),
})

export type PostgresConfig = Readonly<z.infer<typeof connectionConfig>>
export type PostgresCredentials = Readonly<z.infer<typeof credentials>>

export const postgresConnectionConfig = connectionConfig
export const postgresCredentials = credentials
/** The same shapes as the contract wants them. */
export const storedPostgresConfig = connectionConfig.transform(withoutUndefined)
export const storedPostgresCredentials = credentials.transform(withoutUndefined)

export interface Address {
  readonly host: string
  readonly port: number
}

/** Begins a connection. It may be refused, by a rejection, before anything is sent. */
export type ConnectSocket = (to: Address) => Promise<Socket>

/** To any address. */
export const connectAnywhere: ConnectSocket = ({ host, port }) =>
  Promise.resolve(connectTcp({ host, port }))

/** To those that the guard lets through, names and addresses alike. */
export function connectGuarded(guard: AddressGuard): ConnectSocket {
  const { lookup } = guard
  return ({ host, port }) => {
    const refusal = guard.describeRefusedHost(host)
    return refusal === null
      ? Promise.resolve(connectTcp({ host, port, lookup }))
      : Promise.reject(new RefusedAddressError(refusal))
  }
}

/** A socket over which the protocol can begin. `settled` ends what is under way. */
export async function openServerSocket(
  config: PostgresConfig,
  connect: ConnectSocket,
  settled: AbortSignal,
): Promise<Socket> {
  const plain = await connect({ host: config.host, port: config.port }).catch(refuseAddress)
  // Whoever waits for it is told below; between two waits an error must not end the process.
  plain.on('error', () => undefined)
  const giveUp = () => plain.destroy()
  settled.addEventListener('abort', giveUp, { once: true })
  try {
    settled.throwIfAborted()
    await untilEvent(plain, 'connect')
    plain.setNoDelay(true)
    return config.tls === 'OFF' ? plain : await encrypt(plain, config)
  } catch (error) {
    plain.destroy()
    return refuseAddress(error)
  } finally {
    settled.removeEventListener('abort', giveUp)
  }
}

/** Whoever gave the address can mend it, and nobody else. */
function refuseAddress(error: unknown): never {
  throw error instanceof RefusedAddressError
    ? new ConnectorError('node_failed', error.message, { cause: error })
    : error
}

/** The protocol's question whether TLS is spoken: a length, and a number in the place of a version. */
const TLS_QUESTION = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const YES = 'S'

async function encrypt(plain: Socket, config: PostgresConfig): Promise<Socket> {
  plain.write(TLS_QUESTION)
  const answer = await readOnce(plain)
  // More than the one letter would be bytes that somebody slipped in before the encryption began.
  if (answer.toString('latin1') !== YES) {
    throw new ConnectorError(
      'node_failed',
      'The server does not speak TLS; mend the server, or set tls to OFF where the way to it is safe.',
    )
  }
  const { host, caCertificate } = config
  const secure = connectTls({
    socket: plain,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: config.tls === 'VERIFY',
    ...(config.tls === 'VERIFY' ? {} : { checkServerIdentity: () => undefined }),
    ...(caCertificate === undefined ? {} : { ca: caCertificate }),
  })
  secure.on('error', () => undefined)
  await untilEvent(secure, 'secureConnect')
  return secure
}

function untilEvent(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error?: Error) => reject(error ?? new BrokenSocketError())
    const onClose = () => fail()
    socket.once('error', fail)
    socket.once('close', onClose)
    socket.once(event, () => {
      socket.off('error', fail)
      socket.off('close', onClose)
      resolve()
    })
  })
}

function readOnce(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const fail = (error?: Error) => reject(error ?? new BrokenSocketError())
    const onClose = () => fail()
    socket.once('error', fail)
    socket.once('close', onClose)
    socket.once('data', (bytes: Buffer) => {
      socket.pause()
      socket.off('error', fail)
      socket.off('close', onClose)
      resolve(bytes)
    })
  })
}

/** The connection ended without a word. */
class BrokenSocketError extends Error {
  readonly code = 'CONNECTION_CLOSED'

  constructor() {
    super('The connection was closed.')
  }
}
