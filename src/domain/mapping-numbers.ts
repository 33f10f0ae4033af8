/**
 * Texts to numbers, exactly or not at all.
 *
 * Invariant: the number has the same decimal digits as the text (after the rounding that was asked
 * for). A text with more digits than a JSON number can hold (ids of 64 bits) is refused, never
 * rounded in silence.
 */

export const DECIMAL_MARKS = ['.', ','] as const
export const GROUP_MARKS = ['', ',', '.', ' ', "'"] as const
/** Most decimals to round to. */
export const MAX_DECIMALS = 15

export interface NumberFormat {
  readonly decimal: (typeof DECIMAL_MARKS)[number]
  readonly group: (typeof GROUP_MARKS)[number]
  /** Rounds half away from zero; null: as many as there are. */
  readonly decimals: number | null
}

export type ParsedNumber =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'refused'; readonly reason: string }

/** Digits that every double keeps. */
const EXACT_DIGITS = 15

/** Makes the parser of one format. */
export function numberParser(format: NumberFormat): (given: string | number) => ParsedNumber {
  const pattern = numberPattern(format)
  const groups = format.group === '' ? null : new RegExp(GROUP_CLASSES[format.group], 'g')
  return (given) => {
    if (typeof given === 'number') {
      return fromNumber(given, format.decimals)
    }
    const match = pattern.exec(given.trim())
    if (!match) {
      return { kind: 'refused', reason: 'The value is not a number in the format of the mapping.' }
    }
    const [, sign = '', whole = '', fraction = ''] = match
    const digits = groups ? whole.replaceAll(groups, '') : whole
    return fromDigits(sign === '-', digits, fraction, format.decimals)
  }
}

const GROUP_CLASSES = {
  ',': ',',
  '.': '\\.',
  // Also the two no-break spaces that French and Swiss software writes.
  ' ': '[ \\u00A0\\u202F]',
  "'": "['\\u2019]",
} as const

/** Groups of three digits, with room for the Indian way of grouping by two; `1,5` is not fifteen. */
function numberPattern({ decimal, group }: NumberFormat): RegExp {
  const plain = '\\d{1,400}'
  const grouped =
    group === ''
      ? ''
      : `|\\d{1,3}(?:${GROUP_CLASSES[group]}\\d{2,3}){0,100}${GROUP_CLASSES[group]}\\d{3}`
  const point = decimal === '.' ? '\\.' : ','
  return new RegExp(`^([+-]?)(${plain}${grouped})(?:${point}(\\d{1,400}))?$`)
}

function fromNumber(given: number, decimals: number | null): ParsedNumber {
  const [, sign, whole = '', fraction = ''] = /^(-?)(\d+)\.(\d+)$/.exec(String(given)) ?? []
  if (decimals !== null && fraction.length > decimals) {
    return fromDigits(sign === '-', whole, fraction, decimals)
  }
  // What is left in exponent form is below a millionth, which no sensible rounding keeps, or too large.
  const value =
    decimals !== null && Math.abs(given) < 1e-6 ? Number(given.toFixed(decimals)) : given
  return checkExact(value + 0)
}

function fromDigits(
  isNegative: boolean,
  whole: string,
  fraction: string,
  decimals: number | null,
): ParsedNumber {
  const rounded =
    decimals === null || fraction.length <= decimals
      ? { whole, fraction }
      : round(whole, fraction, decimals)
  const digits = `${rounded.whole}${rounded.fraction}`.replace(/^0+/, '').replace(/0+$/, '')
  const isWhole = /^0*$/.test(rounded.fraction)
  if (digits.length > EXACT_DIGITS && !isWhole) {
    return tooPrecise
  }
  const size = Number(`${rounded.whole}.${rounded.fraction || '0'}`)
  return checkExact(isNegative && size !== 0 ? -size : size)
}

function round(
  whole: string,
  fraction: string,
  decimals: number,
): { whole: string; fraction: string } {
  const kept = BigInt(`${whole}${fraction.slice(0, decimals)}`)
  const isUp = (fraction[decimals] ?? '0') >= '5'
  const digits = String(isUp ? kept + 1n : kept).padStart(decimals + 1, '0')
  const point = digits.length - decimals
  return { whole: digits.slice(0, point), fraction: digits.slice(point) }
}

function checkExact(value: number): ParsedNumber {
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? { kind: 'number', value } : tooPrecise
}

const tooPrecise = {
  kind: 'refused',
  reason:
    'The value has more digits than a number holds exactly: keep it as text with "$path", or round it with "decimals".',
} as const
