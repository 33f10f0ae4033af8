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
      access {
        status
        since
        detail
        whatToDo
      }
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

export const TestConnectionMutation = graphql(`
  mutation TestConnection($input: TestConnectionInput!) {
    testConnection(input: $input) {
      __typename
      ... on TestedConnection {
        testedAt
        result {
          __typename
          ... on ConnectionTestVerdict {
            message
            detail
          }
        }
        connection {
          id
          access {
            status
            since
            detail
            whatToDo
          }
        }
      }
      ...Refused
    }
  }
`)

/** How the syncs of the workspace are, and by which connection they are refused. */
export const RefusedSyncsQuery = graphql(`
  query RefusedSyncs($first: Int) {
    syncs(first: $first) {
      edges {
        node {
          id
          health {
            status
            since
            why
          }
          refusedConnections {
            id
            name
            access {
              status
              since
            }
          }
        }
      }
    }
  }
`)
