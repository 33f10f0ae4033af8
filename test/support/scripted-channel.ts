/** A channel of alerts that does as it is told, and keeps what it was given. */
import { expect } from 'vitest'
import type { AlertChannel } from '../../src/domain/alert.ts'
import type { AlertNotice, SendOutcome } from '../../src/domain/alert-notice.ts'
import type { Channel } from '../../src/watch/channels/channel.ts'

export const SENT: SendOutcome = { kind: 'sent' }

export type ScriptedSend = (notice: AlertNotice, signal: AbortSignal) => Promise<SendOutcome>

export class ScriptedChannel implements Channel {
  readonly name: AlertChannel
  readonly given: AlertNotice[] = []
  next: ScriptedSend = () => Promise.resolve(SENT)

  constructor(name: AlertChannel) {
    this.name = name
  }

  send(notice: AlertNotice, signal: AbortSignal): Promise<SendOutcome> {
    this.given.push(notice)
    return this.next(notice, signal)
  }

  /** Resolves when it has been given so many. */
  async got(count: number): Promise<readonly AlertNotice[]> {
    await expect.poll(() => this.given.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(count)
    return this.given
  }
}
