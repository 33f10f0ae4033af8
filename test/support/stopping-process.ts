/**
 * A process that stops (SIGSTOP) in the middle of a transaction, with a sync's fence in its hands; started by
 * tests. Its connection is the app's, or a bare one where `BARE` is set. When it is continued it goes on with
 * its transaction and prints how that ended.
 */
import { sql } from 'drizzle-orm'
import postgres from 'postgres'
import { type Database, openDatabase } from '../../src/store/database.ts'

const { DATABASE_URL: url = '', SYNC_ID: syncId = '', BARE: isBare } = process.env

if (isBare) {
  await holdBare()
} else {
  const database = await openDatabase({
    at: { url },
    maxConnections: 1,
    applicationName: 'stopping',
  })
  await holdAsTheApp(database).then(
    () => tell('committed'),
    (error: unknown) => tell(error instanceof Error ? error.name : 'an error'),
  )
  await database.close()
}

function holdAsTheApp(database: Database): Promise<void> {
  return database.transaction('stopping', async (tx) => {
    const [row] = await tx.rows<{ pid: number }>(sql`
      select pg_backend_pid() as pid from sync_fence where sync_id = ${syncId} for no key update`)
    stop(row?.pid)
    await tx.rows(sql`update sync_fence set reached = 'too late' where sync_id = ${syncId}`)
  })
}

async function holdBare(): Promise<void> {
  const client = postgres(url, { max: 1, connection: { application_name: 'stopping' } })
  await client.begin(async (tx) => {
    const [row] = await tx<{ pid: number }[]>`
      select pg_backend_pid() as pid from sync_fence where sync_id = ${syncId} for no key update`
    stop(row?.pid)
  })
}

/** What is printed is out before it stops: a pipe is written at once. */
function stop(pid: number | undefined): void {
  tell(`holds as ${pid}`)
  process.kill(process.pid, 'SIGSTOP')
}

function tell(line: string): void {
  process.stdout.write(`stopping: ${line}\n`)
}
