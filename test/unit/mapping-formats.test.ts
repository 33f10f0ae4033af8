import { describe, expect, it } from 'vitest'
import {
  type DateFormat,
  formatDate,
  parseDate,
  parseZone,
} from '../../src/domain/mapping-dates.ts'
import { type NumberFormat, numberParser } from '../../src/domain/mapping-numbers.ts'

function convert(text: string, from: DateFormat, to: DateFormat, zone = 'UTC') {
  const zoneSeconds = parseZone(zone) ?? Number.NaN
  const instant = parseDate(text, from, zoneSeconds)
  return instant && formatDate(instant, to, zoneSeconds)
}

describe('dates', () => {
  it.each<[string, DateFormat, DateFormat, string, string | number | null]>([
    ['2025-02-28', 'YYYY-MM-DD', 'DD/MM/YYYY', 'UTC', '28/02/2025'],
    ['2025-02-30', 'YYYY-MM-DD', 'DD/MM/YYYY', 'UTC', null],
    ['2024-02-29', 'YYYY-MM-DD', 'MM/DD/YYYY', 'UTC', '02/29/2024'],
    ['1900-02-29', 'YYYY-MM-DD', 'ISO', 'UTC', null],
    ['2000-02-29', 'YYYY-MM-DD', 'ISO', 'UTC', '2000-02-29T00:00:00Z'],
    ['2025-13-01', 'YYYY-MM-DD', 'ISO', 'UTC', null],
    ['2025-00-01', 'YYYY-MM-DD', 'ISO', 'UTC', null],
    ['0000-01-01', 'YYYY-MM-DD', 'ISO', 'UTC', null],
    ['31/04/2025', 'DD/MM/YYYY', 'ISO', 'UTC', null],
    ['1/4/2025', 'DD/MM/YYYY', 'DD.MM.YYYY', 'UTC', '01.04.2025'],
    ['04/01/2025', 'MM/DD/YYYY', 'YYYY-MM-DD', '-08:00', '2025-04-01'],
    ['24.12.1999', 'DD.MM.YYYY', 'EPOCH_SECONDS', 'UTC', 945993600],
    ['24.12.1999', 'DD.MM.YYYY', 'EPOCH_SECONDS', '+01:00', 945990000],
    ['2025-06-01T10:20:30.123456Z', 'ISO', 'ISO', 'UTC', '2025-06-01T10:20:30.123456Z'],
    ['2025-06-01T10:20:30.1234567Z', 'ISO', 'ISO', 'UTC', '2025-06-01T10:20:30.123456700Z'],
    ['2025-06-01 10:20:30', 'ISO', 'ISO', '+05:30', '2025-06-01T10:20:30+05:30'],
    ['2025-06-01T23:30:00-02:00', 'ISO', 'YYYY-MM-DD', 'UTC', '2025-06-02'],
    ['2025-06-01T24:00:00Z', 'ISO', 'ISO', 'UTC', null],
    ['2025-06-30T23:59:60Z', 'ISO', 'ISO', 'UTC', null],
    ['2025-06-01T10:20:30+15:00', 'ISO', 'ISO', 'UTC', null],
    ['2025-06-01T10:20:30.000Z', 'ISO', 'EPOCH_MS', 'UTC', 1748773230000],
    ['1748773230.5', 'EPOCH_SECONDS', 'ISO', 'UTC', '2025-06-01T10:20:30.500Z'],
    ['1748773230123', 'EPOCH_MS', 'ISO', 'UTC', '2025-06-01T10:20:30.123Z'],
    ['-1', 'EPOCH_MS', 'ISO', 'UTC', '1969-12-31T23:59:59.999Z'],
    ['-0', 'EPOCH_SECONDS', 'EPOCH_SECONDS', 'UTC', 0],
    ['999999999999999', 'EPOCH_SECONDS', 'ISO', 'UTC', null],
    ['9999-12-31T23:30:00Z', 'ISO', 'ISO', '+01:00', null],
    ['1e9', 'EPOCH_SECONDS', 'ISO', 'UTC', null],
    ['today', 'ISO', 'ISO', 'UTC', null],
  ])('%s as %s to %s in %s', (text, from, to, zone, expected) => {
    expect(convert(text, from, to, zone)).toBe(expected)
  })

  it.each(['+14:01', '+2:00', '02:00', '+02:60', 'Europe/Amsterdam', ''])(
    'refuses the zone %j',
    (zone) => {
      expect(parseZone(zone)).toBeNull()
    },
  )
})

describe('numbers', () => {
  const plain: NumberFormat = { decimal: '.', group: '', decimals: null }
  it.each<[string | number, Partial<NumberFormat>, number | null]>([
    ['12', {}, 12],
    [' -1.50 ', {}, -1.5],
    ['+7', {}, 7],
    ['-0', {}, 0],
    ['1,234.5', { group: ',' }, 1234.5],
    ['1.234,5', { group: '.', decimal: ',' }, 1234.5],
    ["1'234.5", { group: "'" }, 1234.5],
    ['1\u202F234,5', { group: ' ', decimal: ',' }, 1234.5],
    ['12,34,567', { group: ',' }, 1234567],
    ['1,5', { group: ',' }, null],
    ['1,2345', { group: ',' }, null],
    ['1,234', {}, null],
    ['1e5', {}, null],
    ['0x10', {}, null],
    ['Infinity', {}, null],
    ['.5', {}, null],
    ['5.', {}, null],
    ['€ 5', {}, null],
    ['1.005', { decimals: 2 }, 1.01],
    ['-1.005', { decimals: 2 }, -1.01],
    ['0.999', { decimals: 2 }, 1],
    ['-0.001', { decimals: 2 }, 0],
    ['2.5', { decimals: 0 }, 3],
    ['0.1234567890123456789', { decimals: 3 }, 0.123],
    ['0.1234567890123456789', {}, null],
    ['9007199254740991', {}, 9007199254740991],
    ['9007199254740992', {}, null],
    ['9223372036854775807', {}, null],
    ['9'.repeat(400), {}, null],
    [2 ** 53, {}, null],
    [0.1 + 0.2, {}, 0.30000000000000004],
    [0.1 + 0.2, { decimals: 2 }, 0.3],
    [1e-9, { decimals: 2 }, 0],
    [1e300, { decimals: 2 }, null],
  ])('%j as %j is %j', (given, format, expected) => {
    const parsed = numberParser({ ...plain, ...format })(given)
    expect(parsed.kind === 'number' ? parsed.value : null).toBe(expected)
  })
})
