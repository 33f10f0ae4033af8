/**
 * What an installation keeps on its own disk: its directories and, embedded, its first token and key.
 * Secrets are files that only their owner can read.
 */
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from './config.ts'
import type { Random } from './runtime/random.ts'
import { SEALING_KEY_BYTES } from './runtime/seal.ts'

const TOKEN_FILE = 'token'
const KEY_FILE = 'credentials.key'

/** The data directory where the database is embedded, and the directory of the file source. */
export async function makeDirectories(config: Config): Promise<void> {
  if (config.deployment.kind === 'embedded') {
    await mkdir(config.dataDirectory, { recursive: true, mode: 0o700 })
  }
  await mkdir(config.fileRoot, { recursive: true })
}

export async function hasFirstToken(dataDirectory: string): Promise<boolean> {
  try {
    await access(join(dataDirectory, TOKEN_FILE))
    return true
  } catch {
    return false
  }
}

export async function keepFirstToken(dataDirectory: string, token: string): Promise<void> {
  await writeWhole(join(dataDirectory, TOKEN_FILE), `${token}\n`)
}

/** The key that seals credentials, made at the first start. The caller holds the data directory's lock. */
export async function keepSealingKey(dataDirectory: string, random: Random): Promise<Uint8Array> {
  const path = join(dataDirectory, KEY_FILE)
  try {
    return Buffer.from(await readFile(path, 'utf8'), 'base64')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) {
      throw error
    }
  }
  const key = random.bytes(SEALING_KEY_BYTES)
  await writeWhole(path, `${Buffer.from(key).toString('base64')}\n`)
  return key
}

/** A crash leaves the whole file or none. */
async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await rename(`${path}.new`, path)
}
