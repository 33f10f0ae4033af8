/** What tools and tests ask about test runs. */
import { graphql } from './gql/gql.ts'

export const TestSyncMutation = graphql(`
  mutation TestSync($syncId: ID!, $limit: Int) {
    testSync(input: { syncId: $syncId, limit: $limit }) {
      __typename
      ... on StartedRun {
        status
        run {
          id
          status
          cause
          attemptAllowance
          test {
            versionDigest
            limit
            recordsWithProblems
          }
        }
      }
      ... on AlreadyRunning {
        runId
      }
      ... on InvalidInput {
        problems {
          field
          reason
        }
      }
      ... on Refusal {
        message
      }
    }
  }
`)

export const TestRunQuery = graphql(`
  query TestRun($id: ID!) {
    run(id: $id) {
      cause
      failure {
        code
        nextMutation
      }
      test {
        versionDigest
        limit
        recordsWithProblems
      }
      testRecords {
        position
        record
        isTooLarge
        problem {
          field
          reason
        }
      }
    }
  }
`)
