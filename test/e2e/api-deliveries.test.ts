/** Receipts through the API. What they say is tested with runs in test/engine/receipts.test.ts. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { DeliveriesQuery, DeliveryQuery } from '../../src/client/steering-documents.ts'
import { hashIdentity, LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import { sha256 } from '../../src/runtime/hash.ts'
import { makePartitions } from '../../src/store/partitions.ts'
import { useApi } from '../support/app.ts'
import { runSteps } from '../support/run-steps.ts'

const api = useApi()
const { makeActive } = runSteps(api)

const PAGE = 'ab'.repeat(16)
const KEY = `${PAGE}00000002${'cd'.repeat(12)}`

/** A page that has ended, whose third record is `ada@example.com`, delivered. */
async function makeDelivered(isTold = false) {
  const { workspace, sync } = await makeActive()
  await makePartitions(api().database)
  const identity = hashIdentity(sha256, sync.uuid, 'ada@example.com')
  await api().database.rows(sql`
    insert into ended_page (sync_id, page_digest, ordinal, identities, opened_at)
    values (${sync.uuid}, decode(${PAGE}, 'hex'), 1, decode(${'00'.repeat(32) + identity}, 'hex'),
      now() - interval '1 minute')`)
  await api().database.rows(sql`
    insert into delivery (key, day, result, is_told)
    values (decode(${KEY}, 'hex'), (now() at time zone 'UTC')::date, 'contact 7', ${isTold})
    on conflict (key, day) do update set is_told = excluded.is_told`)
  return { workspace, sync }
}

describe('a delivery', () => {
  it('is found by its key, in either case, and by its record', async () => {
    const { workspace, sync } = await makeDelivered()
    const { delivery } = await workspace.client.request(DeliveryQuery, { key: KEY })
    expect(delivery).toMatchObject({
      ...{ key: KEY, page: PAGE, position: 2, remoteId: 'contact 7', isSettled: false },
      sync: { id: sync.syncId },
    })
    const keptMs =
      Date.parse(delivery?.replayProtectedUntil ?? '') - Date.parse(delivery?.deliveredAt ?? '')
    expect(keptMs).toBe(LEDGER_RETENTION_MS)
    const shouted = await workspace.client.request(DeliveryQuery, { key: KEY.toUpperCase() })
    expect(shouted.delivery).toEqual(delivery)
    const { syncId } = sync
    const record = 'ada@example.com'
    const found = await workspace.client.request(DeliveriesQuery, { syncId, record })
    expect(found.sync?.deliveries).toEqual([delivery])
  })

  it('that a person settled says so', async () => {
    const { workspace } = await makeDelivered(true)
    const { delivery } = await workspace.client.request(DeliveryQuery, { key: KEY })
    expect(delivery).toMatchObject({ isSettled: true })
  })

  it('of another workspace is not there', async () => {
    await makeDelivered()
    const { client } = await api().makeWorkspace()
    expect(await client.request(DeliveryQuery, { key: KEY })).toEqual({ delivery: null })
  })

  it.each(['', 'ab', `${KEY}00`, KEY.replace('a', 'g'), `${KEY.slice(0, 63)}é`])(
    'is not looked for by %j, which is no key',
    async (key) => {
      const { client } = await api().makeWorkspace()
      await expect(client.request(DeliveryQuery, { key })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: 'key: It must be a delivery key: 64 hexadecimal characters.',
      })
    },
  )

  it('is not looked for by a record whose name is too long', async () => {
    const { workspace, sync } = await makeActive()
    const variables = { syncId: sync.syncId, record: 'x'.repeat(10_001) }
    await expect(workspace.client.request(DeliveriesQuery, variables)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: 'record: It has 10001 characters, and at most 10000 are allowed.',
    })
  })

  it.each(['', '\u0000', '\ud800', "' or 1=1"])('of the record %j is none', async (record) => {
    const { workspace, sync } = await makeDelivered()
    const found = await workspace.client.request(DeliveriesQuery, { syncId: sync.syncId, record })
    expect(found.sync?.deliveries).toEqual([])
  })
})
