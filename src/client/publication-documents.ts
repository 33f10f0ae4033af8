/** What tools and tests ask about publishing with four eyes. */
import { graphql } from './gql/gql.ts'

export const PublicationRequestsQuery = graphql(`
  query PublicationRequests(
    $first: Int
    $after: String
    $last: Int
    $before: String
    $filter: PublicationRequestFilter
  ) {
    publicationRequests(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
      edges {
        cursor
        node {
          id
          status
          versionDigest
          reason
          requestedBy
          requestedAt
          isOwn
          closedBy
          closedAt
          closingReason
          configuration {
            pageSize
          }
          publication {
            id
          }
          sync {
            id
          }
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

export const PublicationRequestQuery = graphql(`
  query PublicationRequest($id: ID!) {
    publicationRequest(id: $id) {
      id
      status
    }
  }
`)

export const SyncPublicationsQuery = graphql(`
  query SyncPublications($syncId: ID!, $first: Int, $after: String) {
    sync(id: $syncId) {
      status
      hasUnpublishedChanges
      publication {
        id
      }
      publicationRequest {
        id
        status
        versionDigest
      }
      publications(first: $first, after: $after) {
        edges {
          node {
            id
            versionDigest
            publishedBy
            approvedBy
            publishedAt
            configuration {
              pageSize
            }
            request {
              id
              reason
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

export const RequestPublicationMutation = graphql(`
  mutation RequestPublication($syncId: ID!, $reason: String!) {
    requestPublication(input: { syncId: $syncId, reason: $reason }) {
      __typename
      ... on ChangedPublicationRequest {
        status
        request {
          id
          status
          versionDigest
          requestedBy
        }
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

export const ApprovePublicationMutation = graphql(`
  mutation ApprovePublication($requestId: ID!) {
    approvePublication(input: { requestId: $requestId }) {
      __typename
      ... on ChangedPublicationRequest {
        status
        request {
          id
          status
          closedBy
          publication {
            id
            versionDigest
            publishedBy
            approvedBy
          }
          sync {
            status
            publication {
              id
              versionDigest
            }
          }
        }
      }
      ... on RequestClosed {
        requestStatus
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

export const RefusePublicationMutation = graphql(`
  mutation RefusePublication($requestId: ID!, $reason: String!) {
    refusePublication(input: { requestId: $requestId, reason: $reason }) {
      __typename
      ... on ChangedPublicationRequest {
        status
        request {
          id
          status
          closedBy
          closingReason
        }
      }
      ... on RequestClosed {
        requestStatus
      }
      ... on Refusal {
        message
      }
    }
  }
`)

export const WithdrawPublicationRequestMutation = graphql(`
  mutation WithdrawPublicationRequest($requestId: ID!, $reason: String!) {
    withdrawPublicationRequest(input: { requestId: $requestId, reason: $reason }) {
      __typename
      ... on ChangedPublicationRequest {
        status
        request {
          id
          status
          closedBy
          closingReason
        }
      }
      ... on Forbidden {
        neededRole
      }
      ... on RequestClosed {
        requestStatus
      }
      ... on Refusal {
        message
      }
    }
  }
`)

export const SetPublishingPolicyMutation = graphql(`
  mutation SetPublishingPolicy($needsApproval: Boolean!, $reason: String!) {
    setPublishingPolicy(input: { needsApproval: $needsApproval, reason: $reason }) {
      __typename
      ... on PublishingPolicy {
        status
        needsApproval
      }
      ... on Refusal {
        message
      }
    }
  }
`)

export const PublishingPolicyQuery = graphql(`
  query PublishingPolicy {
    viewer {
      publishingNeedsApproval
    }
  }
`)

/** What a publication would be refused for. */
export const PublicationPreviewQuery = graphql(`
  query PublicationPreview($syncId: ID!) {
    publicationPreview(syncId: $syncId) {
      isReady
      problems {
        field
        reason
      }
      unchecked {
        field
        reason
      }
    }
  }
`)
