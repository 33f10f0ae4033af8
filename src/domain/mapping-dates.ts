/**
 * Dates between a closed set of formats, without a clock, a locale or a time-zone database.
 *
 * Invariants: a date that does not exist (30 February, 24:00, a 61st second) is refused, never moved
 * to another day. Fractions of a second are kept to the nanosecond.
 */

export const DATE_FORMATS = [
  'ISO',
  'YYYY-MM-DD',
  'DD/MM/YYYY',
  'MM/DD/YYYY',
  'DD.MM.YYYY',
  'EPOCH_SECONDS',
  'EPOCH_MS',
] as const
export type DateFormat = (typeof DATE_FORMATS)[number]

/** Whole seconds since 1970 in UTC, and 0 to 999,999,999 nanoseconds after them. */
interface Instant {
  readonly seconds: number
  readonly nanos: number
}

const DAY_SECONDS = 86_400
const NANOS_PER_SECOND = 1_000_000_000
const NANOS_PER_MS = 1_000_000

/** `UTC` or a fixed offset (`+02:00`, at most 14 hours) in seconds; null: neither. */
export function parseZone(zone: string): number | null {
  if (zone === 'UTC' || zone === 'Z') {
    return 0
  }
  const match = /^([+-])(\d{2}):(\d{2})$/.exec(zone)
  const [, sign, hours = '', minutes = ''] = match ?? []
  const seconds = Number(hours) * 3600 + Number(minutes) * 60
  if (!match || Number(minutes) > 59 || seconds > 14 * 3600) {
    return null
  }
  return sign === '-' ? -seconds : seconds
}

/** Null: not a date of that format, or one that does not exist. `zoneSeconds` holds where the text names no offset. */
export function parseDate(text: string, format: DateFormat, zoneSeconds: number): Instant | null {
  switch (format) {
    case 'ISO':
      return parseIso(text, zoneSeconds)
    case 'EPOCH_SECONDS':
      return parseEpoch(text, 1)
    case 'EPOCH_MS':
      return parseEpoch(text, 1000)
    default: {
      const { pattern, order } = DAY_PATTERNS[format]
      const match = pattern.exec(text)
      const [year = 0, month = 0, day = 0] = order.map((group) => Number(match?.[group]))
      return match ? startOfDay(year, month, day, zoneSeconds) : null
    }
  }
}

/** Texts for calendar formats, numbers for epochs. Null: outside the years 1 to 9999. */
export function formatDate(
  instant: Instant,
  format: DateFormat,
  zoneSeconds: number,
): string | number | null {
  switch (format) {
    case 'EPOCH_SECONDS':
      return instant.seconds
    case 'EPOCH_MS':
      return instant.seconds * 1000 + Math.floor(instant.nanos / NANOS_PER_MS)
    default:
      return formatCalendar(instant, format, zoneSeconds)
  }
}

function formatCalendar(
  { seconds, nanos }: Instant,
  format: Exclude<DateFormat, 'EPOCH_SECONDS' | 'EPOCH_MS'>,
  zoneSeconds: number,
): string | null {
  const local = seconds + zoneSeconds
  const days = Math.floor(local / DAY_SECONDS)
  const { year, month, day } = civilFromDays(days)
  if (year < 1 || year > 9999) {
    return null
  }
  const [y, m, d] = [pad(year, 4), pad(month, 2), pad(day, 2)]
  switch (format) {
    case 'ISO': {
      const time = formatTime(local - days * DAY_SECONDS, nanos)
      return `${y}-${m}-${d}T${time}${formatZone(zoneSeconds)}`
    }
    case 'YYYY-MM-DD':
      return `${y}-${m}-${d}`
    case 'DD/MM/YYYY':
      return `${d}/${m}/${y}`
    case 'MM/DD/YYYY':
      return `${m}/${d}/${y}`
    case 'DD.MM.YYYY':
      return `${d}.${m}.${y}`
  }
}

/** `order`: the groups that hold year, month and day. */
const DAY_PATTERNS = {
  'YYYY-MM-DD': { pattern: /^(\d{4})-(\d{2})-(\d{2})$/, order: [1, 2, 3] },
  'DD/MM/YYYY': { pattern: /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/, order: [3, 2, 1] },
  'MM/DD/YYYY': { pattern: /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/, order: [3, 1, 2] },
  'DD.MM.YYYY': { pattern: /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/, order: [3, 2, 1] },
} as const

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}:\d{2})?)?$/

function parseIso(text: string, zoneSeconds: number): Instant | null {
  const match = ISO.exec(text)
  if (!match) {
    return null
  }
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone] = match
  const offset = zone === undefined ? zoneSeconds : parseZone(zone)
  if (offset === null || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) {
    return null
  }
  const start = startOfDay(Number(year), Number(month), Number(day), offset)
  const ofDay = Number(hour) * 3600 + Number(minute) * 60 + Number(second)
  return start && { seconds: start.seconds + ofDay, nanos: Number(fraction.padEnd(9, '0')) }
}

/** Whole or decimal seconds or milliseconds, within the years 1 to 9999. */
function parseEpoch(text: string, perSecond: 1 | 1000): Instant | null {
  const match = /^([+-]?)(\d{1,15})(?:\.(\d{1,9}))?$/.exec(text)
  if (!match) {
    return null
  }
  const [, sign, whole = '', fraction = ''] = match
  const units = Number(whole)
  // Milliseconds carry 6 digits of nanoseconds after their point; further digits do not exist.
  const digits = fraction.padEnd(9, '0').slice(0, perSecond === 1 ? 9 : 6)
  const nanos = (units % perSecond) * (NANOS_PER_SECOND / perSecond) + Number(digits)
  const seconds = Math.floor(units / perSecond)
  const instant = sign === '-' ? negate(seconds, nanos) : { seconds, nanos }
  return instant.seconds >= FIRST_SECOND && instant.seconds < END_SECOND ? instant : null
}

function negate(seconds: number, nanos: number): Instant {
  return nanos === 0
    ? { seconds: 0 - seconds, nanos: 0 }
    : { seconds: -seconds - 1, nanos: NANOS_PER_SECOND - nanos }
}

function startOfDay(year: number, month: number, day: number, zoneSeconds: number): Instant | null {
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) {
    return null
  }
  return { seconds: daysFromCivil(year, month, day) * DAY_SECONDS - zoneSeconds, nanos: 0 }
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) {
    const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
    return isLeap ? 29 : 28
  }
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** Days since 1970-01-01 in the proleptic Gregorian calendar; years run from March, so that a leap day ends one. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

/** The inverse of {@link daysFromCivil}. */
function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}

/** The fraction in groups of three digits, as far as it goes; none where it is zero. */
function formatTime(secondOfDay: number, nanos: number): string {
  const time = [secondOfDay / 3600, (secondOfDay / 60) % 60, secondOfDay % 60]
    .map((part) => pad(Math.floor(part), 2))
    .join(':')
  const fraction = pad(nanos, 9).replace(/(000){1,3}$/, '')
  return fraction === '' ? time : `${time}.${fraction}`
}

function formatZone(zoneSeconds: number): string {
  if (zoneSeconds === 0) {
    return 'Z'
  }
  const minutes = Math.abs(zoneSeconds) / 60
  return `${zoneSeconds < 0 ? '-' : '+'}${pad(Math.floor(minutes / 60), 2)}:${pad(minutes % 60, 2)}`
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0')
}

const FIRST_SECOND = daysFromCivil(1, 1, 1) * DAY_SECONDS
const END_SECOND = daysFromCivil(10_000, 1, 1) * DAY_SECONDS
