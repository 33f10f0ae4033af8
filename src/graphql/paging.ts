/**
 * Pages of lists: arguments checked, rows read by keyset, one more than asked for to know whether more
 * follow.
 */
import { type InputProblem, InvalidInput } from '../commands/refusals.ts'
import { isUuid } from '../domain/ids.ts'
import type { KeysetPage } from '../store/history/keyset.ts'

const MAX_PAGE_SIZE = 200
export const DEFAULT_PAGE_SIZE = 50

export interface PageArguments {
  readonly first?: number | null | undefined
  readonly after?: string | null | undefined
  readonly last?: number | null | undefined
  readonly before?: string | null | undefined
}

export function describePageArgument(name: 'first' | 'last'): string {
  const end = name === 'first' ? 'beginning' : 'end'
  return `How many entries from the ${end} of the range: 1 to ${MAX_PAGE_SIZE}; ${DEFAULT_PAGE_SIZE} when neither first nor last is given.`
}

/** A page of a list that is ordered by id, newest first. Throws {@link InvalidInput}, which names the argument. */
export async function resolveIdPage<T extends { readonly id: string }>(
  args: PageArguments,
  load: (page: KeysetPage) => Promise<readonly T[]>,
) {
  return await resolvePage(args, {
    cursorOf: (row: T) => row.id,
    isCursor: isUuid,
    load,
  })
}

export interface PageSource<T> {
  /** The text in a row's cursor, and whether a text is one of this list's. */
  cursorOf(row: T): string
  isCursor(text: string): boolean
  load(page: KeysetPage): Promise<readonly T[]>
}

async function resolvePage<T>(args: PageArguments, source: PageSource<T>) {
  const after = decodeCursor(args.after)
  const before = decodeCursor(args.before)
  const problems = [
    ...checkSize('first', args.first),
    ...checkSize('last', args.last),
    ...checkDirection(args),
    ...checkCursor('after', after, source),
    ...checkCursor('before', before, source),
  ]
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  const isFromEnd = typeof args.last === 'number'
  const size = args.first ?? args.last ?? DEFAULT_PAGE_SIZE
  const rows = await source.load({ after, before, limit: size + 1, isFromEnd })
  const hasMore = rows.length > size
  const page = isFromEnd ? rows.slice(0, size).reverse() : rows.slice(0, size)
  const edges = page.map((node) => ({ cursor: encodeCursor(source.cursorOf(node)), node }))
  return {
    edges,
    pageInfo: {
      hasNextPage: isFromEnd ? before !== null : hasMore,
      hasPreviousPage: isFromEnd ? hasMore : after !== null,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  }
}

/** A page of a list that can be read forwards only. */
export function resolveForwardPage<T>(args: PageArguments, source: PageSource<T>) {
  const backwards = (['last', 'before'] as const).find((name) => (args[name] ?? null) !== null)
  if (backwards) {
    const reason = 'This list is read forwards only: use first and after.'
    throw new InvalidInput([{ field: backwards, reason }])
  }
  return resolvePage(args, source)
}

function checkSize(field: string, size: number | null | undefined): InputProblem[] {
  if (size === null || size === undefined || (size >= 1 && size <= MAX_PAGE_SIZE)) {
    return []
  }
  return [{ field, reason: `It must be from 1 to ${MAX_PAGE_SIZE}, and ${size} was given.` }]
}

function checkDirection({ first, last }: PageArguments): InputProblem[] {
  const isBoth = typeof first === 'number' && typeof last === 'number'
  return isBoth ? [{ field: 'last', reason: 'It cannot be given together with first.' }] : []
}

function checkCursor<T>(
  field: string,
  cursor: string | null,
  source: Pick<PageSource<T>, 'isCursor'>,
): InputProblem[] {
  return cursor === null || source.isCursor(cursor)
    ? []
    : [{ field, reason: 'It is not a cursor of this list.' }]
}

function encodeCursor(text: string): string {
  return Buffer.from(text).toString('base64url')
}

function decodeCursor(cursor: string | null | undefined): string | null {
  return cursor === null || cursor === undefined
    ? null
    : Buffer.from(cursor, 'base64url').toString('utf8')
}
