/**
 * Kills the workers of a pair while its source changes, and audits what came of it.
 *
 * Each round changes rows, asks for a run and changes more while it is under way. When there have been enough kills,
 * and one at every place, the source comes to rest, whatever is in doubt is settled as a person would find it at the
 * destination, and the sync runs until there is nothing left.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { ApiClient } from '../../../src/client/api-client.ts'
import {
  CreateConnectionMutation,
  CreateSyncMutation,
  PublishSyncMutation,
} from '../../../src/client/documents.ts'
import {
  DeliveriesInDoubtQuery,
  SettleDeliveryMutation,
} from '../../../src/client/steering-documents.ts'
import { FAULT_POINTS } from '../../../src/engine/fault-points.ts'
import { parseGlobalId } from '../../../src/graphql/global-id.ts'
import { startPostgres, type TestService } from '../../support/services.ts'
import { Fleet, KILL_PLACES, type KillPlace } from '../fleet.ts'
import { readStored } from '../read-evidence.ts'
import { type RunnableSync, requestRun, runToEnd, waitForRunEnd } from '../runs.ts'
import type { Chance } from '../seeded.ts'
import { openServers, type Servers } from '../servers.ts'
import type { ConnectionInput, Pair, PairSurroundings, Row } from './pair.ts'
import { auditPair, type PairAudit } from './pair-audit.ts'

export interface PairStormOptions {
  readonly name: string
  readonly chance: Chance
  readonly kills: number
  /** Whether somebody has to die at every place. */
  readonly coversPlaces: boolean
  open(surroundings: PairSurroundings): Promise<Pair>
}

export interface PairFigures extends PairAudit {
  readonly name: string
  readonly kills: number
  readonly killsByPlace: ReadonlyMap<KillPlace, number>
  /** Versions of rows that there were. */
  readonly versions: number
  readonly attempts: number
  /** What went wrong besides. */
  readonly faults: readonly string[]
}

const WORKERS = 3
const FIRST_ROWS = 120
const TROUBLE = 0.02
const OUTLIVE_MS = 4_000
const MAX_ROUNDS = 200
/** Until what was in doubt when its source came to rest is settled and sent. */
const MAX_LAST_RUNS = 20
/** In flight with one worker: a round of calls, or a page, and that of its successor. */
const IN_FLIGHT_PAGES = 2

export async function raisePairStorm(options: PairStormOptions): Promise<PairFigures> {
  const servers = await openServers('fast', 1)
  let others: TestService | null = null
  const openPostgres = async () => {
    others ??= await startPostgres({ isOwn: true })
    return others.url
  }
  const stopOthers = async () => await others?.stop()
  try {
    const chance = options.chance.fork()
    const pair = await options.open({ chance, directory: servers.directory, openPostgres })
    try {
      // Whoever asks the API waits as long as ever.
      const [client] = await servers.openApi({ ...pair.environment, CHAOS_HURRY: '' })
      if (!client) {
        throw new Error('There is no workspace.')
      }
      return await new PairStorm(options, { servers, pair, client }).run()
    } finally {
      await pair.source.close()
      await pair.destination.close()
    }
  } finally {
    await stopOthers()
    await servers.close()
  }
}

class PairStorm {
  readonly #options: PairStormOptions
  readonly #servers: Servers
  readonly #pair: Pair
  readonly #client: ApiClient
  readonly #fleet: Fleet
  readonly #rows = new Map<number, number>()
  readonly #newest = new Map<number, number>()
  #versions = 0

  constructor(
    options: PairStormOptions,
    parts: { readonly servers: Servers; readonly pair: Pair; readonly client: ApiClient },
  ) {
    const { servers, pair, client } = parts
    this.#options = options
    this.#servers = servers
    this.#pair = pair
    this.#client = client
    this.#fleet = new Fleet({
      sql: servers.sql,
      environment: { ...servers.environment, ...pair.environment },
      size: WORKERS,
      chance: options.chance.fork(),
      outliveMs: OUTLIVE_MS,
      watchMs: OUTLIVE_MS,
      points: FAULT_POINTS.filter((point) => point !== 'afterAccept' || pair.hasImports),
    })
  }

  async run(): Promise<PairFigures> {
    await this.#put(FIRST_ROWS, 0)
    const sync = await this.#createSync()
    this.#fleet.start()
    try {
      await Promise.race([this.#play(sync), this.#fleet.failed])
    } finally {
      await this.#fleet.stop()
    }
    return await this.#sum(sync)
  }

  async #play(sync: RunnableSync): Promise<void> {
    this.#pair.destination.setTrouble(TROUBLE)
    for (let rounds = 0; !this.#isEnough(); rounds += 1) {
      if (rounds >= MAX_ROUNDS) {
        throw new Error(`${rounds} rounds have not killed enough workers.`)
      }
      await this.#put(20, 20)
      const runId = await requestRun(sync)
      const ended = waitForRunEnd(this.#servers.sql, runId)
      await this.#put(5, 10)
      await this.#remove()
      await ended
    }
    this.#fleet.spare()
    this.#pair.destination.setTrouble(0)
    await this.#runToRest(sync)
  }

  #isEnough(): boolean {
    const { kills, coversPlaces } = this.#options
    const isEverywhere = !coversPlaces || this.#fleet.missing().length === 0
    return this.#fleet.kills.length >= kills && isEverywhere
  }

  /** Until a run finds nothing to do and nothing is open. */
  async #runToRest(sync: RunnableSync): Promise<void> {
    for (let runs = 0; runs < MAX_LAST_RUNS; runs += 1) {
      await runToEnd(this.#servers.sql, sync)
      await this.#settle(sync)
      if (await this.#isAtRest(sync)) {
        return
      }
    }
    throw new Error(`${sync.name} did not come to rest in ${MAX_LAST_RUNS} runs.`)
  }

  async #isAtRest(sync: RunnableSync): Promise<boolean> {
    const [row] = await this.#servers.sql<{ isAtRest: boolean }[]>`
      select "read" = 0
        and not exists (select from delivery_intent where sync_id = run.sync_id)
        and not exists (select from open_page where sync_id = run.sync_id) as "isAtRest"
      from run where sync_id = ${idOf(sync)} order by id desc limit 1`
    return row?.isAtRest ?? false
  }

  /** As a person does it, who looks at the destination. */
  async #settle({ globalId }: RunnableSync): Promise<void> {
    const { hasKey } = this.#pair.destination
    for (;;) {
      const { sync } = await this.#client.request(DeliveriesInDoubtQuery, { syncId: globalId })
      const doubts = sync?.deliveriesInDoubt.edges.map(({ node }) => node) ?? []
      if (doubts.length === 0 || !hasKey) {
        return
      }
      for (const { intentId, position, page } of doubts) {
        const isThere = hasKey(`${page}${position.toString(16).padStart(8, '0')}`)
        const outcome = isThere ? 'DELIVERED' : 'SEND_AGAIN'
        const input = { intentId, position, outcome, reason: 'Looked at the destination.' } as const
        const { settleDelivery } = await this.#client.request(SettleDeliveryMutation, { input })
        if (settleDelivery.__typename === 'DeliveryInFlight') {
          await wait(500)
        }
      }
    }
  }

  /** New rows, and newer versions of some that there are. */
  async #put(added: number, changed: number): Promise<void> {
    const { chance } = this.#options
    const rows: Row[] = []
    const known = [...this.#rows.keys()]
    for (let n = 0; n < added; n += 1) {
      rows.push({ id: this.#newest.size + n, version: 1 })
    }
    const chosen = new Set<number>()
    for (let n = 0; n < changed && known.length > 0; n += 1) {
      chosen.add(known[chance.whole(0, known.length - 1)] ?? 0)
    }
    for (const id of chosen) {
      rows.push({ id, version: (this.#newest.get(id) ?? 0) + 1 })
    }
    await this.#pair.source.put(rows)
    for (const { id, version } of rows) {
      this.#rows.set(id, version)
      this.#newest.set(id, version)
    }
    this.#versions += rows.length
  }

  async #remove(): Promise<void> {
    const { remove } = this.#pair.source
    const ids = [...this.#rows.keys()].filter(() => this.#options.chance.isTrue(0.01))
    if (remove && ids.length > 0) {
      await remove(ids)
      for (const id of ids) {
        this.#rows.delete(id)
      }
    }
  }

  async #createSync(): Promise<RunnableSync> {
    const { source, destination, pageSize } = this.#pair
    const { name } = this.#options
    const { createSync } = await this.#client.request(CreateSyncMutation, {
      input: {
        name,
        sourceConnectionId: await this.#connect('source', source.connection),
        destinationConnectionId: await this.#connect('destination', destination.connection),
        stream: source.stream,
        streamOptions: source.streamOptions,
        object: destination.object,
        objectOptions: destination.objectOptions,
        mapping: destination.mapping(source.fields),
        pageSize,
      },
    })
    if (createSync.__typename !== 'ChangedSync') {
      throw new Error(`${name}: ${JSON.stringify(createSync)}`)
    }
    const syncId = createSync.sync.id
    const { publishSync } = await this.#client.request(PublishSyncMutation, { syncId })
    if (publishSync.__typename !== 'ChangedSync') {
      throw new Error(`${name}: ${JSON.stringify(publishSync)}`)
    }
    return { name, client: this.#client, globalId: syncId }
  }

  async #connect(end: string, connection: ConnectionInput): Promise<string> {
    const input = { name: `${this.#options.name} ${end}`, ...connection }
    const { createConnection } = await this.#client.request(CreateConnectionMutation, { input })
    if (createConnection.__typename !== 'CreateConnectionPayload') {
      throw new Error(JSON.stringify(createConnection))
    }
    return createConnection.connection.id
  }

  async #sum(sync: RunnableSync): Promise<PairFigures> {
    const { destination, pageSize } = this.#pair
    const { kills, broken } = this.#fleet
    const stored = await readStored(this.#servers.sql, idOf(sync), [])
    const audit = auditPair({
      ...stored,
      name: sync.name,
      sourceRows: [...this.#rows].map(([id, version]) => ({ id, version })),
      newest: this.#newest,
      writes: await destination.writes(),
      destinationRows: await destination.rows(),
      isExact: destination.isExact,
      mostRepeated: (kills.length + stored.attempts.length) * pageSize * IN_FLIGHT_PAGES,
    })
    return {
      ...audit,
      name: sync.name,
      kills: kills.length,
      killsByPlace: new Map(
        KILL_PLACES.map((place) => [place, kills.filter((kill) => kill.place === place).length]),
      ),
      versions: this.#versions,
      attempts: stored.attempts.length,
      faults: broken.map((output) => `A worker ended by itself: ${output.slice(-1_000)}`),
    }
  }
}

function idOf({ globalId }: RunnableSync): string {
  return parseGlobalId(globalId)?.id ?? ''
}
