/**
 * Moves what is sealed with an old key to the one that seals now, so that the old one can be taken away.
 *
 * Invariants: a text is replaced only as it was read, so whatever else becomes of it wins; one that does not open stays as
 * it is. While a process lives that seals with another key nothing is moved: it may not know this one, and two would move the
 * same texts to and fro.
 */
import { sealedFor } from '../domain/test-run.ts'
import { unreachable } from '../runtime/assert.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Sealer } from '../runtime/seal.ts'
import { PeriodicService, type Service } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import {
  hasOtherSealers,
  listKeysInUse,
  listSealedTexts,
  replaceSealedText,
  SEALED_KINDS,
  type SealedKind,
  type SealedText,
} from '../store/sealed-texts.ts'
import { placeOf } from './quarantine.ts'

export interface SealingUpkeepOptions {
  readonly database: Database
  readonly sealer: Sealer
  readonly clock: Clock
  readonly logger: Logger
}

const INTERVAL_MS = 5 * 60_000
/** A row that is set aside may have 1 MiB. */
const TEXTS_A_PORTION = 20
const MAX_PORTIONS_A_ROUND = 500

export class SealingUpkeep implements Service {
  readonly name = 'sealing-upkeep'
  readonly #options: SealingUpkeepOptions
  readonly #rounds: PeriodicService
  /** What was told last, so that it is told once. */
  #told = ''

  constructor(options: SealingUpkeepOptions) {
    const { clock, logger } = options
    this.#options = options
    this.#rounds = new PeriodicService({
      ...{ name: this.name, intervalMs: INTERVAL_MS, clock, logger },
      round: (signal) => this.runOnce(signal),
    })
  }

  start(): void {
    this.#rounds.start()
  }

  async stop(): Promise<void> {
    await this.#rounds.stop()
  }

  async runOnce(signal: AbortSignal = new AbortController().signal): Promise<void> {
    const { database, sealer, logger } = this.#options
    const { keyId, knownKeyIds } = sealer
    const used = [...new Set((await listKeysInUse(database)).map((one) => one.keyId))]
    const unknown = used.filter((id) => !knownKeyIds.includes(id))
    const old = used.filter((id) => id !== keyId && knownKeyIds.includes(id))
    const hasOthers = await hasOtherSealers(database, keyId)
    this.#tell({ unknown, old, hasOthers })
    if (old.length === 0) {
      return
    }
    if (hasOthers) {
      logger.info('sealing.waiting', { keyId, oldKeyIds: old.join(', ') })
      return
    }
    for (const kind of SEALED_KINDS) {
      await this.#move(kind, old, signal)
    }
  }

  #tell({
    unknown,
    old,
    hasOthers,
  }: {
    readonly unknown: readonly string[]
    readonly old: readonly string[]
    readonly hasOthers: boolean
  }) {
    const { sealer, logger } = this.#options
    const now = JSON.stringify([unknown, old, hasOthers])
    if (now === this.#told) {
      return
    }
    this.#told = now
    if (unknown.length > 0) {
      logger.error('sealing.key_unknown', {
        ...{ keyIds: unknown.join(', '), knownKeyIds: sealer.knownKeyIds.join(', ') },
      })
    }
    const isUnused = old.length === 0 && unknown.length === 0 && !hasOthers
    if (isUnused && sealer.knownKeyIds.length > 1) {
      logger.info('sealing.old_keys_unused', { keyId: sealer.keyId })
    }
  }

  async #move(kind: SealedKind, keyIds: readonly string[], signal: AbortSignal): Promise<void> {
    const { database, logger } = this.#options
    const figures = { moved: 0, unreadable: 0 }
    let after: string | null = null
    for (let portion = 0; portion < MAX_PORTIONS_A_ROUND && !signal.aborted; portion += 1) {
      const texts: readonly SealedText[] = await listSealedTexts(database, {
        ...{ kind, keyIds, after, limit: TEXTS_A_PORTION },
      })
      for (const text of texts) {
        const outcome = await this.#moveOne(text)
        figures.moved += Number(outcome === 'moved')
        figures.unreadable += Number(outcome === 'unreadable')
      }
      after = texts.at(-1)?.id ?? null
      if (texts.length < TEXTS_A_PORTION) {
        break
      }
    }
    if (figures.moved + figures.unreadable > 0) {
      logger.info('sealing.moved', { kind, ...figures })
    }
  }

  async #moveOne(text: SealedText): Promise<'moved' | 'changed' | 'unreadable'> {
    const sealed = this.#sealAnew(text)
    if (sealed === null) {
      return 'unreadable'
    }
    const isReplaced = await replaceSealedText(this.#options.database, text, sealed)
    return isReplaced ? 'moved' : 'changed'
  }

  /** Null: it does not open, although its key is known: it was changed, or sealed for another place. */
  #sealAnew(text: SealedText): string | null {
    const { sealer } = this.#options
    const place = boundTo(text)
    let plain: string
    try {
      plain = sealer.unseal(text.sealed, place)
    } catch {
      return null
    }
    return sealer.seal(plain, place)
  }
}

function boundTo(text: SealedText): string {
  switch (text.kind) {
    case 'connection':
      return text.id
    case 'rejected_record':
      return placeOf(text.syncId, text)
    case 'test_run':
      return sealedFor(text.id)
    default:
      return unreachable(text)
  }
}
