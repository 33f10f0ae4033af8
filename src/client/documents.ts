/** The operations that the tests, the demo and the console send. */
import { graphql } from './gql/gql.ts'

export const ViewerQuery = graphql(`
  query Viewer {
    viewer {
      workspaceName
      tokenName
      role
      isTajo
      workspaceId
    }
  }
`)

export const SyncQuery = graphql(`
  query Sync($id: ID!) {
    sync(id: $id) {
      id
      name
      status
      pause {
        cause
        reason
        pausedBy
        pausedAt
        run {
          id
          status
        }
      }
      lastFailure {
        code
        whatHappened
        whatToDo
        owner
        runId
      }
      draft {
        ...Configuration
      }
      publication {
        versionDigest
        publishedBy
        approvedBy
        publishedAt
        configuration {
          ...Configuration
        }
      }
      hasUnpublishedChanges
      nextFires
      lastFiredAt
      coalescedTicks
      health {
        status
        since
        why
      }
      lastRun {
        id
        status
        failure {
          code
          whatHappened
        }
      }
    }
  }
  fragment Configuration on SyncConfiguration {
    sourceConnection {
      id
      name
    }
    stream
    streamOptions
    destinationConnection {
      id
      name
    }
    object
    objectOptions
    mapping
    onRejected
    onBrokenRecord
    pageSize
    schedule {
      ... on IntervalSchedule {
        everyMs
      }
      ... on CronSchedule {
        expression
        timeZone
      }
    }
    breakerThreshold
  }
`)

export const SchedulePreviewQuery = graphql(`
  query SchedulePreview($schedule: ScheduleInput!, $after: DateTime!, $first: Int) {
    schedulePreview(schedule: $schedule, after: $after, first: $first)
  }
`)

export const RunQuery = graphql(`
  query Run($id: ID!) {
    run(id: $id) {
      ...RunSummary
      progressNote
      willRetry
      nextAttemptAt
      attemptAllowance
      attempts {
        number
        workerId
        startedAt
        finishedAt
        outcome
        failure {
          code
          whatHappened
          step
          detail
        }
      }
      rejectedRecords(first: 100) {
        edges {
          node {
            id
            state
            position
            reason
            runs
            rejectedAt
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
      retryOf {
        id
      }
      retriedBy {
        id
        status
      }
      resolvedAt
      resolvedBy {
        id
      }
    }
  }
  fragment RunSummary on Run {
    id
    status
    isTerminal
    outcome
    cause
    requestedBy
    isCatchingUp
    counters {
      ...AllCounters
    }
    totalRecords
    createdAt
    startedAt
    finishedAt
    durationMs
    owner
    failure {
      code
      whatHappened
      whatToDo
      owner
      nextMutation
      step
      detail
      runId
    }
    sync {
      id
      name
    }
  }
  fragment AllCounters on Counters {
    read
    written
    replayed
    rejected
    inDoubt
    quarantined
    skipped
  }
`)

export const FailureCatalogueQuery = graphql(`
  query FailureCatalogue {
    failureCatalogue {
      code
      whatHappened
      whatToDo
      owner
      retried
      nextMutation
      causes
    }
  }
`)

export const NodeQuery = graphql(`
  query Node($id: ID!) {
    node(id: $id) {
      __typename
      id
    }
  }
`)

export const CreateConnectionMutation = graphql(`
  mutation CreateConnection($input: CreateConnectionInput!) {
    createConnection(input: $input) {
      __typename
      ... on CreateConnectionPayload {
        connection {
          id
          name
          type
          config
          hasCredentials
        }
      }
      ...Refused
    }
  }
  fragment Refused on Refusal {
    message
    ... on InvalidInput {
      problems {
        field
        reason
      }
    }
    ... on NotFound {
      field
    }
    ... on AlreadyRunning {
      runId
    }
    ... on NothingToRetry {
      latestRetryId
    }
    ... on DeliveryInFlight {
      settleableAt
    }
    ... on AlreadySettled {
      outcome
    }
  }
`)

export const CreateSyncMutation = graphql(`
  mutation CreateSync($input: CreateSyncInput!) {
    createSync(input: $input) {
      __typename
      ...Changed
      ...Refused
    }
  }
  fragment Changed on ChangedSync {
    done: status
    willStopBy
    sync {
      id
      name
      status
      hasUnpublishedChanges
      publication {
        versionDigest
      }
    }
  }
`)

export const UpdateSyncMutation = graphql(`
  mutation UpdateSync($input: UpdateSyncInput!) {
    updateSync(input: $input) {
      __typename
      ...Changed
      ...Refused
    }
  }
`)

export const PublishSyncMutation = graphql(`
  mutation PublishSync($syncId: ID!, $acceptsUnchecked: Boolean) {
    publishSync(input: { syncId: $syncId, acceptsUnchecked: $acceptsUnchecked }) {
      __typename
      ...Changed
      ...Refused
    }
  }
`)

export const PauseSyncMutation = graphql(`
  mutation PauseSync($syncId: ID!, $reason: String!) {
    pauseSync(input: { syncId: $syncId, reason: $reason }) {
      __typename
      ...Changed
      ...Refused
    }
  }
`)

export const ResumeSyncMutation = graphql(`
  mutation ResumeSync($syncId: ID!) {
    resumeSync(input: { syncId: $syncId }) {
      __typename
      ...Changed
      ...Refused
    }
  }
`)

export const RunSyncMutation = graphql(`
  mutation RunSync($syncId: ID!) {
    runSync(input: { syncId: $syncId }) {
      __typename
      ...Started
      ...Refused
    }
  }
  fragment Started on StartedRun {
    started: status
    run {
      id
      status
    }
  }
`)

export const RetryRunMutation = graphql(`
  mutation RetryRun($runId: ID!) {
    retryRun(input: { runId: $runId }) {
      __typename
      ...Started
      ...Refused
    }
  }
`)

export const RunProgressSubscription = graphql(`
  subscription RunProgress($runId: ID!, $after: String) {
    runProgress(runId: $runId, after: $after) {
      __typename
      ...Progress
      ... on KeepAlive {
        at
      }
    }
  }
  fragment Progress on RunProgress {
    runId
    syncId
    sequence
    status
    isTerminal
    counters {
      ...AllCounters
    }
    totalRecords
    failureCode
    progressNote
  }
`)
