/** The operations that connect tools and disconnect them; createConnection is in documents. */
import { graphql } from './gql/gql.ts'

export const DisconnectConnectionMutation = graphql(`
  mutation DisconnectConnection($input: DisconnectConnectionInput!) {
    disconnectConnection(input: $input) {
      __typename
      ...ConnectionChanged
      ...Refused
    }
  }
  fragment ConnectionChanged on ChangedConnection {
    done: status
    connection {
      id
      isConnected
      disconnectedAt
      hasCredentials
      config
      syncs(first: 50) {
        edges {
          node {
            id
            name
            status
          }
        }
      }
    }
  }
`)

export const ReconnectConnectionMutation = graphql(`
  mutation ReconnectConnection($input: ReconnectConnectionInput!) {
    reconnectConnection(input: $input) {
      __typename
      ...ConnectionChanged
      ...Refused
    }
  }
`)
