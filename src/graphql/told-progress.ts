/** What was told of a run, and what is news after that. */
import type { RunProgress } from '../domain/progress.ts'
import { isAfter, isFinal, type Sequence } from '../domain/run.ts'

/** Where a run stands, and the word on it where it has gone quiet. */
export interface ToldProgress {
  readonly progress: RunProgress
  readonly note: string | null
}

/** What a client knows of a run. */
export interface KnownProgress {
  readonly sequence: Sequence
  readonly note: string | null
  readonly isFinal: boolean
}

export function knownFrom({ progress, note }: ToldProgress): KnownProgress {
  return { sequence: progress.sequence, note, isFinal: isFinal(progress.status) }
}

/** Who reports progress this moment has not gone quiet. */
export function toldNow(progress: RunProgress): ToldProgress {
  return { progress, note: null }
}

/** Not what is late or doubled. A final state is never late, as it does not change any more. Also that nothing has come for too long. */
export function isNews(told: ToldProgress, known: KnownProgress): boolean {
  if (known.isFinal) {
    return false
  }
  const { sequence, status } = told.progress
  const hasGoneQuiet = told.note !== null && known.note === null
  return (
    isFinal(status) ||
    isAfter(sequence, known.sequence) ||
    (hasGoneQuiet && !isAfter(known.sequence, sequence))
  )
}

const SEQUENCE = /^(\d{1,15})\.(\d{1,15})$/

/** As clients see it, such as `3.17`. */
export function encodeSequence({ epoch, n }: Sequence): string {
  return `${epoch}.${n}`
}

/** Null for a text that is none. */
export function parseSequence(text: string): Sequence | null {
  const match = SEQUENCE.exec(text)
  return match && { epoch: Number(match[1]), n: Number(match[2]) }
}
