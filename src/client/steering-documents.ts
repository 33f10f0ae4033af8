/** The operations that steer runs that went otherwise than they should. */
import { graphql } from './gql/gql.ts'

export const CancelRunMutation = graphql(`
  mutation CancelRun($runId: ID!, $reason: String!) {
    cancelRun(input: { runId: $runId, reason: $reason }) {
      __typename
      ... on CanceledRun {
        done: status
        willStopBy
        run {
          id
          status
          cancellation {
            requestedAt
            requestedBy
            reason
          }
        }
      }
      ...Refused
    }
  }
`)

export const CursorResetPreviewQuery = graphql(`
  query CursorResetPreview($syncId: ID!) {
    cursorResetPreview(syncId: $syncId) {
      recordsToRead
      replayProtectedUntil
      protectionGaps
      openPages
      heldRecords
      quarantinedRecords
      deliveriesInDoubt
      runInFlight {
        id
      }
    }
  }
`)

export const ResetCursorMutation = graphql(`
  mutation ResetCursor($syncId: ID!, $reason: String!) {
    resetCursor(input: { syncId: $syncId, reason: $reason }) {
      __typename
      ...Changed
      ...Refused
    }
  }
`)

export const DeliveriesInDoubtQuery = graphql(`
  query DeliveriesInDoubt($syncId: ID!, $first: Int, $after: String) {
    sync(id: $syncId) {
      deliveriesInDoubt(first: $first, after: $after) {
        edges {
          node {
            ...Doubt
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
  fragment Doubt on DeliveryInDoubt {
    intentId
    position
    page
    since
    settleableAt
    cause
    run {
      id
    }
  }
`)

export const RunDeliveriesInDoubtQuery = graphql(`
  query RunDeliveriesInDoubt($runId: ID!) {
    run(id: $runId) {
      deliveriesInDoubt {
        edges {
          node {
            ...Doubt
          }
        }
      }
    }
  }
`)

export const SettleDeliveryMutation = graphql(`
  mutation SettleDelivery($input: SettleDeliveryInput!) {
    settleDelivery(input: $input) {
      __typename
      ... on SettledDelivery {
        done: status
        settled
        sync {
          id
        }
      }
      ...Refused
    }
  }
`)

export const RetryRunsMutation = graphql(`
  mutation RetryRuns($input: RetryRunsInput!) {
    retryRuns(input: $input) {
      __typename
      ... on RetriedRuns {
        done: status
        started
        items {
          runId
          outcome {
            __typename
            ...Started
            ...Refused
            ... on AlreadyRunning {
              runId
            }
            ... on NothingToRetry {
              latestRetryId
            }
          }
        }
      }
      ...Refused
    }
  }
`)

export const DeliveryQuery = graphql(`
  query Delivery($key: String!) {
    delivery(key: $key) {
      ...Receipt
    }
  }
  fragment Receipt on Delivery {
    key
    page
    position
    deliveredAt
    remoteId
    isSettled
    replayProtectedUntil
    sync {
      id
    }
  }
`)

export const DeliveriesQuery = graphql(`
  query Deliveries($syncId: ID!, $record: String!) {
    sync(id: $syncId) {
      deliveries(record: $record) {
        ...Receipt
      }
    }
  }
`)
