/** The operations on records that were rejected. */
import { graphql } from './gql/gql.ts'

export const RejectedRecordsQuery = graphql(`
  query RejectedRecords(
    $syncId: ID!
    $states: [RejectedRecordState!]
    $first: Int
    $after: String
  ) {
    sync(id: $syncId) {
      rejectedRecords(states: $states, first: $first, after: $after) {
        edges {
          node {
            id
            state
            position
            page
            reason
            runs
            canBeRedriven
            firstRejectedAt
            rejectedAt
            quarantinedAt
            endedAt
            firstRun {
              id
            }
            lastRun {
              id
            }
            sync {
              id
            }
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
`)

export const RedriveRecordsMutation = graphql(`
  mutation RedriveRecords($syncId: ID!, $recordIds: [ID!]) {
    redriveRecords(input: { syncId: $syncId, recordIds: $recordIds }) {
      __typename
      ... on RedrivenRecords {
        done: status
        redriven
        run {
          id
          status
          cause
        }
        records {
          recordId
          status
        }
        sync {
          id
        }
      }
      ...Refused
    }
  }
`)

export const DiscardRecordsMutation = graphql(`
  mutation DiscardRecords($syncId: ID!, $recordIds: [ID!]!, $reason: String!) {
    discardRecords(input: { syncId: $syncId, recordIds: $recordIds, reason: $reason }) {
      __typename
      ... on DiscardedRecords {
        done: status
        discarded
        records {
          recordId
          status
        }
        sync {
          id
        }
      }
      ...Refused
    }
  }
`)
