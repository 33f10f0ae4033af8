/**
 * Finds out of a page what gives the next one.
 *
 * Invariant: only the API's own sign is the end: no token, no link, an empty page where pages are counted, or `false`
 * where it says whether there is more. An empty page with a token is not, and what cannot be read is an error.
 */
import LinkHeader from 'http-link-header'
import type { JsonValue } from '../../../domain/json.ts'
import { readMember } from '../../../domain/mapping-path.ts'
import { ConnectorError } from '../../connector.ts'
import type { HttpResponse } from '../../http-client.ts'
import { MAX_POSITION_LENGTH, type RestCursor } from './rest-cursor.ts'
import { firstPageOf, type RestStreamOptions } from './stream-options.ts'

export interface AnsweredPage {
  readonly options: RestStreamOptions
  /** Of the page. */
  readonly cursor: RestCursor
  /** That it was asked for under. */
  readonly url: URL
  readonly response: HttpResponse
  readonly body: JsonValue
  /** How many records it has. */
  readonly count: number
}

/** `problem`: the page does not say what it must, as in "The other system answered 200 with …". */
export type NextPage = string | null | { readonly problem: string }

/** What gives the next page; null: there is none. Throws ConnectorError where it may not be followed. */
export function findNext(page: AnsweredPage): NextPage {
  const hasMore = findHasMore(page)
  if (hasMore === false || typeof hasMore === 'object') {
    return hasMore === false ? null : hasMore
  }
  const next = findPlace(page, hasMore === true)
  if (typeof next === 'string' && next.length > MAX_POSITION_LENGTH) {
    return { problem: `a next page whose name is longer than ${MAX_POSITION_LENGTH} characters` }
  }
  return next === null && hasMore === true
    ? { problem: `the word that there is more at ${page.options.hasMorePath}, and no next page` }
    : next
}

/** Undefined: nobody asks for it. */
function findHasMore({ options, body }: AnsweredPage): boolean | undefined | { problem: string } {
  const { hasMorePath } = options
  if (hasMorePath === undefined) {
    return undefined
  }
  const said = pick(body, hasMorePath)
  return typeof said === 'boolean' ? said : { problem: `neither true nor false at ${hasMorePath}` }
}

function findPlace(page: AnsweredPage, hasMore: boolean): NextPage {
  switch (page.options.paging) {
    case 'CURSOR':
      return findToken(page)
    case 'PAGE':
      return countOn(page, hasMore)
    case 'LINK':
      return findLink(page)
  }
}

function findToken({ options, body }: AnsweredPage): NextPage {
  const token = pick(body, options.nextPath)
  if (token === undefined || token === null || token === '' || token === false) {
    return null
  }
  return typeof token === 'string' || typeof token === 'number'
    ? String(token)
    : { problem: `something at ${options.nextPath} that is no token` }
}

function countOn({ options, cursor, count }: AnsweredPage, hasMore: boolean): NextPage {
  const number = cursor.at === null ? firstPageOf(options) : Number(cursor.at)
  if (options.counting === 'RECORDS') {
    return count === 0 ? null : String(number + count)
  }
  return count === 0 && !hasMore ? null : String(number + 1)
}

function findLink(page: AnsweredPage): NextPage {
  const { options, url, response } = page
  const found =
    options.nextPath === undefined ? readLinkHeader(response.headers['link']) : findToken(page)
  if (found === null || typeof found === 'object') {
    return found
  }
  if (!URL.canParse(found, url)) {
    return { problem: 'the address of a next page that is none' }
  }
  const next = new URL(found, url)
  if (next.origin !== url.origin || next.username !== '' || next.password !== '') {
    // Whoever got our credentials there would not be whom they are for.
    throw new ConnectorError(
      'node_failed',
      'The other system says that the next page lies at another host, port or scheme than the base URL; it was not asked there.',
    )
  }
  return `${next.pathname}${next.search}`
}

/** RFC 8288: of several links the one whose relation is `next`. */
function readLinkHeader(header: string | undefined): NextPage {
  if (header === undefined) {
    return null
  }
  const unreadable = { problem: 'a header Link that cannot be read' }
  try {
    const { refs } = LinkHeader.parse(header)
    // The parser joins a parameter without value with the one behind it: the relation would be lost.
    if (refs.some((link) => Object.keys(link).some((name) => /[;\s]/.test(name)))) {
      return unreadable
    }
    const isNext = ({ rel }: { rel?: string }) => rel?.toLowerCase() === 'next'
    const found = new Set(refs.filter(isNext).map(({ uri }) => uri.trim()))
    const [next = null] = found
    return found.size > 1 ? { problem: 'a header Link with two next pages' } : next
  } catch {
    return unreadable
  }
}

/** What lies at a dotted path; without one, the whole. */
export function pick(value: JsonValue, path: string | undefined): JsonValue | undefined {
  let found: JsonValue | undefined = value
  for (const name of path?.split('.') ?? []) {
    found = found === undefined ? undefined : readMember(found, name)
  }
  return found
}
