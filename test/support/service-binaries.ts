/**
 * Where PostgreSQL's and Redis' programs are on this machine, and how they get there.
 *
 * As root on Debian what is missing is installed; a service that the installation starts is left alone
 * and not used. Anywhere else one line says what to install.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

/** There is no server to be had; the message says in one line what to install. */
export class ServicesUnavailableError extends Error {
  override readonly name = 'ServicesUnavailableError'
}

export interface ServerAccount {
  readonly uid: number
  readonly gid: number
}

export interface PostgresPrograms {
  readonly initdb: string
  readonly postgres: string
}

const WHAT_CURL_IS_FOR = 'Install curl: an example of the documentation is run with it.'
const WHAT_CHROMIUM_IS_FOR = 'Install Chromium: a page of the documentation is opened with it.'
const WHAT_TO_INSTALL =
  'Install PostgreSQL and Redis (on Debian: apt-get install postgresql redis-server), or set TEST_DATABASE_URL and TEST_REDIS_URL, to run the tests that need them.'
const DEBIAN_POSTGRESQL = '/usr/lib/postgresql'

/** Installs it first where that is needed and possible. Throws {@link ServicesUnavailableError}. */
export function getPostgresPrograms(): PostgresPrograms {
  return findOrInstall(findPostgresPrograms, 'postgresql')
}

/** As {@link getPostgresPrograms}; Valkey will do as well. */
export function getRedisProgram(): string {
  return findOrInstall(
    () => findExecutable('redis-server') ?? findExecutable('valkey-server'),
    'redis-server',
  )
}

/** What people type at a shell; installed as the servers are. */
export function getCurl(): string {
  return findOrInstall(() => findExecutable('curl'), 'curl', WHAT_CURL_IS_FOR)
}

/** Any browser that Chromium is made of. */
export function getChromium(): string {
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  const find = () => names.map(findExecutable).find((path) => path !== null) ?? null
  return findOrInstall(find, 'chromium', WHAT_CHROMIUM_IS_FOR)
}

export function findExecutable(name: string): string | null {
  const directories = (process.env['PATH'] ?? '').split(delimiter)
  return directories.map((directory) => join(directory, name)).find(isExecutable) ?? null
}

/** PostgreSQL refuses to run as root: another account then. Null when we are not root. */
export function findAccountForPostgres(): ServerAccount | null {
  if (process.getuid?.() !== 0) {
    return null
  }
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name]))
    if (uid?.status === 0 && gid?.status === 0) {
      return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
    }
  }
  throw new ServicesUnavailableError(
    'PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody.',
  )
}

function findOrInstall<Programs>(
  find: () => Programs | null,
  debianPackage: string,
  advice = WHAT_TO_INSTALL,
): Programs {
  const found = find()
  if (found !== null) {
    return found
  }
  const aptGet = findExecutable('apt-get')
  if (process.getuid?.() === 0 && aptGet !== null) {
    installDebianPackage(aptGet, debianPackage)
    const installed = find()
    if (installed !== null) {
      return installed
    }
  }
  throw new ServicesUnavailableError(advice)
}

function findPostgresPrograms(): PostgresPrograms | null {
  const directory = postgresDirectories().find(
    (path) => isExecutable(join(path, 'initdb')) && isExecutable(join(path, 'postgres')),
  )
  return directory === undefined
    ? null
    : { initdb: join(directory, 'initdb'), postgres: join(directory, 'postgres') }
}

/** In the order of trust: what PG_BIN names, what is on the PATH, the newest that Debian installed. */
function postgresDirectories(): readonly string[] {
  const named = process.env['PG_BIN']
  const onPath = findExecutable('initdb')
  const versions = existsSync(DEBIAN_POSTGRESQL) ? readdirSync(DEBIAN_POSTGRESQL) : []
  return [
    ...(named ? [named] : []),
    ...(onPath ? [dirname(realpathSync(onPath))] : []),
    ...versions
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join(DEBIAN_POSTGRESQL, version, 'bin')),
  ]
}

function installDebianPackage(aptGet: string, name: string): void {
  const options = {
    stdio: ['ignore' as const, 'ignore' as const, 'inherit' as const],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }
  try {
    execFileSync(aptGet, ['update'], options)
    execFileSync(aptGet, ['install', '-y', '--no-install-recommends', name], options)
  } catch (cause) {
    throw new ServicesUnavailableError(WHAT_TO_INSTALL, { cause })
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
