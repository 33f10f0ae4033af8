/**
 * The embedded database's own thread: PGlite behind a PostgreSQL socket.
 *
 * A thread, because its queries would otherwise starve the timers of the process (leases, beats). Plain
 * JavaScript, so that it starts the same way from sources, from the build and under the test runner.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'

const database = await PGlite.create(workerData.directory)
const server = new PGLiteSocketServer({
  db: database,
  path: workerData.socketPath,
  maxConnections: 1,
})
await server.start()
parentPort?.postMessage('ready')
parentPort?.once('message', async () => {
  await server.stop()
  await database.close()
  parentPort?.postMessage('stopped')
  parentPort?.close()
})
