/**
 * What a sync that reads from a paged HTTP API can set.
 *
 * Invariant: options that contradict each other are refused when the sync is saved, and named.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { parsePath } from '../../../domain/mapping-path.ts'
import { choiceSetting, countSetting, settingsObject, textSetting } from '../../settings.ts'

export const PAGINGS = ['CURSOR', 'PAGE', 'LINK'] as const

const MAX_QUERY_PARAMETERS = 50
const MAX_PARAMETER_LENGTH = 2_000

const dottedPath = (field: string) =>
  textSetting(field, 200).refine((text) => parsePath(text).kind === 'parsed', {
    error: `${field} must be a path such as "data.items".`,
  })

const parameter = (field: string) => textSetting(field, 100)

const queryError = `query must be an object of at most ${MAX_QUERY_PARAMETERS} texts.`
const query = z
  .record(z.string().min(1), z.string({ error: queryError }).max(MAX_PARAMETER_LENGTH), {
    error: queryError,
  })
  .refine((given) => Object.keys(given).length <= MAX_QUERY_PARAMETERS, { error: queryError })

const shape = settingsObject({
  identityField: dottedPath('identityField').describe('The field that names a record; required.'),
  recordsPath: dottedPath('recordsPath')
    .describe('Where the list of records lies in the body. By default the body is the list.')
    .optional(),
  query: query.describe('Parameters that every read carries.').optional(),
  paging: choiceSetting('paging', PAGINGS).describe(
    'CURSOR: a token in the body gives the next page. PAGE: pages or records are counted. LINK: an address gives the next page.',
  ),
  nextPath: dottedPath('nextPath')
    .describe(
      'CURSOR: where the token lies in the body. LINK: where the address lies in the body; by default it is in the header Link.',
    )
    .optional(),
  cursorParameter: parameter('cursorParameter')
    .describe('CURSOR: the parameter that the token is sent in.')
    .optional(),
  pageParameter: parameter('pageParameter')
    .describe('PAGE: the parameter that the number is sent in.')
    .optional(),
  counting: choiceSetting('counting', ['PAGES', 'RECORDS'])
    .describe('PAGE: what the number counts; by default pages.')
    .optional(),
  firstPage: countSetting('firstPage', 0, 1)
    .describe('PAGE: the number of the first page; by default 1, and 0 where records are counted.')
    .optional(),
  sizeParameter: parameter('sizeParameter')
    .describe('The parameter that asks for so many records a page.')
    .optional(),
  size: countSetting('size', 1, 10_000).describe('What it asks for.').default(100),
  hasMorePath: dottedPath('hasMorePath')
    .describe('Where the body says, true or false, whether there is more.')
    .optional(),
  watermarkField: dottedPath('watermarkField')
    .describe(
      'The time or growing number in a record by which changed ones are asked for. By default everything is read each time.',
    )
    .optional(),
  watermarkParameter: parameter('watermarkParameter')
    .describe('The parameter that asks for the records from a watermark on.')
    .optional(),
  watermarkOverlap: countSetting('watermarkOverlap', 0, 1_000_000_000)
    .describe('How far behind the highest watermark the next read begins: seconds, or numbers.')
    .default(300),
  maxPages: countSetting('maxPages', 1, 100_000)
    .describe('Most pages of one reading from the beginning to the end.')
    .default(10_000),
  requestDeadlineMs: countSetting('requestDeadlineMs', 1_000, 300_000)
    .describe('How long one request may take, in milliseconds.')
    .default(30_000),
})

type Shape = z.infer<typeof shape>

export const restStreamOptions = shape.superRefine((options, context) => {
  for (const message of describeProblems(options)) {
    context.addIssue({ code: 'custom', message })
  }
})

export type RestStreamOptions = Readonly<Shape>

/** Options that one way of paging needs or may have, and the others may not. */
const OF_PAGING = {
  nextPath: { needed: ['CURSOR'], allowed: ['CURSOR', 'LINK'] },
  cursorParameter: { needed: ['CURSOR'], allowed: ['CURSOR'] },
  pageParameter: { needed: ['PAGE'], allowed: ['PAGE'] },
  counting: { needed: [], allowed: ['PAGE'] },
  firstPage: { needed: [], allowed: ['PAGE'] },
} satisfies Partial<Record<keyof Shape, { needed: string[]; allowed: string[] }>>

function describeProblems(options: Shape): string[] {
  const problems: string[] = []
  for (const [name, { needed, allowed }] of Object.entries(OF_PAGING)) {
    const isGiven = options[name as keyof typeof OF_PAGING] !== undefined
    if (!isGiven && needed.some((paging) => paging === options.paging)) {
      problems.push(`${name} must be given with the paging ${options.paging}.`)
    } else if (isGiven && !allowed.some((paging) => paging === options.paging)) {
      problems.push(`${name} must only be given with the paging ${allowed.join(' or ')}.`)
    }
  }
  if ((options.watermarkField === undefined) !== (options.watermarkParameter === undefined)) {
    problems.push('watermarkField and watermarkParameter must be given together.')
  }
  const { cursorParameter, pageParameter, sizeParameter, watermarkParameter } = options
  const names = [
    ...Object.keys(options.query ?? {}),
    ...[cursorParameter, pageParameter, sizeParameter, watermarkParameter],
  ].filter((name) => name !== undefined)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) {
    problems.push(`The parameter ${JSON.stringify(twice)} must only be named once.`)
  }
  return problems
}

/** Settings that change how much is read at a time or again, and not what. */
const ASIDE: ReadonlySet<string> = new Set(['watermarkOverlap', 'maxPages', 'requestDeadlineMs'])
/** Where pages are counted it is part of what a number means. */
const SIZES: ReadonlySet<string> = new Set(['size', 'sizeParameter'])

/** Names a stream: the same for the same path and settings, in whatever order they were written. */
export function nameStream({ pathname }: URL, options: RestStreamOptions): string {
  const told = Object.entries({ ...options, query: sorted(options.query ?? {}) }).filter(
    ([name]) => !ASIDE.has(name) && (options.paging === 'PAGE' || !SIZES.has(name)),
  )
  return hash('sha256', JSON.stringify([pathname, sorted(Object.fromEntries(told))]), 'base64url')
}

function sorted(given: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1))
}

export function firstPageOf({ firstPage, counting }: RestStreamOptions): number {
  return firstPage ?? (counting === 'RECORDS' ? 0 : 1)
}
