/**
 * Makes other people's words fit to be kept: bounded, and without what names a person or opens a door.
 *
 * Masked: e-mail addresses, runs of 6 or more digits also with phone punctuation (phone numbers, card
 * numbers, dates), long tokens. It cannot know a name; so no request body is ever quoted, only what a
 * destination chose to say about it.
 */

/** Longest quotation of another system, in characters. */
const MAX_QUOTED_LENGTH = 300

/** Looked at before masking, so that a huge answer costs nothing and no half of an address survives the cut. */
const MAX_EXAMINED_LENGTH = 4_000

const EMAIL = /[^\s@<>"'(),:;[\]{}]+@[^\s@<>"'(),:;[\]{}]+/g
const TOKEN = /[A-Za-z0-9_+/=.-]{24,}/g
const DIGITS = /\+?\d(?:[\s().\-/]{0,2}\d){5,}/g
const CONTROL = /[\p{Cc}\s]+/gu

/** One line of at most {@link MAX_QUOTED_LENGTH} characters. */
export function redact(text: string): string {
  const masked = text
    .slice(0, MAX_EXAMINED_LENGTH)
    .toWellFormed()
    .replace(CONTROL, ' ')
    .replace(EMAIL, '[e-mail]')
    .replace(TOKEN, maskToken)
    .replace(DIGITS, '[number]')
    .trim()
  return masked.length <= MAX_QUOTED_LENGTH
    ? masked
    : `${masked.slice(0, MAX_QUOTED_LENGTH - 1).toWellFormed()}…`
}

/** Long words of letters are words; what mixes in digits is a key, a token or a hash. */
function maskToken(token: string): string {
  return /\d/.test(token) ? '[token]' : token
}
