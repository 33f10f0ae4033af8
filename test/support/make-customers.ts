/**
 * Makes the sample files of src/demo/data: 2,000 seeded customers in 10 locales with the hand-written
 * ones among them, and the broken file. The same bytes every time, and a test holds the committed files
 * to it. To write them again: node --import tsx test/support/make-customers.ts
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  type Faker,
  fakerDE,
  fakerEN_GB,
  fakerEN_US,
  fakerES,
  fakerFR,
  fakerIT,
  fakerJA,
  fakerNL,
  fakerPL,
  fakerPT_BR,
} from '@faker-js/faker'
import {
  BROKEN_COLUMNS,
  BROKEN_LINES,
  COLUMNS,
  type Customer,
  EDGE_CUSTOMERS,
} from './edge-customers.ts'

export const SEEDED_CUSTOMERS = 2_000
const SEED = 20_260_630
/** All dates lie before it: nothing depends on the day on which the files are made. */
const REFERENCE_DATE = '2026-06-30T12:00:00.000Z'

const LOCALES: readonly { locale: string; country: string; faker: Faker }[] = [
  { locale: 'en_US', country: 'US', faker: fakerEN_US },
  { locale: 'en_GB', country: 'GB', faker: fakerEN_GB },
  { locale: 'de_DE', country: 'DE', faker: fakerDE },
  { locale: 'fr_FR', country: 'FR', faker: fakerFR },
  { locale: 'nl_NL', country: 'NL', faker: fakerNL },
  { locale: 'es_ES', country: 'ES', faker: fakerES },
  { locale: 'it_IT', country: 'IT', faker: fakerIT },
  { locale: 'pl_PL', country: 'PL', faker: fakerPL },
  { locale: 'pt_BR', country: 'BR', faker: fakerPT_BR },
  { locale: 'ja_JP', country: 'JP', faker: fakerJA },
]

/** The text of customers.csv: lines end with LF, values are quoted where they must be. */
export function makeCustomersFile(): string {
  const seeded = makeSeeded()
  const distance = Math.floor(SEEDED_CUSTOMERS / EDGE_CUSTOMERS.length)
  const customers = seeded.flatMap((customer, index) => {
    const edge = index % distance === 0 ? EDGE_CUSTOMERS[index / distance] : undefined
    return edge ? [customer, edge] : [customer]
  })
  const lines = customers.map((customer) => COLUMNS.map((name) => quote(customer[name])).join(','))
  return [COLUMNS.join(','), ...lines, ''].join('\n')
}

/** The text of broken.csv, whose last line opens a quote that nothing closes. */
export function makeBrokenFile(): string {
  return [BROKEN_COLUMNS.join(','), ...BROKEN_LINES.map(({ line }) => line), ''].join('\n')
}

function makeSeeded(): Customer[] {
  for (const [index, { faker }] of LOCALES.entries()) {
    faker.seed(SEED + index)
    faker.setDefaultRefDate(REFERENCE_DATE)
  }
  return Array.from({ length: SEEDED_CUSTOMERS }, (_, index) => makeCustomer(index))
}

function makeCustomer(index: number): Customer {
  const place = LOCALES[index % LOCALES.length]
  if (!place) {
    throw new RangeError('There is no locale to make a customer of.')
  }
  const { faker, locale, country } = place
  const firstName = faker.person.firstName()
  const lastName = faker.person.lastName()
  const id = 7_000_000_001 + index
  const updatedAt = faker.date.recent({ days: 365 }).toISOString()
  const microseconds = String(faker.number.int({ min: 0, max: 999 })).padStart(3, '0')
  return {
    customer_id: String(id),
    first_name: firstName,
    last_name: lastName,
    email: makeEmail(faker, firstName, lastName, index),
    phone: faker.helpers.maybe(() => faker.phone.number({ style: 'international' })) ?? '',
    locale,
    street: faker.location.streetAddress(),
    city: faker.location.city(),
    country,
    birthday: faker.helpers.maybe(() => makeBirthday(faker), { probability: 0.8 }) ?? '',
    updated_at: updatedAt.replace('Z', `${microseconds}Z`),
    total_spent: faker.commerce.price({ min: 0, max: 4000 }),
    newsletter: faker.helpers.arrayElement(['true', 'false', '']),
  }
}

/** Unique by the customer's number; in a domain that is reserved for examples. */
function makeEmail(faker: Faker, firstName: string, lastName: string, index: number): string {
  const domain = faker.helpers.arrayElement(['example.com', 'example.org', 'example.net'])
  const name = faker.internet
    .username({ firstName, lastName })
    .replaceAll(/[^\w.]/g, '')
    .toLowerCase()
  return `${name}${index + 1}@${domain}`
}

function makeBirthday(faker: Faker): string {
  return faker.date.birthdate({ mode: 'age', min: 18, max: 90 }).toISOString().slice(0, 10)
}

function quote(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = new URL('../../src/demo/data/', import.meta.url)
  writeFileSync(new URL('customers.csv', folder), makeCustomersFile())
  writeFileSync(new URL('broken.csv', folder), makeBrokenFile())
}
