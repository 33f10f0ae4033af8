/** What tools and tests ask about tokens. */
import { graphql } from './gql/gql.ts'

export const TokensQuery = graphql(`
  query Tokens($first: Int) {
    tokens(first: $first) {
      edges {
        node {
          id
          name
          role
          isUsable
          createdAt
          expiresAt
          revokedAt
        }
      }
    }
  }
`)

export const CreateTokenMutation = graphql(`
  mutation CreateToken($input: CreateTokenInput!) {
    createToken(input: $input) {
      __typename
      ... on CreatedToken {
        secret
        token {
          id
          name
          role
          expiresAt
        }
      }
      ... on Forbidden {
        neededRole
      }
      ... on Refusal {
        message
      }
    }
  }
`)

export const RevokeTokenMutation = graphql(`
  mutation RevokeToken($tokenId: ID!, $reason: String!) {
    revokeToken(input: { tokenId: $tokenId, reason: $reason }) {
      __typename
      ... on RevokedToken {
        status
        token {
          id
          isUsable
          revokedAt
        }
      }
      ... on Forbidden {
        neededRole
      }
      ... on Refusal {
        message
      }
    }
  }
`)
