/**
 * The embedded database: PGlite in a thread of its own, reached over a unix socket.
 *
 * Invariant: one process a data directory (see data-directory.ts); PGlite has no lock of its own, and
 * two writers on one directory lose acknowledged rows.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { lockDataDirectory } from './data-directory.ts'

export interface EmbeddedServer {
  readonly socketPath: string
  stop(): Promise<void>
}

/** Throws {@link DataDirectoryInUseError} when another process has the directory. */
export async function startEmbedded(directory: string): Promise<EmbeddedServer> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const unlock = await lockDataDirectory(directory)
  // A unix socket's path may have about 100 bytes, so it does not lie in the data directory.
  const socketDirectory = await mkdtemp(join(tmpdir(), 'tajo-'))
  const socketPath = join(socketDirectory, '.s.PGSQL.5432')
  const worker = new Worker(new URL('./pglite-worker.js', import.meta.url), {
    workerData: { directory: join(directory, 'database'), socketPath },
    execArgv: [],
  })
  const clear = async () => {
    await rm(socketDirectory, { recursive: true, force: true })
    await unlock()
  }
  try {
    await nextMessage(worker)
  } catch (error) {
    await worker.terminate()
    await clear()
    throw error
  }
  return {
    socketPath,
    stop: async () => {
      worker.postMessage('stop')
      await nextMessage(worker)
      await worker.terminate()
      await clear()
    },
  }
}

function nextMessage(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('message', () => {
      worker.off('error', reject)
      resolve()
    })
    worker.once('error', reject)
    worker.once('exit', (code) =>
      reject(new Error(`The embedded database's thread ended (${code}).`)),
    )
  })
}
