/**
 * Makes other people's words fit to be kept: one line, bounded, and without what names a person or opens a door.
 *
 * What is masked stands in domain/scrub.ts. It cannot know a name: the engine takes the record's own values out
 * of whatever a destination says of it, and no request body is ever quoted.
 */
import { scrubForeign } from '../domain/scrub.ts'

/** Longest quotation of another system, in characters. */
const MAX_QUOTED_LENGTH = 300

/** Looked at before masking, so that a huge answer costs nothing and no half of an address survives the cut. */
const MAX_EXAMINED_LENGTH = 4_000

const CONTROL = /[\p{Cc}\s]+/gu

/** One line of at most {@link MAX_QUOTED_LENGTH} characters. */
export function redact(text: string): string {
  const line = text.slice(0, MAX_EXAMINED_LENGTH).toWellFormed().replace(CONTROL, ' ')
  const masked = scrubForeign(line).trim()
  return masked.length <= MAX_QUOTED_LENGTH
    ? masked
    : `${masked.slice(0, MAX_QUOTED_LENGTH - 1).toWellFormed()}…`
}
