/** What an acknowledged commit is worth: all that the server promises, and less on the embedded default. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import type { Database } from '../../src/store/database.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'

async function settingOf(database: Database, name: string) {
  const [row] = await database.rows<{ setting: string; source: string }>(sql`
    select setting, source from pg_settings where name = ${name}`)
  return row
}

describe.runIf(DATABASE_KINDS.includes('postgresql'))('PostgreSQL', () => {
  const database = useDatabase('postgresql')

  it.each(['synchronous_commit', 'fsync'])(
    'commits as its server is told to: no connection of ours changes %s',
    async (name) => {
      const changed = ['client', 'session', 'database', 'user', 'database user']
      expect(changed).not.toContain((await settingOf(database(), name))?.source)
    },
  )
})

describe('the embedded database', () => {
  const database = useDatabase('embedded')

  it('does not force its commits to the disk: it is not safe against power loss', async () => {
    expect(await settingOf(database(), 'fsync')).toMatchObject({ setting: 'off' })
  })
})
