/**
 * Where the embedded database's socket lies: a directory of its own in the temporary one, for a unix
 * socket's path may have about 100 bytes, and not every disk that holds data can hold a socket.
 *
 * Invariant: a process that is killed leaves nothing behind that nobody knows of. Its data directory names
 * the place before it is made, and whoever opens that data directory next removes it. Whatever else a name
 * may lead to is left alone: nothing but a socket and an empty directory is ever removed.
 */
import { mkdir, readFile, rm, rmdir, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { systemRandom } from '../../runtime/random.ts'

export interface SocketDirectory {
  readonly socketPath: string
  remove(): Promise<void>
}

const NOTE_FILE = 'socket-directory'
const SOCKET_FILE = '.s.PGSQL.5432'
const NAME = /^tajo-socket-[0-9a-f]{16}$/

/** Removes the predecessor's and makes a new one. The caller holds the data directory's lock. */
export async function makeSocketDirectory(dataDirectory: string): Promise<SocketDirectory> {
  const note = join(dataDirectory, NOTE_FILE)
  await removePlace(await readNote(note))
  const name = `tajo-socket-${Buffer.from(systemRandom.bytes(8)).toString('hex')}`
  const place = join(tmpdir(), name)
  await writeFile(note, place, { mode: 0o600 })
  await mkdir(place, { mode: 0o700 })
  return {
    socketPath: join(place, SOCKET_FILE),
    remove: async () => {
      await removePlace(place)
      await rm(note, { force: true })
    },
  }
}

async function readNote(note: string): Promise<string> {
  try {
    return await readFile(note, 'utf8')
  } catch {
    return ''
  }
}

/** What cannot be removed is in nobody's way. */
async function removePlace(place: string): Promise<void> {
  if (NAME.test(basename(place))) {
    await unlink(join(place, SOCKET_FILE)).catch(() => undefined)
    await rmdir(place).catch(() => undefined)
  }
}
