/**
 * Runs into Brevo: whoever is stopped and whatever is lost or lands late, nothing is lost and nothing newer is
 * overwritten by something older (I11, I12). The stand-in's account is the oracle.
 */
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import type { DestinationConnector } from '../../src/connectors/destination.ts'
import { FAULT_POINTS } from '../../src/engine/fault-points.ts'
import { closeBrevoClient, createBrevo, IMPORT } from '../support/brevo/open-writer.ts'
import { type BrevoFault, type BrevoStandIn, startBrevo } from '../support/brevo/server.ts'
import { type BrevoStage, createBrevoStage } from '../support/brevo/stage.ts'
import { useDatabase } from '../support/databases.ts'
import { breaksAt, counts, leftOf } from '../support/deliveries.ts'

const database = useDatabase('postgresql')
let standIn: BrevoStandIn
let stage: BrevoStage

beforeEach(async () => {
  standIn = await startBrevo()
  stage = createBrevoStage(database(), standIn)
})
afterEach(async () => {
  await stage.harness.close()
  await standIn.close()
  await database().rows(sql`update run set status = 'canceled', finished_at = now()
    where status = 'queued'`)
})
afterAll(closeBrevoClient)

const versionsOf = (name: string) => standIn.account.valuesOf(`${name}@example.com`, 'FIRSTNAME')
const imports = () => standIn.sent('POST', '/contacts/import')
const ONCE = { attemptAllowance: 1 } as const

describe('a run into Brevo', () => {
  it.each([
    ['RECORD', {}, 5],
    ['IMPORT', IMPORT, 3],
  ] as const)('by %s writes every contact once', async (_, options, calls) => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      stage.put(name, 1)
    }
    await stage.start()
    const sync = await stage.seed(options)
    const run = await stage.harness.run(sync)
    expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 5, written: 5 }) })
    expect(standIn.requests.filter(({ method }) => method === 'POST')).toHaveLength(calls)
    expect(standIn.account.writes).toHaveLength(5)
    expect(standIn.processes.mostOpen).toBeLessThanOrEqual(1)
  })

  it('keeps the order of two rows whose addresses differ only in their case', async () => {
    stage.put('a', 1, 'Ada@Example.com')
    stage.put('b', 2, 'ada@example.COM ')
    await stage.start()
    await stage.harness.run(await stage.seed({}))
    expect(versionsOf('ada')).toEqual(['v1', 'v2'])
  })

  it('that names an attribute which the account does not have fails with its name, and sends nothing', async () => {
    stage.put('a', 1)
    await stage.start()
    const mapping = { email: { $path: 'email' }, attributes: { PRENOM: { $path: 'note' } } }
    const run = await stage.harness.run(await stage.seed({}, mapping))
    expect(run).toMatchObject({ status: 'failed', failureCode: 'node_failed' })
    expect(run.failureDetail).toContain('no attribute PRENOM')
    expect(standIn.account.writes).toEqual([])
  })

  it('whose key is refused says so', async () => {
    stage.put('a', 1)
    standIn.isAddressAllowed = false
    await stage.start()
    const run = await stage.harness.run(await stage.seed({}))
    expect(run).toMatchObject({ status: 'failed', failureCode: 'connection_unauthorized' })
  })

  it.each([
    ['REJECT', { status: 'partial', counters: counts({ read: 2, written: 1, rejected: 1 }) }],
    ['OMIT', { status: 'succeeded', counters: counts({ read: 2, written: 2 }) }],
  ] as const)('with a phone of somebody else and %s', async (onPhoneProblem, expected) => {
    stage.put('a', 1)
    stage.put('b', 1)
    await stage.start()
    const mapping = { email: { $path: 'email' }, attributes: { SMS: { $const: '+491701234567' } } }
    // One after the other: the second meets the first.
    const sync = await stage.seed({ onPhoneProblem }, mapping)
    expect(await stage.harness.run(sync)).toMatchObject(expected)
    expect(standIn.account.contacts.size).toBe(expected.counters.written)
    const receipts = await database().rows(
      sql`select result from delivery where result like '%without SMS'`,
    )
    expect(receipts).toHaveLength(onPhoneProblem === 'OMIT' ? 1 : 0)
  })
})

describe('an import into Brevo', () => {
  /** Version 1 is on its way when the worker breaks; then the row changes. */
  const breakOff = async (point: 'afterSend' | 'afterAccept', connector?: DestinationConnector) => {
    stage.put('a', 1)
    standIn.processes.looksUntilDone = null
    await stage.start({ faults: breaksAt(point), ...(connector ? { connector } : {}) })
    const sync = await stage.seed(IMPORT)
    expect((await stage.harness.run(sync, ONCE)).status).toBe('failed')
    expect(imports()).toHaveLength(1)
    stage.put('a', 2)
    return sync
  }

  it('whose process was not stored keeps everything waiting until it has landed, however late', async () => {
    const sync = await breakOff('afterSend')
    for (let n = 0; n < 2; n += 1) {
      const run = await stage.harness.run(sync, ONCE)
      expect(run).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
      expect(run.failureDetail).toContain('import 101')
      expect(imports()).toHaveLength(1)
    }
    standIn.processes.looksUntilDone = 0
    expect((await stage.harness.run(sync)).status).toBe('succeeded')
    expect(versionsOf('a')).toEqual(['v1', 'v2'])
    expect(standIn.processes.mostOpen).toBe(1)
    expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
  })

  it('control: without that guard the late one lands over what is newer, in a run that succeeded', async () => {
    const connector = withoutGuard(createBrevo())
    const sync = await breakOff('afterSend', connector)
    const runId = await stage.harness.enqueue(sync)
    while (imports().length < 2) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    standIn.processes.finish(102)
    expect((await stage.harness.waitForEnd(runId)).status).toBe('succeeded')
    standIn.processes.finish(101)
    expect(versionsOf('a')).toEqual(['v2', 'v1'])
    expect(standIn.processes.mostOpen).toBe(2)
  })

  it('whose process was stored is followed by the next attempt, and then the newer version is sent', async () => {
    const sync = await breakOff('afterAccept')
    standIn.processes.looksUntilDone = 2
    expect((await stage.harness.run(sync)).status).toBe('succeeded')
    expect(versionsOf('a')).toEqual(['v1', 'v2'])
    expect(standIn.processes.mostOpen).toBe(1)
  })

  it('that is stuck ends the attempt with its number and is never sent again; once it is over it counts', async () => {
    stage.put('a', 1)
    standIn.processes.looksUntilDone = null
    await stage.start()
    const sync = await stage.seed(IMPORT)
    for (let n = 0; n < 2; n += 1) {
      const run = await stage.harness.run(sync, ONCE)
      expect(run).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
      expect(run.failureDetail).toContain('The import 101 has not finished')
    }
    standIn.processes.finish(101)
    const run = await stage.harness.run(sync)
    expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 1, replayed: 1 }) })
    expect(imports()).toHaveLength(1)
  })

  it('whose answer was lost is waited for within the attempt, and the same again changes nothing', async () => {
    stage.put('a', 1)
    standIn.processes.looksUntilDone = 2
    standIn.script({ kind: 'resetAfterCommit' })
    await stage.start()
    const run = await stage.harness.run(await stage.seed(IMPORT), ONCE)
    expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 1, written: 1 }) })
    expect(versionsOf('a')).toEqual(['v1', 'v1'])
    expect(standIn.processes.mostOpen).toBe(1)
  })

  it('waits for the import of somebody else in the same account', async () => {
    stage.put('a', 1)
    const other = standIn.processes.begin()
    other.isStuck = false
    standIn.processes.looksUntilDone = 3
    await stage.start()
    expect((await stage.harness.run(await stage.seed(IMPORT))).status).toBe('succeeded')
    expect(standIn.processes.mostOpen).toBe(1)
  })

  it('waits for that of another sync of the same connection', async () => {
    for (const name of ['a', 'b', 'c']) {
      stage.put(name, 1)
    }
    standIn.processes.looksUntilDone = 3
    await stage.start()
    const first = await stage.seed(IMPORT)
    const { workspaceId, destinationConnectionId } = first
    const second = await stage.harness.seedSync({
      ...{ ...first.config, workspaceId, destinationConnectionId },
      destination: { type: 'brevo', config: { baseUrl: standIn.url } },
    })
    const runs = await Promise.all([stage.harness.run(first), stage.harness.run(second)])
    expect(runs.map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])
    expect(imports()).toHaveLength(4)
    expect(standIn.processes.mostOpen).toBe(1)
  })

  it('of which some rows were wrong holds them, also where its worker was stopped meanwhile', async () => {
    stage.put('a', 1)
    stage.put('b', 1)
    standIn.processes.disliked.add('b@example.com')
    await stage.start({ faults: breaksAt('afterAccept') })
    const sync = await stage.seed(IMPORT)
    await stage.harness.run(sync, ONCE)
    const run = await stage.harness.run(sync)
    expect(run).toMatchObject({
      ...{ status: 'partial', counters: counts({ read: 2, written: 1, rejected: 1 }) },
    })
    expect(standIn.processes.mostOpen).toBe(1)
  })

  it('that failed is tried again, since nobody says what of it has landed', async () => {
    stage.put('a', 1)
    standIn.processes.looksUntilDone = null
    let n = 0
    standIn.decide(({ method, path }) => {
      if (method === 'GET' && path === '/processes/101') {
        standIn.processes.end(101, 'failed')
      } else if (method === 'GET' && path === '/processes/102') {
        standIn.processes.finish(102)
        n += 1
      }
      return { kind: 'none' }
    })
    await stage.start()
    expect((await stage.harness.run(await stage.seed(IMPORT), ONCE)).status).toBe('succeeded')
    expect([imports().length, n]).toEqual([2, 1])
  })
})

it('whatever is answered and wherever attempts break: the newest version stands, and none lands behind a newer one (I11)', async () => {
  let faults = breaksAt('afterClaim', 1_000)
  await stage.start({ faults: (point, runId) => faults(point, runId) })
  const reaction = fc.constantFrom<BrevoFault>(
    { kind: 'none' },
    { kind: 'resetBeforeCommit' },
    { kind: 'resetAfterCommit' },
    { kind: 'html', status: 502, isApplied: true },
    { kind: 'truncated' },
    { kind: 'answer', status: 425, body: { code: 'account_in_process', message: 'Wait.' } },
  )
  const plannedRun = fc.record({
    reactions: fc.array(reaction, { maxLength: 4 }),
    looksUntilDone: fc.constantFrom(0, 2, null),
    point: fc.constantFrom(...FAULT_POINTS),
    nth: fc.integer({ min: 1, max: 3 }),
  })
  let trial = 0
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.constantFrom({}, IMPORT),
      fc.array(plannedRun, { minLength: 1, maxLength: 3 }),
      async (count, options, runs) => {
        trial += 1
        stage.source.rows.clear()
        const names = Array.from({ length: count }, (_, n) => `t${trial}n${n}`)
        const sync = await stage.seed(options)
        for (const [version, planned] of runs.entries()) {
          for (const name of names) {
            stage.put(name, version)
          }
          const left = [...planned.reactions]
          standIn.decide(({ method }) =>
            method === 'POST' ? (left.shift() ?? { kind: 'none' }) : { kind: 'none' },
          )
          standIn.processes.looksUntilDone = planned.looksUntilDone
          faults = breaksAt(planned.point, planned.nth)
          await stage.harness.run(sync, ONCE)
        }
        standIn.decide(() => ({ kind: 'none' }))
        standIn.processes.looksUntilDone = 0
        faults = breaksAt('afterClaim', 1_000)
        expect((await stage.harness.run(sync)).status).toBe('succeeded')
        for (const name of names) {
          const versions = versionsOf(name).map((text) => Number(String(text).slice(1)))
          expect(versions).toEqual([...versions].sort((a, b) => a - b))
          expect(versions.at(-1)).toBe(runs.length - 1)
        }
        expect(standIn.processes.mostOpen).toBeLessThanOrEqual(1)
        expect(await leftOf(database(), sync.syncId)).toMatchObject({ pages: 0, held: 0 })
      },
    ),
    { numRuns: inject('isExhaustive') ? 150 : 6 },
  )
}, 600_000)

/** The connector as it would be if it took an import that it cannot find for one that was never begun. */
function withoutGuard(connector: DestinationConnector): DestinationConnector {
  return {
    ...connector,
    open: async (request) => {
      const writer = await connector.open(request)
      const { deliveryClass, settlingMs, requestDeadlineMs, maxRecordsPerCall, concurrency } =
        writer
      const { lookUp, imports } = writer
      return {
        ...{ deliveryClass, settlingMs, requestDeadlineMs, maxRecordsPerCall, concurrency, lookUp },
        imports: imports && { ...imports, find: () => Promise.resolve({ kind: 'absent' }) },
        identityOf: (fields) => writer.identityOf(fields),
        describeUnsendable: (record) => writer.describeUnsendable(record),
        takeTurn: () => Promise.resolve({ kind: 'go' }),
        deliver: (call) => writer.deliver(call),
        close: () => writer.close(),
      }
    },
  }
}
