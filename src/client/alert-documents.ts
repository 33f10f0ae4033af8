/** The operations on alerts. */
import { graphql } from './gql/gql.ts'

export const AlertsQuery = graphql(`
  query Alerts($first: Int, $after: String, $last: Int, $before: String, $filter: AlertFilter) {
    alerts(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
      edges {
        cursor
        node {
          ...WholeAlert
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
  fragment WholeAlert on Alert {
    id
    audience
    severity
    kind
    title
    message
    facts
    workspaceName
    sync {
      id
    }
    run {
      id
    }
    isOpen
    openedAt
    closedAt
    closing
    acknowledgedAt
    acknowledgedBy
  }
`)

export const AcknowledgeAlertMutation = graphql(`
  mutation AcknowledgeAlert($alertId: ID!) {
    acknowledgeAlert(input: { alertId: $alertId }) {
      __typename
      ... on AcknowledgedAlert {
        done: status
        alert {
          ...WholeAlert
        }
      }
      ...Refused
    }
  }
`)

export const AlertsSubscription = graphql(`
  subscription WatchAlerts {
    alerts {
      __typename
      ... on AlertUpdate {
        change
        alert {
          ...WholeAlert
        }
      }
      ... on KeepAlive {
        at
      }
    }
  }
`)
