/** The page that is measured: 50 failed runs with their failures and attempts. */

export const PAGE_SIZE = 50

export const PAGE_QUERY = `query Page($after: String, $statuses: [RunStatus!], $codes: [FailureCode!]) {
  runs(first: 50, after: $after, filter: { statuses: $statuses, codes: $codes }) {
    edges {
      cursor
      node {
        id
        status
        outcome
        createdAt
        startedAt
        finishedAt
        durationMs
        counters { read written rejected inDoubt }
        failure { code whatHappened whatToDo owner step detail }
        attempts { number workerId startedAt finishedAt outcome failure { code step detail } }
      }
    }
    pageInfo { hasNextPage endCursor }
  }
}`
