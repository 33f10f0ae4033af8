/**
 * A process that makes the dead-man check and is killed in the middle of it: as soon as it has raised its first
 * alert. Started by tests.
 */
import { openDatabase } from '../../src/store/database.ts'
import { createRecordingLogger } from './recording-logger.ts'
import { createWatchmen } from './watchmen.ts'

const { DATABASE_URL: url = '', NOW: now = '' } = process.env

const database = await openDatabase({
  at: { url },
  maxConnections: 2,
  applicationName: 'dying',
})
const logger = {
  ...createRecordingLogger(),
  warn: (event: string) => {
    if (event === 'workspace.silent') {
      process.kill(process.pid, 'SIGKILL')
    }
  },
}
await createWatchmen({ database, logger }).deadMan.runOnce(new Date(now))
await database.close()
