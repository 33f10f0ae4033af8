/** Runs from a stand-in shop to a recording destination, by an engine on a real database. */

import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createRegistry } from '../../src/connectors/registry.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { createSealer } from '../../src/runtime/seal.ts'
import { useDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { createLocalClient } from '../support/local-client.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createScriptedSource } from '../support/scripted-source.ts'
import { putCustomers, shopSource } from '../support/shopify/open-shop.ts'
import { customerFields } from '../support/shopify/shop-rows.ts'
import { CLIENT, FIRST_REFRESH_TOKEN, FIRST_TOKEN } from '../support/shopify/shop-tokens.ts'
import {
  type ListeningShop,
  listenAsShop,
  STAND_IN_DOMAIN,
  type StandInShop,
} from '../support/shopify/stand-in-shop.ts'
import type { SeededSync } from '../support/store-seed.ts'

const sealer = createSealer(Buffer.alloc(32, 7), systemRandom)
const CREDENTIALS = { ...CLIENT, accessToken: FIRST_TOKEN, refreshToken: FIRST_REFRESH_TOKEN }

describe('a run that reads a shop', () => {
  const database = useDatabase('postgresql')
  let listening: ListeningShop
  let shop: StandInShop
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    listening = await listenAsShop()
    shop = listening.shop
    destination = await startRecordingDestination()
    const source = createScriptedSource()
    harness = createEngineHarness({ database: database(), source, destination })
    const client = createLocalClient()
    const registry = createRegistry([shopSource(listening)], [createHttpDestination({ client })])
    await harness.startEngine({ registry })
  })

  afterEach(async () => {
    await harness.close()
    await destination.close()
    await listening.close()
  })

  async function seedShop(): Promise<SeededSync> {
    const sync = await harness.seedSync({ stream: 'customers', pageSize: 3 })
    const sealed = sealer.seal(JSON.stringify(CREDENTIALS), sync.sourceConnectionId)
    const config = JSON.stringify({ shop: STAND_IN_DOMAIN })
    await database().rows(sql`update connection set type = 'shopify',
      config = ${config}::text::jsonb, sealed_credentials = ${sealed}
      where id = ${sync.sourceConnectionId}`)
    return sync
  }

  const emails = () =>
    [...destination.records.values()].map((record) => (record as { readonly email: string }).email)

  it('goes on when its token ends, and leaves the renewed one sealed for the next', async () => {
    putCustomers(shop, 8)
    const sync = await seedShop()
    shop.settings.beforeAnswer = (_, count) => {
      if (count === 2) {
        shop.tokens.expireAll()
      }
    }
    const run = await harness.run(sync)
    expect(run).toMatchObject({ status: 'succeeded', counters: { read: 8, written: 8 } })
    const [row] = await database().rows<{ readonly sealed: string }>(
      sql`select sealed_credentials as sealed from connection where id = ${sync.sourceConnectionId}`,
    )
    const kept = JSON.parse(sealer.unseal(row?.sealed ?? '', sync.sourceConnectionId)) as JsonObject
    expect(kept).toEqual({
      ...CLIENT,
      accessToken: 'shpat_stand_in_1',
      refreshToken: 'shprt_stand_in_1',
    })
  })

  it('delivers what has changed since, and nothing twice', async () => {
    putCustomers(shop, 4)
    const sync = await seedShop()
    await harness.run(sync)
    shop.rows.put('customers', '2', customerFields({ email: 'new@example.com' }))
    shop.advance(600_000)
    const run = await harness.run(sync)
    expect(run).toMatchObject({ status: 'succeeded', counters: { read: 1, written: 1 } })
    expect(emails().sort()).toEqual([
      'c1@example.com',
      'c2@example.com',
      'c3@example.com',
      'c4@example.com',
      'new@example.com',
    ])
    expect([...destination.effects.values()].every((n) => n === 1)).toBe(true)
  })

  it('ends once the e-mail is hidden, and sends no null over what is there', async () => {
    putCustomers(shop, 4)
    const sync = await seedShop()
    await harness.run(sync)
    shop.settings.redacted.add('email')
    shop.rows.put('customers', '2', { note: 'changed' })
    shop.advance(600_000)
    const run = await harness.run(sync)
    expect(run).toMatchObject({ status: 'failed', failureCode: 'connection_unauthorized' })
    expect(run.failureDetail).toContain('protected customer data')
    expect(emails()).not.toContain(null)
    expect(emails()).toHaveLength(4)
  })
})
