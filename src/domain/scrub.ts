/**
 * Takes personal data and secrets out of texts that are kept, logged or shown.
 *
 * What gives itself away is masked by its look: e-mail addresses, phone and card numbers, tokens, passwords, what
 * an address carries of a user and of a query, and the values that databases repeat. A name does not: so where the
 * record is at hand of which a text speaks, its values are taken out as they are (scrub-values.ts). Status
 * codes, names of fields and vendors' error codes stay. A text that was scrubbed before does not change any more (I20).
 */
/** Looked at before anything is masked, so that a huge text costs nothing and no half of an address survives a cut. */
export const MAX_EXAMINED_LENGTH = 8_000

/** What databases repeat of a row (PostgreSQL, MySQL), to the end of the text where it was cut. */
const DATABASE_VALUES: readonly (readonly [RegExp, string])[] = [
  [/(\bKey \([^)]*\)=)\((?:.*\)|.*)/gs, '$1([value])'],
  [/(\bfailing row contains )\((?:.*\)|.*)/gis, '$1([value])'],
  [/(\binvalid input (?:syntax|value) for [^":]*: )"(?:.*"|.*)/gis, '$1"[value]"'],
  [/(\b(?:value|out of range:) )"[^"]*"?/gi, '$1"[value]"'],
  [/(\bDuplicate entry )'(?:.*'(?= for key)|.*)/gis, "$1'[value]'"],
  [/(\bIncorrect [\w ]+ value: )'(?:.*'|.*)/gis, "$1'[value]'"],
]

const URL_PARTS = /\b([a-z][a-z0-9+.-]{1,20}:\/\/)([^\s"'<>]+)/gi
/** A member that holds a secret, and what is written behind it. */
const SECRET_MEMBER =
  /(?<![\w.-])([\w.-]*(?:passw(?:or)?d|pwd|secret|token|api[-_ ]?key|access[-_]?key|authori[sz]ation|signature|cookie|credentials?)[\w.-]*\\?["']?\s*)([:=])(\s*\\?["']?)(?!\[)((?:Bearer |Basic )?[^\s"'&,;)}\]\\]+)/gi
/** Behind a colon a sentence may go on. */
const PLAIN_WORD =
  /^(?:is|was|are|not|no|must|may|has|had|cannot|invalid|missing|required|expired|revoked|unknown|wrong|denied|malformed|the|a|an|too)$/i
const BEARER =
  /\b(Bearer|Basic)\s+(?!\[|(?:token|auth|realm|credential|scheme|access|error|is|was)\w*)[^\s"',;)]+/gi
const VENDOR_KEY =
  /\b(?:(?:sk|pk|rk)[-_](?:live|test|prod)[-_]|sk-|gh[a-z]_|xox[a-z]-|shp[a-z]{2}_|xkeysib-|xsmtpsib-|tajo_|whsec_|A[KS]IA(?=[0-9A-Z]{12})|AIza|eyJ)[\w.-]{6,}/g
const EMAIL = /(?<![^\s@<>"'(),:;[\]{}=])[^\s@<>"'(),:;[\]{}=]+@[^\s@<>"'(),:;[\]{}]+/g
const ENCODED_EMAIL = /[\w.+-]{1,64}%40[\w.-]+/gi
/** Captured, so that a split keeps them: every second part is one. */
const IDS = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/gi
const TOKEN = /[A-Za-z0-9_+/=.-]{24,}/g
const DIGITS = /\+?\d(?:[\s().\-/]{0,2}\d){5,}/g

/** Of our own words, perhaps with somebody else's in them: ids, line numbers and sizes stay. */
export function scrub(text: string): string {
  return maskTelling(text)
    .split(IDS)
    .map((part, index) => (index % 2 === 1 ? part : maskLong(part, isCount)))
    .join('')
}

/** Of another system's words: nothing that looks like a key or a number of 6 digits stays. */
export function scrubForeign(text: string): string {
  return maskLong(maskTelling(text), () => false)
}

/** What tells by its look, or by what stands in front of it. */
function maskTelling(text: string): string {
  let masked = text.slice(0, MAX_EXAMINED_LENGTH)
  for (const [pattern, replacement] of DATABASE_VALUES) {
    masked = masked.replace(pattern, replacement)
  }
  return masked
    .replace(URL_PARTS, (_, scheme: string, rest: string) => scheme + maskAddress(rest))
    .replace(SECRET_MEMBER, maskSecret)
    .replace(BEARER, '$1 [secret]')
    .replace(VENDOR_KEY, '[token]')
    .replace(EMAIL, '[e-mail]')
    .replace(ENCODED_EMAIL, '[e-mail]')
}

function maskLong(text: string, isKept: (text: string, at: number, digits: string) => boolean) {
  return text
    .replace(TOKEN, maskToken)
    .replace(DIGITS, (digits: string, at: number, whole: string) =>
      isKept(whole, at, digits) ? digits : '[number]',
    )
}

/** Long words of letters, hosts and paths are words; what mixes in digits is a key, a token or a hash. */
function maskToken(token: string): string {
  const isKey = token.split(/[/.]/).some((part) => part.length >= MIN_KEY_LENGTH && /\d/.test(part))
  return isKey ? '[token]' : token
}

/** Shorter parts of what is long as a whole are names. */
const MIN_KEY_LENGTH = 16

const BEFORE_COUNT = /\b(?:line|row|position|column|page|byte|offset) $/
const BEHIND_COUNT = /^ (?:bytes|characters|records|rows|ms|s)\b/
/** A line of a file; numbers of telephones are longer. */
const MAX_COUNT_DIGITS = 9

function isCount(text: string, at: number, digits: string): boolean {
  return (
    /^\d+$/.test(digits) &&
    digits.length <= MAX_COUNT_DIGITS &&
    (BEFORE_COUNT.test(text.slice(Math.max(0, at - 20), at)) ||
      BEHIND_COUNT.test(text.slice(at + digits.length, at + digits.length + 20)))
  )
}

/** Host and path stay. */
function maskAddress(rest: string): string {
  const end = rest.search(/[/?#]/)
  const authority = end === -1 ? rest : rest.slice(0, end)
  const path = (end === -1 ? '' : rest.slice(end)).replace(/[?#].+$/, '?[secret]')
  const at = authority.lastIndexOf('@')
  return (at === -1 ? authority : `[secret]@${authority.slice(at + 1)}`) + path
}

function maskSecret(match: string, member: string, sign: string, gap: string, value: string) {
  return sign === ':' && PLAIN_WORD.test(value) ? match : `${member}${sign}${gap}[secret]`
}
