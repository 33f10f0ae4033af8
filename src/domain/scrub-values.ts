/**
 * Takes the values of a record out of a text that speaks of the record, such as a destination's reason for
 * rejecting it: a name cannot be known by its look.
 *
 * A value is found in whatever case, also where it was cut off, and where it stands as in an address. What stays
 * is what says nothing of a person: names of fields, the words of our own sentences, one letter, numbers of
 * fewer than 4 digits (a status code looks the same). Of a long value that is quoted from its middle nothing is found.
 */
import { isJsonArray, type JsonObject, type JsonValue, MAX_JSON_DEPTH } from './json.ts'
import { MAX_EXAMINED_LENGTH, scrub, scrubForeign } from './scrub.ts'

/** What has been examined for one answer, in characters; its reasons share it. */
export interface Effort {
  examined: number
}

/**
 * So many characters are examined for an answer, while the event loop stands still: a second at worst was measured,
 * of the 15 that a lease is trusted. Ten thousand records of twenty values, none of them long, take a quarter of it.
 */
export const MAX_EXAMINED = 20_000_000
/** Making a masked form takes as long as examining the value so many times, if it is a long word. */
const MASKING_EFFORT = 16
/** To look for something takes much less. */
const LOOKING_EFFORT = 1 / 128
const MAX_VALUE_LENGTH = 4_000
/** By so much of a longer value is decided whether the text can speak of it. */
const HEAD_LENGTH = 256
/** So much is shown of a text of which not all values could be looked for. */
const MAX_MASKED_LENGTH = 300
/** So many characters of a long value tell it, wherever the quotation ends. */
const TELLING_LENGTH = 12
/** So many characters of a value that was cut off at the end of a text are taken out. */
const CUT_LENGTH = 2
const MAX_NAME_WORDS = 5
const MIN_DIGITS = 4
const MASK = '[value]'
/** Other values do not change when they are masked by their look. */
const MASKABLE = /[\d@]/

/**
 * The text without the values of the records, as they are and as they were mapped, and without what gives itself
 * away (scrub.ts); a mask in the place of each. Where there are too many values to look for, or they are nested too
 * deeply, every word goes that is not ours, and not the name of a field.
 */
export function scrubValues(
  text: string,
  records: Iterable<JsonObject>,
  effort: Effort = { examined: 0 },
): string {
  // What is cut off here is found as any value with which a text ends.
  const said =
    text.length > MAX_EXAMINED_LENGTH ? `${text.slice(0, MAX_EXAMINED_LENGTH - 1)}…` : text
  const search = new Search(said, effort)
  for (const record of records) {
    if (!search.add(record)) {
      return maskWords(said, search.names)
    }
  }
  return scrub(search.takeOutAll())
}

/**
 * Looks for values in one text. A value is made comparable in all its forms only where the text has the
 * beginning of one, so that most of them cost a look.
 */
class Search {
  readonly names = new Set<string>()
  readonly #text: string
  readonly #folded: string
  readonly #effort: Effort
  readonly #isMasked: boolean
  readonly #endings: Endings
  readonly #seen = new Set<string>()
  /** Forms that begin somewhere in the text, by their beginnings, and those with whose beginning it ends. */
  readonly #found = new Map<string, Set<string>>()
  readonly #cut = new Set<string>()

  constructor(text: string, effort: Effort) {
    this.#text = text
    this.#folded = fold(text)
    this.#effort = effort
    effort.examined += text.length * MASKING_EFFORT
    // Without a mask in the text there is none to be compared with.
    this.#isMasked = /\[[a-z-]+\]/.test(text)
    this.#endings = endingsOf(this.#folded)
  }

  /** False: not all of it could be looked for. */
  add(value: JsonValue, depth = 0): boolean {
    this.#effort.examined += 1
    if (depth > MAX_JSON_DEPTH || this.#effort.examined > MAX_EXAMINED) {
      return false
    }
    if (typeof value === 'string') {
      this.#addText(value.slice(0, MAX_VALUE_LENGTH))
    } else if (typeof value === 'number') {
      this.#addText(String(value))
    } else if (value !== null && typeof value === 'object') {
      return isJsonArray(value)
        ? value.every((item) => this.add(item, depth + 1))
        : Object.entries(value).every(([name, member]) => {
            this.names.add(name.toLowerCase())
            return this.add(member, depth + 1)
          })
    }
    return true
  }

  #addText(value: string): void {
    const isLong = value.length > HEAD_LENGTH
    if (isLong ? this.#maySpeakOf(value) : !this.#seen.has(value)) {
      this.#seen.add(value)
      for (const form of this.#formsOf(value)) {
        const told = form.slice(0, TELLING_LENGTH)
        if (this.#folded.includes(told)) {
          this.#found.set(told, (this.#found.get(told) ?? new Set()).add(form))
        }
        if (this.#endings.get(form.slice(0, CUT_LENGTH))?.some((end) => form.startsWith(end))) {
          this.#cut.add(form)
        }
      }
    }
  }

  /** Of a long value: the text has a beginning of it. */
  #maySpeakOf(value: string): boolean {
    return this.#formsOf(value.slice(0, HEAD_LENGTH)).some(
      (form) =>
        form.length < TELLING_LENGTH ||
        this.#folded.includes(form.slice(0, TELLING_LENGTH)) ||
        this.#endings.has(form.slice(0, CUT_LENGTH)),
    )
  }

  #formsOf(value: string): readonly string[] {
    const isMasked = this.#isMasked && MASKABLE.test(value)
    this.#effort.examined += value.length * (isMasked ? 1 + MASKING_EFFORT : 1)
    this.#effort.examined += this.#folded.length * LOOKING_EFFORT
    return formsOf(value, isMasked)
  }

  takeOutAll(): string {
    const cut = [...this.#cut].filter((form) => isTelling(form, this.names))
    let rest = takeOutCut(this.#text, cut)
    // The longer ones first: of one that begins with another value the rest would stay.
    for (const [told, forms] of [...this.#found].sort(([a], [b]) => b.length - a.length)) {
      const telling = [...forms].filter((form) => isTelling(form, this.names))
      rest = telling.length > 0 ? takeOut(rest, told, telling) : rest
    }
    return rest
  }
}

/** A text that was cut off: what it ends with, from the beginning of a word, by the first characters of that. */
type Endings = ReadonlyMap<string, readonly string[]>

function endingsOf(folded: string): Endings {
  const endings = new Map<string, string[]>()
  const body = folded.replace(/(?:…|\.\.\.)$/, '')
  if (body.length === folded.length) {
    return endings
  }
  // What is longer is found by how it begins.
  for (let length = CUT_LENGTH; length < TELLING_LENGTH && length <= body.length; length += 1) {
    const at = body.length - length
    if (!isInside(body, at, body.length, true)) {
      const first = body.slice(at, at + CUT_LENGTH)
      endings.set(first, [...(endings.get(first) ?? []), body.slice(at)])
    }
  }
  return endings
}

/** Every word masked but ours, names of fields and small numbers. */
function maskWords(text: string, names: ReadonlySet<string>): string {
  const shown = text.length > MAX_MASKED_LENGTH ? `${text.slice(0, MAX_MASKED_LENGTH)}…` : text
  return shown
    .replace(/\[[a-z-]+\]|[\p{L}\p{M}\p{N}_]+/gu, (word) =>
      isTelling(fold(word), names) ? MASK : word,
    )
    .replace(/\[value\](?:[^\p{L}\p{N}[]{0,9}\[value\])+/gu, MASK)
}

/** As it is; as it looks when it was masked before, if that is asked for; as in an address; and of a name its parts. */
function formsOf(text: string, isMasked: boolean): readonly string[] {
  const plain = normalise(text)
  const forms = [plain]
  if (isMasked) {
    forms.push(normalise(scrubForeign(text)), normalise(scrub(text)))
  }
  if (/[^\w.~-]/.test(plain)) {
    forms.push(encodeURIComponent(text.toWellFormed()).toLowerCase())
  }
  const words = text.trim().split(/[\s,;/]+/, MAX_NAME_WORDS + 1)
  if (words.length > 1 && words.length <= MAX_NAME_WORDS) {
    forms.push(...words.filter((word) => /^\p{Lu}[\p{L}\p{N}'’.-]{2,}$/u.test(word)).map(normalise))
  }
  return forms
}

function normalise(text: string): string {
  return fold(text.replace(/[\p{Cc}\s]+/gu, ' ').trim())
}

/** In lower case, each character in its place: a few capitals are longer or shorter in lower case, and stay. */
function fold(text: string): string {
  const lower = text.toLowerCase()
  return lower.length === text.length ? lower : text
}

function isTelling(form: string, names: ReadonlySet<string>): boolean {
  if (/^[\d.,+-]*$/.test(form)) {
    return form.replace(/\D/g, '').length >= MIN_DIGITS
  }
  return (
    form.length > 1 &&
    /[\p{L}\p{N}]/u.test(form) &&
    !/^\[[a-z-]+\]$/.test(form) &&
    !names.has(form) &&
    !OUR_WORDS.has(form)
  )
}

/** `told`: with what all of the `forms` begin. */
function takeOut(text: string, told: string, forms: readonly string[]): string {
  let folded = fold(text)
  let rest = text
  let from = 0
  for (let at = folded.indexOf(told); at !== -1; at = folded.indexOf(told, from)) {
    const { end, isCut } = findEnd(folded, at, forms)
    if (isInside(folded, at, end, isCut)) {
      from = at + 1
      continue
    }
    rest = rest.slice(0, at) + MASK + rest.slice(end)
    folded = folded.slice(0, at) + MASK + folded.slice(end)
    from = at + MASK.length
  }
  return rest
}

/** As far as the text goes on as one of the values does. `isCut`: the value would go on. */
function findEnd(folded: string, at: number, forms: readonly string[]) {
  let [longest, isCut] = [0, false]
  for (const form of forms) {
    let length = Math.min(form.length, TELLING_LENGTH)
    while (length < form.length && folded[at + length] === form[length]) {
      length += 1
    }
    if (length > longest) {
      longest = length
      isCut = length < form.length
    }
  }
  return { end: at + longest, isCut }
}

/** It is a part of a longer word, and so another one. */
function isInside(folded: string, at: number, end: number, isCut: boolean): boolean {
  const isWord = (index: number) => /[\p{L}\p{N}]/u.test(folded[index] ?? '')
  const startsInside = isWord(at - 1) && isWord(at)
  return startsInside || (!isCut && isWord(end) && isWord(end - 1))
}

/** The longest of the values' beginnings with which a text ends that was cut off there. */
function takeOutCut(text: string, forms: readonly string[]): string {
  const endings = [...endingsOf(fold(text)).values()].flat()
  const told = endings.filter((ending) => forms.some((form) => form.startsWith(ending)))
  const length = Math.max(...told.map((ending) => ending.length), 0)
  if (length === 0) {
    return text
  }
  const end = text.length - (text.endsWith('…') ? 1 : 3)
  return text.slice(0, end - length) + MASK + text.slice(end)
}

/** Of the sentences in which we quote others: as a value of a record they tell nobody. */
const OUR_WORDS: ReadonlySet<string> = new Set(
  (
    'a an and answer answered any bytes knows most takes as asked at be because before body broke by call came closed complete ' +
    'connection could destination did error expected for from gave given has have he id import in inside is it its ' +
    'job json later longer made may more no none not of on one or page record rejected request result run say see send ' +
    'shape than that the their this to true was web what why with within without yes you your field value'
  ).split(' '),
)
