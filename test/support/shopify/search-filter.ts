/**
 * The stand-in's search syntax: `updated_at` and `id` with comparators, `email:*` and `phone:*`, joined by AND or a
 * space. With what the real one does wrong, each a switch.
 */
export interface SearchQuirks {
  /** A moment without quotation marks loses its time of day. */
  unquotedLosesTime: boolean
  /** A moment with an offset that is not `Z` finds nothing, or is no filter at all; without an error. */
  offsetFinds: 'nothing' | 'everything' | 'whatItSays'
  /** `>` lets through what equals the value. */
  moreThanIsAtLeast: boolean
  /** So many rows come along that are older than the filter says. */
  olderRowsThatAppear: number
}

export const REAL_QUIRKS: SearchQuirks = {
  unquotedLosesTime: true,
  offsetFinds: 'nothing',
  moreThanIsAtLeast: true,
  olderRowsThatAppear: 0,
}

export interface Searched {
  readonly id: string
  readonly keyMs: number
  readonly email: unknown
  readonly phone: unknown
}

type Predicate = (row: Searched) => boolean

interface Term {
  readonly field: string
  readonly comparator: string
  readonly value: string
  readonly isQuoted: boolean
}

const TERM = /(\w+):\s*(>=|<=|>|<)?\s*(?:'([^']*)'|"([^"]*)"|(\S+))/g

/** The rows that a query finds, in their order. */
export function search(
  rows: readonly Searched[],
  query: string | null,
  quirks: SearchQuirks,
): readonly Searched[] {
  const terms = readTerms(query ?? '')
  const predicates = terms.map((term) => toPredicate(term, quirks))
  const found = rows.filter((row) => predicates.every((holds) => holds(row)))
  if (quirks.olderRowsThatAppear === 0 || !terms.some(({ field }) => field === 'updated_at')) {
    return found
  }
  const strays = rows.filter((row) => !found.includes(row)).slice(-quirks.olderRowsThatAppear)
  return [...strays, ...found]
}

function readTerms(query: string): readonly Term[] {
  return [...query.matchAll(TERM)].map(([, field, comparator, single, double, bare]) => ({
    field: field ?? '',
    comparator: comparator ?? '',
    value: single ?? double ?? bare ?? '',
    isQuoted: bare === undefined,
  }))
}

function toPredicate(term: Term, quirks: SearchQuirks): Predicate {
  switch (term.field) {
    case 'updated_at':
      return byUpdatedAt(term, quirks)
    case 'id': {
      const value = BigInt(term.value)
      return ({ id }) => compares(Number(BigInt(id) - value), term.comparator, quirks)
    }
    case 'email':
    case 'phone': {
      const { field } = term
      return (row) => row[field] !== null
    }
    default:
      // A filter that it does not know is no filter.
      return () => true
  }
}

function byUpdatedAt(term: Term, quirks: SearchQuirks): Predicate {
  const { value, isQuoted, comparator } = term
  const hasOffset = /[+-]\d{2}:?\d{2}$/.test(value) && value.includes('T')
  if (hasOffset && quirks.offsetFinds !== 'whatItSays') {
    return () => quirks.offsetFinds === 'everything'
  }
  const isCut = !isQuoted && quirks.unquotedLosesTime
  const boundMs = Date.parse(isCut ? value.slice(0, 10) : value)
  return ({ keyMs }) => compares(keyMs - boundMs, comparator, quirks)
}

function compares(difference: number, comparator: string, quirks: SearchQuirks): boolean {
  switch (comparator) {
    case '>=':
      return difference >= 0
    case '>':
      return difference > 0 || (difference === 0 && quirks.moreThanIsAtLeast)
    case '<=':
      return difference <= 0
    case '<':
      return difference < 0
    default:
      return difference === 0
  }
}
