/**
 * Why a command was not carried out. Every refusal is one full sentence, and nothing was changed.
 *
 * The API shows them as members of a mutation's result; anything else that a command throws is a bug
 * or an outage.
 */
import type { Settlement } from '../domain/doubt.ts'
import type { Role } from '../domain/role.ts'
import type { Instant } from '../runtime/clock.ts'

/** `field`: the input's field as a dotted path. `reason`: one full sentence. */
export interface InputProblem {
  readonly field: string
  readonly reason: string
}

export abstract class Refusal extends Error {
  /** Stable, in capitals; `extensions.code` where the refusal is a GraphQL error. */
  abstract readonly code: string
}

/** All problems of the input at once. */
export class InvalidInput extends Refusal {
  override readonly name = 'InvalidInput'
  readonly code = 'INVALID_INPUT'
  readonly problems: readonly InputProblem[]

  constructor(problems: readonly InputProblem[]) {
    super(problems.map(({ field, reason }) => `${field}: ${reason}`).join(' '))
    this.problems = problems
  }
}

/** The token may not do this. */
export class Forbidden extends Refusal {
  override readonly name = 'Forbidden'
  readonly code = 'FORBIDDEN'
  readonly needed: Role

  constructor(given: { readonly tokenName: string; readonly role: Role; readonly needed: Role }) {
    const [role, needed] = [given.role.toUpperCase(), given.needed.toUpperCase()]
    const more = given.needed === 'admin' ? '' : ' or more'
    super(
      `The token ${JSON.stringify(given.tokenName)} has the role ${role}, and this needs ${needed}${more}. An ADMIN of the workspace can make a token that may do it.`,
    )
    this.needed = given.needed
  }
}

/** It is shown to Tajo's operators only, who look after all workspaces. */
export class ForTajoOnly extends Refusal {
  override readonly name = 'ForTajoOnly'
  readonly code = 'FORBIDDEN'

  constructor() {
    super('This is for a token of Tajo\'s operators ("viewer { isTajo }").')
  }
}

/** Others were at the same things for longer than anybody waits. Nothing was done. */
export class Busy extends Refusal {
  override readonly name = 'Busy'
  readonly code = 'BUSY'

  constructor(
    why = 'Others are changing the same at this moment, so nothing was done: send the request again.',
  ) {
    super(why)
  }
}

/** What needs the tool cannot be done. */
export class NotConnected extends Refusal {
  override readonly name = 'NotConnected'
  readonly code = 'NOT_CONNECTED'

  constructor(connectionName: string) {
    super(
      `The tool ${JSON.stringify(connectionName)} is not connected: connect it again (reconnectConnection).`,
    )
  }
}

/** The same answer for what does not exist and for what belongs to another workspace. */
export class NotFound extends Refusal {
  override readonly name = 'NotFound'
  readonly code = 'NOT_FOUND'
  readonly field: string

  constructor(
    what:
      | 'sync'
      | 'run'
      | 'connection'
      | 'alert'
      | 'token'
      | 'delivery in doubt'
      | 'publication request',
    field: string,
  ) {
    super(`There is no ${what} with the id that is given in ${field}.`)
    this.field = field
  }
}

export class AlreadyRunning extends Refusal {
  override readonly name = 'AlreadyRunning'
  readonly code = 'ALREADY_RUNNING'
  readonly runId: string

  constructor(runId: string) {
    super('This sync rule is already running.')
    this.runId = runId
  }
}

export class SyncPaused extends Refusal {
  override readonly name = 'SyncPaused'
  readonly code = 'SYNC_PAUSED'
  readonly isByBreaker: boolean

  constructor(isByBreaker: boolean) {
    super(
      isByBreaker
        ? 'The failure circuit breaker paused this sync: mend the cause and publish it again.'
        : 'This sync is paused: resume it to run it.',
    )
    this.isByBreaker = isByBreaker
  }
}

/** A run is still stopping after a pause. */
export class SyncStillPausing extends Refusal {
  override readonly name = 'SyncStillPausing'
  readonly code = 'SYNC_STILL_PAUSING'

  constructor() {
    super(
      'This sync is still pausing, because its run has yet to stop: try again once it is paused.',
    )
  }
}

export class NotPublished extends Refusal {
  override readonly name = 'NotPublished'
  readonly code = 'NOT_PUBLISHED'

  constructor() {
    super('This sync was never published: publish it first.')
  }
}

/** The workspace wants four eyes for what is published. */
export class ApprovalNeeded extends Refusal {
  override readonly name = 'ApprovalNeeded'
  readonly code = 'APPROVAL_NEEDED'

  constructor() {
    super(
      'This workspace publishes only what somebody else has approved: request the publication (requestPublication), and an ADMIN with another token approves it.',
    )
  }
}

/** The draft is the version that runs already. */
export class NothingToPublish extends Refusal {
  override readonly name = 'NothingToPublish'
  readonly code = 'NOTHING_TO_PUBLISH'

  constructor() {
    super('The draft of this sync is the version that runs already: there is nothing to publish.')
  }
}

/** Whether the version fits could not be asked, so nothing was published. It may be another time. */
export class SystemOutOfReach extends Refusal {
  override readonly name = 'SystemOutOfReach'
  readonly code = 'SYSTEM_OUT_OF_REACH'
  /** `field`: the setting that names the connection. */
  readonly unchecked: readonly InputProblem[]

  constructor(unchecked: readonly InputProblem[]) {
    const told = unchecked.map(({ field, reason }) => `${field}: ${reason}`).join(' ')
    super(
      `Whether the other system would take this version could not be checked. ${told} Try again later, or accept that it is published unchecked (acceptsUnchecked).`,
    )
    this.unchecked = unchecked
  }
}

/** Four eyes: who asked does not answer. */
export class OwnRequest extends Refusal {
  override readonly name = 'OwnRequest'
  readonly code = 'OWN_REQUEST'

  constructor() {
    super(
      'This publication was requested with the same token: an ADMIN with another token approves or refuses it. It can be withdrawn.',
    )
  }
}

/** Something else has become of the request. */
export class RequestClosed extends Refusal {
  override readonly name = 'RequestClosed'
  readonly code = 'REQUEST_CLOSED'
  readonly status: keyof typeof REQUEST_CLOSED

  constructor(status: keyof typeof REQUEST_CLOSED) {
    super(REQUEST_CLOSED[status])
    this.status = status
  }
}

const REQUEST_CLOSED = {
  approved: 'This request was approved before: its version was published.',
  refused: 'This request was refused before: the publication can be requested again.',
  withdrawn: 'This request was withdrawn before: the publication can be requested again.',
  superseded:
    'This request does not stand any more: since it was made, the draft was changed, or its version became active without it. Request the publication of the draft as it is now.',
}

export class NothingToRetry extends Refusal {
  override readonly name = 'NothingToRetry'
  readonly code = 'NOTHING_TO_RETRY'
  readonly why: keyof typeof NOTHING_TO_RETRY
  /** The retry that stands for the run now, where there is one. */
  readonly runId: string | null

  constructor(why: NothingToRetry['why'], runId: string | null) {
    super(NOTHING_TO_RETRY[why])
    this.why = why
    this.runId = runId
  }
}

const NOTHING_TO_RETRY = {
  test_run: 'This run was a test of a draft: start another test of it (testSync) instead.',
  not_failed: 'This run cannot be retried: only a failed or partial run can.',
  resolved: 'A retry of this run has already succeeded.',
  retried: 'This run was already retried, and its latest retry has ended: retry that one instead.',
}

/** The call may still be under way, so nobody can know what became of it. */
export class DeliveryInFlight extends Refusal {
  override readonly name = 'DeliveryInFlight'
  readonly code = 'DELIVERY_IN_FLIGHT'
  /** From when it can be settled; while its run is at work it may be later. */
  readonly settleableAt: Instant

  constructor(isRunning: boolean, settleableAt: Instant) {
    const time = settleableAt.toISOString()
    super(
      isRunning
        ? `The run that sent this delivery is still running: it can be settled once that has stopped, and not before ${time}.`
        : `The destination may still apply this delivery: it can be settled from ${time} on.`,
    )
    this.settleableAt = settleableAt
  }
}

/** Somebody said before that the opposite became of it. */
export class AlreadySettled extends Refusal {
  override readonly name = 'AlreadySettled'
  readonly code = 'ALREADY_SETTLED'
  readonly settlement: Settlement

  constructor(settlement: Settlement) {
    super(
      settlement === 'delivered'
        ? 'This delivery was already settled as delivered.'
        : 'This delivery was already settled as to be sent again.',
    )
    this.settlement = settlement
  }
}

/** Somebody else changed the sync between its being read and its being written, again and again. */
export class ChangedMeanwhile extends Refusal {
  override readonly name = 'ChangedMeanwhile'
  readonly code = 'CHANGED_MEANWHILE'

  constructor() {
    super('Somebody else changed this sync at the same time: read it again and repeat the change.')
  }
}
