/** The audit trail, as the tests and the console read it. */
import { graphql } from './gql/gql.ts'

export const AuditEntriesQuery = graphql(`
  query AuditEntries($first: Int, $after: String, $last: Int, $before: String, $filter: AuditFilter) {
    auditEntries(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
      edges {
        cursor
        node {
          at
          actor
          action
          reason
          subjectType
          subjectId
          subject {
            __typename
            ... on Sync {
              id
              name
            }
            ... on Connection {
              id
              name
            }
            ... on Run {
              id
              status
            }
          }
          before
          after
        }
      }
      pageInfo {
        hasNextPage
        hasPreviousPage
        startCursor
        endCursor
      }
    }
  }
`)
