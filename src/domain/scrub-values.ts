/**
 * Takes the values of a record out of a text that speaks of the record, such as a destination's reason for
 * rejecting it: a name cannot be known by its look.
 *
 * A value is found in whatever case, also where it was cut off, and where it stands as in an address. What stays
 * is what says nothing of a person: names of fields, the words of our own sentences, one letter, numbers of
 * fewer than 4 digits (a status code looks the same). Of a long value that is quoted from its middle nothing is found.
 */
import { isJsonArray, type JsonObject, type JsonValue } from './json.ts'
import { scrub, scrubForeign } from './scrub.ts'

/**
 * What is looked for, in lower case and its white space as one space: short values as they are, and the beginnings
 * of long ones with all that may follow.
 */
export type ScrubbedValues = ReadonlyMap<string, readonly string[]>

const MAX_VALUES = 200_000
const MAX_VALUE_LENGTH = 4_000
/** So many characters of a long value tell it, wherever the quotation ends. */
const TELLING_LENGTH = 12
/** So many characters of a value that was cut off at the end of a text are taken out. */
const CUT_LENGTH = 2
const MAX_NAME_WORDS = 5
const MIN_DIGITS = 4
const MASK = '[value]'

/** The values of records, as they are and as they were mapped. */
export function collectValues(records: Iterable<JsonObject>): ScrubbedValues {
  const texts = new Set<string>()
  const names = new Set<string>()
  for (const record of records) {
    if (texts.size >= MAX_VALUES) {
      break
    }
    collect(record, texts, names)
  }
  const values = new Map<string, Set<string>>()
  for (const text of texts) {
    for (const form of formsOf(text).filter((one) => isTelling(one, names))) {
      const told = form.slice(0, TELLING_LENGTH)
      values.set(told, (values.get(told) ?? new Set()).add(form))
    }
  }
  return new Map([...values].map(([told, forms]) => [told, [...forms]]))
}

function collect(value: JsonValue, texts: Set<string>, names: Set<string>): void {
  if (typeof value === 'string') {
    texts.add(value.slice(0, MAX_VALUE_LENGTH))
  } else if (typeof value === 'number') {
    texts.add(String(value))
  } else if (value !== null && typeof value === 'object') {
    if (isJsonArray(value)) {
      for (const item of value) {
        collect(item, texts, names)
      }
      return
    }
    for (const [name, member] of Object.entries(value)) {
      names.add(name.toLowerCase())
      collect(member, texts, names)
    }
  }
}

/** As it is; as it looks when it was masked before; as in an address; and of a name its parts. */
function formsOf(text: string): readonly string[] {
  const plain = normalise(text)
  const forms = [plain]
  if (/[\d@]/.test(plain)) {
    forms.push(normalise(scrubForeign(text)), normalise(scrub(text)))
  }
  if (/[^\w.~-]/.test(plain)) {
    forms.push(encodeURIComponent(text.toWellFormed()).toLowerCase())
  }
  const words = text.trim().split(/[\s,;/]+/)
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

/** The text without them, a mask in the place of each. */
export function scrubValues(text: string, values: ScrubbedValues): string {
  let scrubbed = text
  for (const [told, forms] of values) {
    scrubbed = takeOut(scrubbed, told, forms)
  }
  return scrubbed
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
  return forms.reduce(takeOutCut, rest)
}

/** As far as the text goes on as one of the values does. `isCut`: the value would go on. */
function findEnd(folded: string, at: number, forms: readonly string[]) {
  const lengths = forms.map((form) => {
    let length = Math.min(form.length, TELLING_LENGTH)
    while (length < form.length && folded[at + length] === form[length]) {
      length += 1
    }
    return { end: at + length, isCut: length < form.length }
  })
  return lengths.reduce((a, b) => (b.end > a.end ? b : a))
}

/** It is a part of a longer word, and so another one. */
function isInside(folded: string, at: number, end: number, isCut: boolean): boolean {
  const isWord = (index: number) => /[\p{L}\p{N}]/u.test(folded[index] ?? '')
  const startsInside = isWord(at - 1) && isWord(at)
  return startsInside || (!isCut && isWord(end) && isWord(end - 1))
}

/** A value with which a text ends that was cut off there. */
function takeOutCut(text: string, value: string): string {
  const folded = fold(text)
  const body = folded.replace(/(?:…|\.\.\.)$/, '')
  if (body.length === folded.length) {
    return text
  }
  for (let length = Math.min(value.length, body.length); length >= CUT_LENGTH; length -= 1) {
    const at = body.length - length
    if (body.endsWith(value.slice(0, length)) && !isInside(body, at, body.length, true)) {
      return text.slice(0, at) + MASK + text.slice(body.length)
    }
  }
  return text
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
