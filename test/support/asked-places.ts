/** Places below an API that are asked about writes and imports, and do not tell the truth. */
import type { Reaction, RecordedQuestion } from './recording-destination.ts'

type Place = (question: RecordedQuestion) => Reaction | null

const NOT_FOUND: Reaction = { kind: 'answer', status: 404, body: '{"error":"not found"}' }
const NO_IMPORTS: Reaction = { kind: 'answer', status: 200, body: '{"imports":[]}' }

const OTHER_IMPORTS = '{"imports":[{"id":"another"}]}'

/** There is nothing: the API says so of every path. */
export function leadsNowhere(prefix: string): Place {
  return ({ path }) => (path.startsWith(prefix) ? NOT_FOUND : null)
}

/** The API has such a place, and nothing in it. */
export function hasNothing(prefix: string): Place {
  return ({ path }) => {
    if (!path.startsWith(prefix)) {
      return null
    }
    return path.includes('?tag=') ? NO_IMPORTS : NOT_FOUND
  }
}

/** The API has something for every path. */
export function hasEverything(prefix: string): Place {
  return ({ path }) =>
    path.startsWith(prefix) ? { kind: 'answer', status: 200, body: '{}' } : null
}

/** The API has a list of imports that takes no account of tags, and one that is over in it. */
export function listsOthers(prefix: string): Place {
  return ({ path }) => {
    if (!path.startsWith(prefix)) {
      return null
    }
    const body = path.includes('?tag=') ? OTHER_IMPORTS : '{"status":"finished","results":[]}'
    return { kind: 'answer', status: 200, body }
  }
}

/** The API does not say. */
export function isAway(prefix: string): Place {
  return ({ path }) =>
    path.startsWith(prefix) ? { kind: 'answer', status: 500, body: '{"error":"oops"}' } : null
}

/** The first of them that has something to say; else the truth. */
export function places(...all: readonly Place[]): Place {
  return (question) => {
    for (const place of all) {
      const reaction = place(question)
      if (reaction) {
        return reaction
      }
    }
    return null
  }
}
