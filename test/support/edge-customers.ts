/**
 * Hand-written customers at the edges of what a source may hold. Every one is a customer that can be
 * delivered; what cannot be is in {@link BROKEN_LINES}. Addresses end in the domains that are reserved
 * for examples and tests, names and numbers are made up.
 */

export const COLUMNS = [
  'customer_id',
  'first_name',
  'last_name',
  'email',
  'phone',
  'locale',
  'street',
  'city',
  'country',
  'birthday',
  'updated_at',
  'total_spent',
  'newsletter',
] as const
export type Column = (typeof COLUMNS)[number]
export type Customer = { readonly [C in Column]: string }

/** What a hand-written customer is unless it says otherwise. */
const PLAIN: Customer = {
  customer_id: '',
  first_name: 'Edge',
  last_name: 'Case',
  email: '',
  phone: '',
  locale: 'en_GB',
  street: '1 Test Street',
  city: 'London',
  country: 'GB',
  birthday: '1990-01-01',
  updated_at: '2026-05-01T08:00:00.000000Z',
  total_spent: '10.00',
  newsletter: 'false',
}

/** One microsecond for several customers, as a bulk update leaves it. */
const TIED = '2026-05-02T09:30:00.123456Z'
/** 283 characters, within what RFC 5321 allows for its parts; more than most CRMs take. */
const LONG_EMAIL = `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(14)}.example.com`

type Edge = Partial<Customer>

const contacts: readonly Edge[] = [
  // One phone for two people.
  {
    first_name: 'Mia',
    last_name: 'Shared',
    email: 'mia.shared@example.com',
    phone: '+442079460001',
  },
  {
    first_name: 'Leo',
    last_name: 'Shared',
    email: 'leo.shared@example.com',
    phone: '+442079460001',
  },
  // Two addresses that differ by case only, and two that many systems take for one.
  { first_name: 'Cass', last_name: 'Upper', email: 'Cass.Case@Example.COM' },
  { first_name: 'Cass', last_name: 'Lower', email: 'cass.case@example.com' },
  { first_name: 'Plus', last_name: 'Address', email: 'plus.address+spring@example.org' },
  { first_name: 'Plus', last_name: 'Address', email: 'plus.address@example.org' },
  // International domains, as text and as it goes over the wire; a quoted local part.
  {
    first_name: 'Jürgen',
    last_name: 'Müller',
    email: 'juergen@müller.example.test',
    locale: 'de_DE',
  },
  { first_name: 'Jürgen', last_name: 'Müller', email: 'juergen@xn--mller-kva.example.test' },
  { first_name: 'Quoted', last_name: 'Local', email: '"quoted local"@example.net' },
  // No address: an id and a phone, or an id alone.
  { first_name: 'Nomail', last_name: 'Phone', phone: '+442079460002' },
  { first_name: 'Nomail', last_name: 'Nothing' },
  { first_name: 'Long', last_name: 'Address', email: LONG_EMAIL },
  { first_name: 'Space', last_name: 'Around', email: '  space.around@example.com ' },
  // Phones as people type them.
  {
    first_name: 'Natalie',
    last_name: 'National',
    phone: '020 7946 0003',
    email: 'natalie@example.com',
  },
  {
    first_name: 'Nils',
    last_name: 'National',
    phone: '(030) 23125 004',
    locale: 'de_DE',
    country: 'DE',
  },
  {
    first_name: 'Noor',
    last_name: 'National',
    phone: '0031 20 794 6005',
    locale: 'nl_NL',
    country: 'NL',
  },
  { first_name: 'Ext', last_name: 'Ension', phone: '+44 20 7946 0006 ext. 12' },
]

const names: readonly Edge[] = [
  { first_name: '😀👩‍👩‍👧‍👦', last_name: '🏳️‍🌈', email: 'emoji@example.com', city: 'Łódź 🌆' },
  {
    first_name: 'مريم',
    last_name: 'الحسيني',
    email: 'maryam@example.com',
    locale: 'ar_EG',
    city: 'القاهرة',
    country: 'EG',
  },
  {
    first_name: 'נועה',
    last_name: 'כהן',
    email: 'noa@example.com',
    locale: 'he_IL',
    city: 'תל אביב',
    country: 'IL',
  },
  { first_name: '\u202Eevil\u202C', last_name: 'Override', email: 'rtl.override@example.com' },
  { first_name: 'Zoë', last_name: 'Composed', email: 'zoe.composed@example.com' },
  { first_name: 'Zoe\u0308', last_name: 'Decomposed', email: 'zoe.decomposed@example.com' },
  {
    first_name: 'Z\u0335\u0321\u0300a\u0336\u0322\u0301l\u0337\u0323\u0302go',
    last_name: 'Marks',
    email: 'zalgo@example.com',
  },
  { first_name: 'Zero\u200BWidth', last_name: 'Joiner\u200D', email: 'zero.width@example.com' },
  {
    first_name: '𠮷野',
    last_name: '家',
    email: 'yoshino@example.com',
    locale: 'ja_JP',
    country: 'JP',
  },
  {
    first_name: "Robert'); DROP TABLE customers;--",
    last_name: 'Tables',
    email: 'bobby@example.com',
  },
  {
    first_name: '<script>alert(1)</script>',
    last_name: '<b>Bold</b>',
    email: 'markup@example.com',
  },
  { first_name: '{{first_name}}', last_name: '<%= 7*7 %>', email: 'template@example.com' },
  {
    first_name: '=HYPERLINK("https://example.com")',
    last_name: '@SUM(1)',
    email: 'formula@example.com',
  },
  { first_name: 'null', last_name: 'undefined', email: 'null@example.com' },
  { first_name: '__proto__', last_name: 'constructor', email: 'proto@example.com' },
  { first_name: '../../etc/passwd', last_name: 'C:\\CON', email: 'path@example.com' },
  { first_name: 'Dwayne "The Rock"', last_name: "O'Neil", email: 'quotes@example.com' },
  { first_name: '"', last_name: '""', email: 'only.quotes@example.com' },
  { first_name: 'Comma, Junior', last_name: 'Semi;colon\tTab', email: 'separators@example.com' },
  {
    first_name: 'N',
    last_name: 'Wolfeschlegelsteinhausenbergerdorff'.repeat(6),
    email: 'long.name@example.com',
  },
  { first_name: '', last_name: 'Onlylast', email: 'only.last@example.com' },
]

const values: readonly Edge[] = [
  // 64-bit ids: as doubles, the first two are one and the same number.
  {
    customer_id: '9007199254740992',
    first_name: 'Big',
    last_name: 'Even',
    email: 'big.even@example.com',
  },
  {
    customer_id: '9007199254740993',
    first_name: 'Big',
    last_name: 'Odd',
    email: 'big.odd@example.com',
  },
  {
    customer_id: '9223372036854775807',
    first_name: 'Big',
    last_name: 'Max',
    email: 'big.max@example.com',
  },
  {
    customer_id: '0000000000000042',
    first_name: 'Leading',
    last_name: 'Zeros',
    email: 'zeros@example.com',
  },
  { first_name: 'Tied', last_name: 'First', email: 'tied.first@example.com', updated_at: TIED },
  { first_name: 'Tied', last_name: 'Second', email: 'tied.second@example.com', updated_at: TIED },
  { first_name: 'Tied', last_name: 'Third', email: 'tied.third@example.com', updated_at: TIED },
  {
    first_name: 'One',
    last_name: 'Later',
    email: 'one.later@example.com',
    updated_at: '2026-05-02T09:30:00.123457Z',
  },
  // Everything that may be empty is; a word that stands for nothing is a text.
  {
    first_name: '',
    last_name: '',
    street: '',
    city: '',
    country: '',
    birthday: '',
    total_spent: '',
    newsletter: '',
    email: 'empty.cells@example.com',
  },
  { first_name: 'NULL', last_name: 'N/A', street: '-', email: 'words.for.nothing@example.com' },
  {
    first_name: 'Quoted',
    last_name: 'Newline',
    street: 'Flat 3\n7 Test Street\r\nRear building',
    email: 'newline@example.com',
  },
  { first_name: 'Leap', last_name: 'Day', birthday: '2000-02-29', email: 'leap@example.com' },
  { first_name: 'Old', last_name: 'Timer', birthday: '1900-01-01', email: 'old@example.com' },
  { first_name: 'Free', last_name: 'Rider', total_spent: '0', email: 'free@example.com' },
  { first_name: 'Re', last_name: 'Funded', total_spent: '-12.50', email: 'refunded@example.com' },
  {
    first_name: 'Big',
    last_name: 'Spender',
    total_spent: '9999999999.99',
    email: 'spender@example.com',
  },
  { first_name: 'Half', last_name: 'Cent', total_spent: '1.005', email: 'half.cent@example.com' },
]

/** In the order of the groups above, with ids of their own where they have none. */
export const EDGE_CUSTOMERS: readonly Customer[] = [...contacts, ...names, ...values].map(
  (edge, index) => ({ ...PLAIN, customer_id: `edge-${index + 1}`, ...edge }),
)

/**
 * The lines of broken.csv behind its header, each with what is wrong with it; null: nothing is. The
 * last one swallows the rest of the file, so it stays the last.
 */
export const BROKEN_LINES: readonly { readonly line: string; readonly problem: string | null }[] = [
  { line: 'b1,Ada,Good,ada.good@example.com', problem: null },
  { line: 'b2,Too,Few', problem: 'has 3 columns, the header has 4' },
  { line: 'b3,Too,Many,too.many@example.com,surplus', problem: 'has 5 columns, the header has 4' },
  {
    line: 'b4,Nul\u0000,Character,nul@example.com',
    problem: 'first_name contains a NUL character',
  },
  {
    line: 'b5,Stray "quote,Inside,stray@example.com',
    problem: 'has a quote inside of a value that is not quoted',
  },
  {
    line: 'b6,"Closed"behind,Quote,closed@example.com',
    problem: 'has text behind a closing quote',
  },
  { line: 'b7,Bob,Good,bob.good@example.com', problem: null },
  {
    line: 'b8,"Never,Closed,never.closed@example.com',
    problem: 'has a quote that is never closed',
  },
]
export const BROKEN_COLUMNS = ['customer_id', 'first_name', 'last_name', 'email'] as const
