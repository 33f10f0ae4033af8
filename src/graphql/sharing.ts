/**
 * A stream that many clients share, as seen by whoever hands its events out to them.
 *
 * Beside each event stands what it is about, so that a slow client may be given the newest of each run
 * only. Who joins asks for a look at the database: the first event that says it was read after that
 * tells that the newest events together are a snapshot for who has joined.
 */

/** The subscriptions that describe their events so. What they tell depends on the workspace and the role, and on nobody. */
export const SHARED_SUBSCRIPTIONS: readonly string[] = ['runProgress', 'syncRuns', 'workspaceRuns']

/** Whom an event is for: all, or those who wait for their snapshot, or nobody (it only says that the look is done). */
export type Audience = 'everybody' | 'joining' | 'nobody'

export interface EventNote {
  /** A newer event takes the place of an older one with the same subject: a run's id; null for a keep-alive. */
  readonly subject: string | null
  readonly audience: Audience
  /** The event and those before it tell what was read after so many looks had been asked for. */
  readonly looks: number
  /** What the snapshot of who joins later keeps of its subject: this event, or nothing. Or the stream is over. */
  readonly leaves: 'event' | 'nothing' | 'noStream'
}

export class Sharing {
  #looksAsked = 0
  #note: EventNote | null = null
  #look: () => void = () => undefined

  get looksAsked(): number {
    return this.#looksAsked
  }

  /** Whoever joins asks for a look; the answer is its number. */
  askForLook(): number {
    this.#looksAsked += 1
    this.#look()
    return this.#looksAsked
  }

  /** Calls back when somebody asks. */
  onAsked(look: () => void): void {
    this.#look = look
  }

  /** What is said of the event that is being handed out. */
  describe(note: EventNote): void {
    this.#note = note
  }

  /** Null: nothing was said of it, as for an error. */
  takeNote(): EventNote | null {
    const note = this.#note
    this.#note = null
    return note
  }
}
