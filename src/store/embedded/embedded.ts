/**
 * The embedded database: PGlite in a thread of its own, reached over a unix socket.
 *
 * Invariant: one process a data directory (see data-directory.ts); PGlite has no lock of its own, and
 * two writers on one directory lose acknowledged rows.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { WordedError } from '../../runtime/worded-error.ts'
import { lockDataDirectory } from './data-directory.ts'
import { makeSocketDirectory } from './socket-directory.ts'

export interface EmbeddedServer {
  readonly socketPath: string
  stop(): Promise<void>
}

/** Throws {@link DataDirectoryInUseError} when another process has the directory. */
export async function startEmbedded(directory: string): Promise<EmbeddedServer> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const unlock = await lockDataDirectory(directory)
  let clear = unlock
  try {
    const { socketPath, remove } = await makeSocketDirectory(directory)
    clear = async () => {
      await remove()
      await unlock()
    }
    const worker = await startWorker(directory, socketPath)
    return {
      socketPath,
      stop: async () => {
        worker.postMessage('stop')
        await nextMessage(worker)
        await worker.terminate()
        await clear()
      },
    }
  } catch (error) {
    await clear()
    throw error
  }
}

/** Resolves when the socket is served. */
async function startWorker(directory: string, socketPath: string): Promise<Worker> {
  const worker = new Worker(new URL('./pglite-worker.js', import.meta.url), {
    workerData: { directory: join(directory, 'database'), socketPath },
    execArgv: [],
  })
  try {
    await nextMessage(worker)
    return worker
  } catch (error) {
    await worker.terminate()
    throw error
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
      reject(new WordedError(`The embedded database's thread ended (${code}).`)),
    )
  })
}
