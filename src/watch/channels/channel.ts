/** A channel: one way on which alerts reach people. */
import type { AlertChannel } from '../../domain/alert.ts'
import type { AlertNotice, SendOutcome } from '../../domain/alert-notice.ts'

export interface Channel {
  readonly name: AlertChannel
  /**
   * Tries once. It ends as soon as the signal is aborted, and answers `unknown` then; what it throws counts as
   * unknown, too. It repeats nothing by itself.
   */
  send(notice: AlertNotice, signal: AbortSignal): Promise<SendOutcome>
}
