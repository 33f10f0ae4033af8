/** The key that seals is changed while the syncs go on: everything moves to the new one, and nothing is lost on the way. */
import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { SealingUpkeep } from '../../src/engine/sealing-upkeep.ts'
import { createHealth } from '../../src/health.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { createSealer, type Sealer } from '../../src/runtime/seal.ts'
import { deleteCommandKey, insertCommandKey } from '../../src/store/command-keys.ts'
import { findConnections, markConnected } from '../../src/store/connections.ts'
import { keepCredentials } from '../../src/store/kept-credentials.ts'
import {
  listKeysInUse,
  listSealedTexts,
  replaceSealedText,
  type SealedText,
} from '../../src/store/sealed-texts.ts'
import { markStopped, registerWorker } from '../../src/store/workers.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { ENGINE_SETTINGS } from '../support/engine-harness.ts'
import { makeWorkspace } from '../support/factories.ts'
import { holdOpen, waitUntilBlocked } from '../support/held-open.ts'
import { useQuarantineStage } from '../support/quarantine-stage.ts'
import type { SeededSync } from '../support/store-seed.ts'

const keyOf = (byte: number) => Buffer.alloc(32, byte)
/** The one of the commands that tests give. */
const OLD = createSealer(keyOf(7), systemRandom)
const NEW_ALONE = createSealer(keyOf(8), systemRandom)
const NEW = createSealer(keyOf(8), systemRandom, [keyOf(7)])
const CREDENTIALS = { bearerToken: 'Mrs-Havisham-1812' }

describe.each(ENGINE_DATABASE_KINDS)('a sealing key that is changed, on %s,', (kind) => {
  const database = useDatabase(kind)
  const stage = useQuarantineStage(database)

  const upkeep = (sealer: Sealer = NEW) =>
    new SealingUpkeep({
      ...{ database: database(), sealer, clock: systemClock, logger: stage().harness.logger },
    })
  const textsOf = async (sealer: Sealer) =>
    (await listKeysInUse(database()))
      .filter(({ keyId }) => keyId === sealer.keyId)
      .map((one) => one.kind)
      .sort()
  const giveCredentials = async (id: string, sealer: Sealer) =>
    await database().transaction('test.connect', (tx) =>
      markConnected(tx, id, sealer.seal(JSON.stringify(CREDENTIALS), id)),
    )
  const askHealth = async (sealer: Sealer) => {
    const health = createHealth({
      ...{ config: readConfig({}), database: database(), clock: systemClock, workerId: 'none' },
      ...{ coordination: { isReachable: () => Promise.resolve(true) }, sealer },
    })
    return (await health())['sealing']
  }
  const forget = async () => {
    await database().rows(sql`update connection set sealed_credentials = null`)
    await database().rows(sql`delete from held_record`)
    await database().rows(sql`update test_run set sealed_records = null`)
  }

  /** Credentials, a record that is set aside and the result of a test, all sealed with the old key. */
  async function sealAll(): Promise<SeededSync> {
    await forget()
    await stage().start({ sealer: OLD })
    const sync = await stage().setAside(['a', 'b'], ['b'])
    await giveCredentials(sync.destinationConnectionId, OLD)
    const { runId } = await stage().person(sync).test(1)
    await stage().harness.waitForEnd(runId)
    await stage().harness.close()
    expect(await textsOf(OLD)).toEqual(['connection', 'rejected_record', 'test_run'])
    return sync
  }

  it('leaves nothing sealed with the old one, and what was sealed serves as before', async () => {
    const sync = await sealAll()
    expect(await askHealth(NEW)).toMatchObject({
      isHealthy: true,
      detail: expect.stringMatching(/^Sealed with an old key, and to be moved: .+ with /),
    })
    await upkeep().runOnce()
    expect(await textsOf(OLD)).toEqual([])
    expect(await askHealth(NEW)).toMatchObject({
      isHealthy: true,
      detail: expect.stringContaining('CREDENTIALS_OLD_KEYS can be emptied'),
    })
    expect(await askHealth(NEW_ALONE)).toMatchObject({ isHealthy: true, detail: null })
    await stage().start({ sealer: NEW_ALONE })
    const { destination } = stage()
    const before = destination.requests.length
    expect(await stage().redrive(sync)).toMatchObject({ status: 'succeeded' })
    const [sent] = destination.requests.slice(before)
    expect([sent?.headers['authorization'], sent?.body]).toEqual([
      `Bearer ${CREDENTIALS.bearerToken}`,
      expect.stringContaining('"b"'),
    ])
    expect(await stage().states(sync)).toEqual(['delivered'])
  })

  it('moves in the middle of a run, which goes on', async () => {
    const sync = await sealAll()
    stage().put(9, 'later', 'later')
    stage().faults = async (point) => {
      if (point === 'afterReserve') {
        // Else it would be waited for, as the test below shows.
        await database().rows(sql`update worker set sealing_key_id = ${NEW.keyId}`)
        await upkeep().runOnce()
      }
    }
    await stage().start({ sealer: OLD })
    expect(await stage().harness.run(sync)).toMatchObject({ status: 'succeeded' })
    expect(await textsOf(OLD)).toEqual([])
  })

  it('stays where it is while a worker lives that seals with the other one', async () => {
    await sealAll()
    await stage().start({ sealer: OLD })
    await upkeep().runOnce()
    expect(await textsOf(NEW)).toEqual([])
    expect(stage().harness.logger.events.map(({ event }) => event)).toContain('sealing.waiting')
    await stage().harness.close()
    await upkeep().runOnce()
    expect(await textsOf(OLD)).toEqual([])
  })

  it('is needed while any process lives that seals with it, although no text is left', async () => {
    await forget()
    await database().rows(sql`update worker set stopped_at = coalesce(stopped_at, now())`)
    const id = randomUUID()
    await registerWorker(database(), { id, host: 'a', pid: 1, sealingKeyId: OLD.keyId })
    const upkept = upkeep()
    const told = () => stage().harness.logger.events.map(({ event }) => event)
    await upkept.runOnce()
    expect(await askHealth(NEW)).toMatchObject({
      isHealthy: true,
      detail: expect.stringMatching(/another process lives .+: finish the restart/),
    })
    expect(told()).not.toContain('sealing.old_keys_unused')
    await markStopped(database(), id)
    await upkept.runOnce()
    expect(await askHealth(NEW)).toMatchObject({
      detail: expect.stringContaining('CREDENTIALS_OLD_KEYS can be emptied'),
    })
    expect(told()).toContain('sealing.old_keys_unused')
  })

  it.each([null, OLD.keyId])(
    'is needed while a request lies under its client key that was digested with %s',
    async (digestKeyId) => {
      await forget()
      await database().rows(sql`update worker set stopped_at = coalesce(stopped_at, now())`)
      const { workspaceId } = await makeWorkspace(database())
      const request = { workspaceId, clientKey: 'the key', command: 'runSync', inputDigest: 'd' }
      await insertCommandKey(database(), { ...request, digestKeyId: OLD.keyId })
      await database().rows(sql`
        update command_key set digest_key_id = ${digestKeyId}::text where workspace_id = ${workspaceId}`)
      expect(await askHealth(NEW)).toMatchObject({
        detail: expect.stringContaining('are found by one still'),
      })
      // A process that has no old key says nothing of them.
      expect(await askHealth(NEW_ALONE)).toMatchObject({ isHealthy: true, detail: null })
      await deleteCommandKey(database(), request)
      expect(await askHealth(NEW)).toMatchObject({
        detail: expect.stringContaining('CREDENTIALS_OLD_KEYS can be emptied'),
      })
    },
  )

  it('is told of plainly by a process that does not have it, and no run is lost', async () => {
    await forget()
    const sync = await stage().harness.seedSync()
    stage().put(0, 'a', 'a')
    await giveCredentials(sync.destinationConnectionId, NEW)
    const settings = { ...ENGINE_SETTINGS, retry: { firstBackoffMs: 500, backoffFactor: 2 } }
    await stage().start({ sealer: OLD, settings })
    const runId = await stage().harness.enqueue(sync)
    await stage().harness.waitFor(
      runId,
      ({ status, sequence }) => status === 'queued' && sequence.epoch > 0,
    )
    await stage().harness.close()
    const [attempt] = await database().rows(sql`
      select failure_code as code, failure_detail as detail from attempt
      where run_id = ${runId} and number = 1`)
    expect(attempt).toEqual({
      code: 'unclassified_exception',
      detail: `It is sealed with the key ${NEW.keyId}, and this process has the key ${OLD.keyId}: name that key in CREDENTIALS_OLD_KEYS.`,
    })
    expect(await askHealth(OLD)).toMatchObject({
      isHealthy: false,
      detail: expect.stringContaining(`credentials with ${NEW.keyId}`),
    })
    await upkeep(OLD).runOnce()
    const { events } = stage().harness.logger
    expect(events.map(({ event }) => event)).toContain('sealing.key_unknown')
    expect(await textsOf(NEW)).toEqual(['connection'])
    await stage().start({ sealer: NEW })
    expect(await stage().harness.waitForEnd(runId)).toMatchObject({ status: 'succeeded' })
  })

  it('does not undo what people have done since the text was read', async () => {
    const sync = await sealAll()
    const id = sync.destinationConnectionId
    const read = async (of: SealedText['kind']) => {
      const wanted = { kind: of, keyIds: [OLD.keyId], after: null, limit: 1 }
      const [text] = await listSealedTexts(database(), wanted)
      if (!text) {
        throw new Error('Nothing is sealed.')
      }
      return text
    }
    const [credentials, row] = [await read('connection'), await read('rejected_record')]
    await giveCredentials(id, OLD)
    const [connected] = await findConnections(database(), sync.workspaceId, [id])
    const [record] = await stage().person(sync).listRejected()
    await stage()
      .person(sync)
      .discard([record?.id ?? ''])
    expect(await replaceSealedText(database(), credentials, 'other')).toBe(false)
    expect(await replaceSealedText(database(), row, 'other')).toBe(false)
    expect(await findConnections(database(), sync.workspaceId, [id])).toEqual([connected])
    expect(await stage().states(sync)).toEqual(['discarded'])
  })

  it('leaves a text that does not open as it is, and moves the others', async () => {
    const sync = await sealAll()
    const torn = `${OLD.keyId}.torn`
    await database().rows(sql`update connection set sealed_credentials = ${torn}
      where id = ${sync.sourceConnectionId}`)
    await upkeep().runOnce()
    expect(await textsOf(OLD)).toEqual(['connection'])
    const [found] = await findConnections(database(), sync.workspaceId, [sync.sourceConnectionId])
    expect(found?.sealedCredentials).toBe(torn)
    expect(await textsOf(NEW)).toEqual(['connection', 'rejected_record', 'test_run'])
  })

  it.runIf(kind === 'postgresql')(
    'costs no credentials that are renewed at the same time',
    async () => {
      const sync = await sealAll()
      const { workspaceId, destinationConnectionId: id } = sync
      const find = async () => {
        const [found] = await findConnections(database(), workspaceId, [id])
        if (!found) {
          throw new Error('The connection has gone.')
        }
        return found
      }
      const kept = keepCredentials({
        ...{ database: database(), sealer: NEW, workspaceId, connection: await find() },
        whenMissing: () => new Error('The connection has gone.'),
      })
      const held = await holdOpen(database(), async (tx) => {
        const [text] = await listSealedTexts(tx, {
          ...{ kind: 'connection', keyIds: [OLD.keyId], after: null, limit: 1 },
        })
        await (text && replaceSealedText(tx, text, NEW.seal(OLD.unseal(text.sealed, id), id)))
      })
      const renewed = { bearerToken: 'Miss-Havisham-1861' }
      const replacing = kept.replace(CREDENTIALS, renewed)
      await waitUntilBlocked(database(), 1)
      await held.release()
      expect(await replacing).toBe(true)
      expect(await kept.find()).toEqual(renewed)
    },
  )
})
