/**
 * Sends the notices of alerts: one loop a channel, each for itself.
 *
 * An alert that nobody hears is none. So whatever one channel does, fail, hang or throw, the others go on;
 * what failed is tried again; and what is due is in the database, so that any process sends it, whoever wrote
 * it and whoever died. Invariants: a notice is sent by one process at a time, which the database decides; who
 * has sent one keeps trying to say so as long as it is its own, so that only a death on the way (or a stop as
 * long) sends it a second time; the second time it says so. What a channel is to be told does not depend on the
 * process that raised the alert: before it sends, a loop adds what its channel lacks.
 */
import { announceAlerts } from '../coordination/announce.ts'
import { ALERT_CHANNEL, type Bus, type Unsubscribe } from '../coordination/bus.ts'
import {
  ALERT_CLAIM_LIFE_MS,
  ALERT_SEND_DEADLINE_MS,
  decideNotice,
  type NoticeDecision,
  type SendOutcome,
} from '../domain/alert-notice.ts'
import { scrub } from '../domain/scrub.ts'
import { unreachable } from '../runtime/assert.ts'
import type { Clock } from '../runtime/clock.ts'
import { describeError, type Logger } from '../runtime/logger.ts'
import { PeriodicService, type Service } from '../runtime/service.ts'
import { WakeUp } from '../runtime/wake-up.ts'
import {
  abandonNotices,
  type ClaimedNotice,
  claimNotice,
  giveUpNotice,
  markNoticeSent,
  postponeNotice,
  serveChannel,
} from '../store/alert-notices.ts'
import type { Database } from '../store/database.ts'
import type { Channel } from './channels/channel.ts'

export interface AlertSenderOptions {
  readonly database: Database
  readonly bus: Bus
  readonly clock: Clock
  readonly logger: Logger
  readonly channels: readonly Channel[]
  /** How long a lost wake-up can go unnoticed. */
  readonly pollMs: number
  /** Longest that one try may take. */
  readonly sendDeadlineMs?: number
  /** How often it looks for channels that nobody sends on. */
  readonly abandonEveryMs?: number
}

const ABANDON_EVERY_MS = 3_600_000

export class AlertSender implements Service {
  readonly name = 'alert-sender'
  readonly #options: AlertSenderOptions
  readonly #loops: readonly ChannelLoop[]
  readonly #abandoning: PeriodicService
  #hasLooked = false
  #unsubscribe: Unsubscribe | null = null
  #stopListeningForGaps: (() => void) | null = null

  constructor(options: AlertSenderOptions) {
    this.#options = options
    this.#loops = options.channels.map((channel) => new ChannelLoop(channel, options))
    this.#abandoning = new PeriodicService({
      ...options,
      name: this.name,
      intervalMs: options.abandonEveryMs ?? ABANDON_EVERY_MS,
      round: () => this.#abandon(),
    })
  }

  async start(): Promise<void> {
    const { bus } = this.#options
    const wake = () => {
      for (const loop of this.#loops) {
        loop.wake()
      }
    }
    this.#unsubscribe = await bus.subscribe(ALERT_CHANNEL, wake)
    this.#stopListeningForGaps = bus.onGap(wake)
    for (const loop of this.#loops) {
      loop.start()
    }
    this.#abandoning.start()
  }

  /** What is being sent is sent, and marked; nothing else is begun. */
  async stop(): Promise<void> {
    this.#stopListeningForGaps?.()
    await this.#unsubscribe?.()
    await Promise.all([this.#abandoning.stop(), ...this.#loops.map((loop) => loop.stop())])
  }

  /** Not at its start: after days in which nothing ran, the other processes may start after this one. */
  async #abandon(): Promise<void> {
    if (!this.#hasLooked) {
      this.#hasLooked = true
      return
    }
    for (const { channel, notices } of await abandonNotices(this.#options.database)) {
      this.#options.logger.error('alert.channel_abandoned', { channel, notices })
    }
  }
}

/** Between two tries to record what became of a notice. */
const RECORD_WAIT_MS = 1_000

class ChannelLoop {
  readonly #channel: Channel
  readonly #options: AlertSenderOptions
  readonly #wakeUp = new WakeUp()
  #stopping = new AbortController()
  #loop: Promise<void> | null = null

  constructor(channel: Channel, options: AlertSenderOptions) {
    this.#channel = channel
    this.#options = options
  }

  start(): void {
    this.#stopping = new AbortController()
    this.#loop = this.#run(this.#stopping.signal)
  }

  wake(): void {
    this.#wakeUp.wake()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.wake()
    await this.#loop
    this.#loop = null
  }

  async #run(stopping: AbortSignal): Promise<void> {
    const { clock, logger, pollMs } = this.#options
    while (!stopping.aborted) {
      try {
        await this.#addMissing()
        await this.#sendDue(stopping)
      } catch (error) {
        logger.error('alert.round_failed', { channel: this.#channel.name }, error)
      }
      if (!stopping.aborted) {
        await this.#wakeUp.wait(clock, pollMs)
      }
    }
  }

  /** What is due is sent also where this cannot be done. */
  async #addMissing(): Promise<void> {
    const { database, logger } = this.#options
    const { name: channel } = this.#channel
    try {
      const notices = await serveChannel(database, channel)
      if (notices > 0) {
        logger.info('alert.notices_added', { channel, notices })
      }
    } catch (error) {
      logger.error('alert.notices_not_added', { channel }, error)
    }
  }

  async #sendDue(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      const { clock, database } = this.#options
      const endsAtMs = clock.monotonicMs() + ALERT_CLAIM_LIFE_MS
      const notice = await claimNotice(database, this.#channel.name)
      // Stopped for so long in between, it may have lost the claim to somebody who has sent it by now.
      if (notice === null || clock.monotonicMs() >= endsAtMs) {
        return
      }
      const outcome = await this.#send(notice)
      const decision = decideNotice(outcome, notice)
      this.#tell(notice, decision)
      await this.#record(notice, decision, { endsAtMs, stopping })
      if (this.#channel.name === 'log') {
        // Whoever raised it may have died before it said so: every alert comes by the log.
        await announceAlerts(this.#options.bus)
      }
    }
  }

  /** Ends by the deadline, whatever the channel does. */
  async #send(notice: ClaimedNotice): Promise<SendOutcome> {
    const { clock, logger, sendDeadlineMs = ALERT_SEND_DEADLINE_MS } = this.#options
    const [late, done] = [new AbortController(), new AbortController()]
    const deadline = clock.sleep(sendDeadlineMs, done.signal).then(
      (): SendOutcome => {
        late.abort()
        return { kind: 'unknown', reason: 'It took too long.' }
      },
      // The channel has answered before.
      () => new Promise<never>(() => undefined),
    )
    try {
      return await Promise.race([this.#channel.send(notice, late.signal), deadline])
    } catch (error) {
      logger.error('alert.channel_broken', { channel: this.#channel.name }, error)
      return { kind: 'unknown', reason: `It broke: ${describeError(error, scrub)['errorChain']}` }
    } finally {
      done.abort()
    }
  }

  #tell(notice: ClaimedNotice, decision: NoticeDecision): void {
    const { logger } = this.#options
    const { id: noticeId, tries, isRepetition } = notice
    const told = { channel: this.#channel.name, noticeId, alertId: notice.alert.id, tries }
    switch (decision.kind) {
      case 'mark_sent':
        logger.debug('alert.sent', { ...told, isRepetition })
        break
      case 'postpone':
        logger.warn('alert.postponed', {
          ...told,
          waitMs: decision.waitMs,
          reason: decision.reason,
        })
        break
      case 'give_up':
        logger.error('alert.given_up', { ...told, reason: decision.reason })
        break
      default:
        unreachable(decision)
    }
  }

  /** Tries until the database has it, as long as the claim lives: who comes after would send it again. */
  async #record(
    notice: ClaimedNotice,
    decision: NoticeDecision,
    until: { readonly endsAtMs: number; readonly stopping: AbortSignal },
  ): Promise<void> {
    const { clock, logger } = this.#options
    const { id: noticeId, tries } = notice
    const told = { channel: this.#channel.name, noticeId, tries }
    for (let isFirst = true; ; isFirst = false) {
      try {
        const isRecorded = await this.#recordOnce(notice, decision)
        // A later time it is recorded already, where only the answer was lost.
        if (!isRecorded && isFirst) {
          logger.warn('alert.claim_lost', told)
        }
        return
      } catch (error) {
        if (until.stopping.aborted || clock.monotonicMs() >= until.endsAtMs) {
          throw error
        }
        logger.warn('alert.record_failed', told, error)
        // Woken by the stop it tries a last time.
        await clock.sleep(RECORD_WAIT_MS, until.stopping).catch(() => undefined)
      }
    }
  }

  #recordOnce(notice: ClaimedNotice, decision: NoticeDecision): Promise<boolean> {
    const { database } = this.#options
    switch (decision.kind) {
      case 'mark_sent':
        return markNoticeSent(database, notice)
      case 'postpone':
        return postponeNotice(database, notice, decision)
      case 'give_up':
        return giveUpNotice(database, notice, decision.reason)
      default:
        return unreachable(decision)
    }
  }
}
