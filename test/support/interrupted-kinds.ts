/** The kinds of sync that lose their database, each with what its attempts ask of it. */
import type { JsonObject } from '../../src/domain/json.ts'

export type Calls = Readonly<Record<string, readonly number[]>>

/** What any attempt asks of the database before its first page, and which of its calls are cut. */
export const BEGINNING: Calls = {
  'leftIntents.hasLeftIntents': [1],
  'pages.hasHeldRecords': [1],
  'rereadings.isRereading': [1],
  'runs.setTotalRecords': [1],
  'pages.listOpenPages': [1],
}
/** Of the page that is still open, and of each. */
const OPEN_PAGE: Calls = {
  'quarantine.listRedriven': [1],
  'pages.findOpenPage': [1],
  'pages.listHeldRecords': [1],
}
const EACH_PAGE: Calls = {
  'ledger.openPage': [1, 2, 3],
  'ledger.complete': [1, 2, 3],
  'pages.checkpoint': [1, 2, 3],
}

interface Kind {
  readonly objectOptions: JsonObject
  readonly statements: Calls
  /** The source is read again from its beginning. */
  readonly isReset?: boolean
}

export const LOOKED_UP = 'class LOOKUP, a call a page'

/** A fresh page that goes out in one call is reserved with the statement that stores it. */
export const KINDS: Readonly<Record<string, Kind>> = {
  'class NONE, a call a page': {
    objectOptions: { deliveryClass: 'NONE', path: 'PAGE' },
    statements: { ...BEGINNING, ...OPEN_PAGE, ...EACH_PAGE, 'ledger.reserve': [1] },
  },
  'class NONE, a call a record': {
    objectOptions: { deliveryClass: 'NONE', path: 'RECORD', concurrency: 2 },
    statements: { ...OPEN_PAGE, ...EACH_PAGE, 'ledger.reserve': [1, 2] },
  },
  'class NONE, imports': {
    objectOptions: {
      ...{ deliveryClass: 'NONE', path: 'PAGE', requestDeadlineMs: 1_000 },
      ...{ importsObject: '/imports', importPollMs: 100 },
    },
    statements: {
      ...{ ...OPEN_PAGE, ...EACH_PAGE },
      ...{ 'ledger.reserve': [1, 2], 'intents.noteImport': [1, 2] },
    },
  },
  [LOOKED_UP]: {
    objectOptions: {
      ...{ deliveryClass: 'LOOKUP', lookupObject: '/writes/{key}', path: 'PAGE' },
      requestDeadlineMs: 1_000,
    },
    statements: {
      ...{ ...OPEN_PAGE, ...EACH_PAGE },
      ...{ 'ledger.reserve': [1], 'confirmedKeys.listConfirmedKeys': [1] },
    },
  },
  'class IDEMPOTENT, a call a page': {
    objectOptions: { deliveryClass: 'IDEMPOTENT', path: 'PAGE' },
    statements: { ...OPEN_PAGE, ...EACH_PAGE, 'ledger.reserve': [1] },
  },
  'class IDEMPOTENT, read again after a reset': {
    objectOptions: { deliveryClass: 'IDEMPOTENT', path: 'PAGE' },
    statements: {
      ...{ ...EACH_PAGE, 'ledger.reserve': [1], 'rereadings.forgetOvertaken': [1, 2] },
      ...{ 'rereadings.noteRewritten': [1, 2], 'rereadings.forgetRewritten': [1] },
      'rereadings.endRereading': [1],
    },
    isReset: true,
  },
}

export function kindOf(name: string): Kind {
  const kind = KINDS[name]
  if (!kind) {
    throw new Error(`There is no kind ${name}.`)
  }
  return kind
}
