/* eslint-disable */
import * as types from './graphql.ts';



/**
 * Map of all GraphQL operations in the project.
 *
 * This map has several performance disadvantages:
 * 1. It is not tree-shakeable, so it will include all operations in the project.
 * 2. It is not minifiable, so the string of a GraphQL query will be multiple times inside the bundle.
 * 3. It does not support dead code elimination, so it will add unused operations.
 *
 * Therefore it is highly recommended to use the babel or swc plugin for production.
 * Learn more about it here: https://the-guild.dev/graphql/codegen/plugins/presets/preset-client#reducing-bundle-size
 */
type Documents = {
    "\n  query Viewer {\n    viewer {\n      workspaceName\n      tokenName\n    }\n  }\n": typeof types.ViewerDocument,
    "\n  query Sync($id: ID!) {\n    sync(id: $id) {\n      id\n      name\n      status\n      pause {\n        cause\n        reason\n        pausedBy\n        pausedAt\n      }\n      draft {\n        ...Configuration\n      }\n      publication {\n        versionDigest\n        publishedBy\n        approvedBy\n        publishedAt\n        configuration {\n          ...Configuration\n        }\n      }\n      hasUnpublishedChanges\n      nextFires\n      lastFiredAt\n      coalescedTicks\n      lastRun {\n        id\n        status\n        failure {\n          code\n          whatHappened\n        }\n      }\n    }\n  }\n  fragment Configuration on SyncConfiguration {\n    sourceConnection {\n      id\n      name\n    }\n    stream\n    streamOptions\n    destinationConnection {\n      id\n      name\n    }\n    object\n    objectOptions\n    mapping\n    onRejected\n    onBrokenRecord\n    pageSize\n    schedule {\n      ... on IntervalSchedule {\n        everyMs\n      }\n      ... on CronSchedule {\n        expression\n        timeZone\n      }\n    }\n  }\n": typeof types.SyncDocument,
    "\n  query SchedulePreview($schedule: ScheduleInput!, $after: DateTime!, $first: Int) {\n    schedulePreview(schedule: $schedule, after: $after, first: $first)\n  }\n": typeof types.SchedulePreviewDocument,
    "\n  query Run($id: ID!) {\n    run(id: $id) {\n      ...RunSummary\n      progressNote\n      willRetry\n      nextAttemptAt\n      attemptAllowance\n      attempts {\n        number\n        workerId\n        startedAt\n        finishedAt\n        outcome\n        failure {\n          code\n          whatHappened\n          step\n          detail\n        }\n      }\n      rejectedRecords(first: 100) {\n        edges {\n          node {\n            position\n            reason\n            runs\n            rejectedAt\n          }\n        }\n        pageInfo {\n          hasNextPage\n          endCursor\n        }\n      }\n      retryOf {\n        id\n      }\n      retriedBy {\n        id\n        status\n      }\n      resolvedAt\n      resolvedBy {\n        id\n      }\n    }\n  }\n  fragment RunSummary on Run {\n    id\n    status\n    isTerminal\n    outcome\n    cause\n    requestedBy\n    isCatchingUp\n    counters {\n      ...AllCounters\n    }\n    totalRecords\n    createdAt\n    startedAt\n    finishedAt\n    durationMs\n    owner\n    failure {\n      code\n      whatHappened\n      whatToDo\n      owner\n      step\n      detail\n      runId\n    }\n    sync {\n      id\n      name\n    }\n  }\n  fragment AllCounters on Counters {\n    read\n    written\n    replayed\n    rejected\n    inDoubt\n    quarantined\n    skipped\n  }\n": typeof types.RunDocument,
    "\n  query FailureCatalogue {\n    failureCatalogue {\n      code\n      whatHappened\n      whatToDo\n      owner\n      retried\n    }\n  }\n": typeof types.FailureCatalogueDocument,
    "\n  query Node($id: ID!) {\n    node(id: $id) {\n      __typename\n      id\n    }\n  }\n": typeof types.NodeDocument,
    "\n  mutation CreateConnection($input: CreateConnectionInput!) {\n    createConnection(input: $input) {\n      __typename\n      ... on CreateConnectionPayload {\n        connection {\n          id\n          name\n          type\n          config\n          hasCredentials\n        }\n      }\n      ...Refused\n    }\n  }\n  fragment Refused on Refusal {\n    message\n    ... on InvalidInput {\n      problems {\n        field\n        reason\n      }\n    }\n    ... on NotFound {\n      field\n    }\n    ... on AlreadyRunning {\n      runId\n    }\n    ... on NothingToRetry {\n      latestRetryId\n    }\n    ... on DeliveryInFlight {\n      settleableAt\n    }\n    ... on AlreadySettled {\n      outcome\n    }\n  }\n": typeof types.CreateConnectionDocument,
    "\n  mutation CreateSync($input: CreateSyncInput!) {\n    createSync(input: $input) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n  fragment Changed on ChangedSync {\n    done: status\n    willStopBy\n    sync {\n      id\n      name\n      status\n      hasUnpublishedChanges\n      publication {\n        versionDigest\n      }\n    }\n  }\n": typeof types.CreateSyncDocument,
    "\n  mutation UpdateSync($input: UpdateSyncInput!) {\n    updateSync(input: $input) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n": typeof types.UpdateSyncDocument,
    "\n  mutation PublishSync($syncId: ID!) {\n    publishSync(input: { syncId: $syncId }) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n": typeof types.PublishSyncDocument,
    "\n  mutation PauseSync($syncId: ID!, $reason: String!) {\n    pauseSync(input: { syncId: $syncId, reason: $reason }) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n": typeof types.PauseSyncDocument,
    "\n  mutation ResumeSync($syncId: ID!) {\n    resumeSync(input: { syncId: $syncId }) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n": typeof types.ResumeSyncDocument,
    "\n  mutation RunSync($syncId: ID!) {\n    runSync(input: { syncId: $syncId }) {\n      __typename\n      ...Started\n      ...Refused\n    }\n  }\n  fragment Started on StartedRun {\n    started: status\n    run {\n      id\n      status\n    }\n  }\n": typeof types.RunSyncDocument,
    "\n  mutation RetryRun($runId: ID!) {\n    retryRun(input: { runId: $runId }) {\n      __typename\n      ...Started\n      ...Refused\n    }\n  }\n": typeof types.RetryRunDocument,
    "\n  subscription RunProgress($runId: ID!) {\n    runProgress(runId: $runId) {\n      __typename\n      ... on RunProgress {\n        runId\n        status\n        isTerminal\n        counters {\n          ...AllCounters\n        }\n        totalRecords\n        failureCode\n      }\n      ... on KeepAlive {\n        at\n      }\n    }\n  }\n": typeof types.RunProgressDocument,
    "\n  query Connections($first: Int, $after: String, $last: Int, $before: String) {\n    connections(first: $first, after: $after, last: $last, before: $before) {\n      edges {\n        cursor\n        node {\n          id\n          name\n          type\n          roles\n          config\n          hasCredentials\n          createdAt\n        }\n      }\n      pageInfo {\n        hasNextPage\n        hasPreviousPage\n        startCursor\n        endCursor\n      }\n    }\n  }\n": typeof types.ConnectionsDocument,
    "\n  query Syncs($first: Int, $after: String) {\n    syncs(first: $first, after: $after) {\n      edges {\n        node {\n          id\n          name\n          status\n          hasUnpublishedChanges\n          draft {\n            sourceConnection {\n              name\n            }\n            destinationConnection {\n              name\n            }\n          }\n          lastRun {\n            id\n            status\n          }\n        }\n      }\n      pageInfo {\n        hasNextPage\n        endCursor\n      }\n    }\n  }\n": typeof types.SyncsDocument,
    "\n  query Runs($first: Int, $after: String, $last: Int, $before: String, $filter: RunFilter) {\n    runs(first: $first, after: $after, last: $last, before: $before, filter: $filter) {\n      edges {\n        cursor\n        node {\n          ...RunSummary\n        }\n      }\n      pageInfo {\n        hasNextPage\n        hasPreviousPage\n        startCursor\n        endCursor\n      }\n    }\n  }\n": typeof types.RunsDocument,
    "\n  query Failures($first: Int, $after: String, $filter: FailureFilter) {\n    failures(first: $first, after: $after, filter: $filter) {\n      edges {\n        node {\n          ...RunSummary\n        }\n      }\n      pageInfo {\n        hasNextPage\n        endCursor\n      }\n    }\n  }\n": typeof types.FailuresDocument,
    "\n  mutation CancelRun($runId: ID!, $reason: String!) {\n    cancelRun(input: { runId: $runId, reason: $reason }) {\n      __typename\n      ... on CanceledRun {\n        done: status\n        willStopBy\n        run {\n          id\n          status\n          cancellation {\n            requestedAt\n            requestedBy\n            reason\n          }\n        }\n      }\n      ...Refused\n    }\n  }\n": typeof types.CancelRunDocument,
    "\n  query CursorResetPreview($syncId: ID!) {\n    cursorResetPreview(syncId: $syncId) {\n      recordsToRead\n      replayProtectedUntil\n      protectionGaps\n      openPages\n      heldRecords\n      deliveriesInDoubt\n      runInFlight {\n        id\n      }\n    }\n  }\n": typeof types.CursorResetPreviewDocument,
    "\n  mutation ResetCursor($syncId: ID!, $reason: String!) {\n    resetCursor(input: { syncId: $syncId, reason: $reason }) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n": typeof types.ResetCursorDocument,
    "\n  query DeliveriesInDoubt($syncId: ID!, $first: Int, $after: String) {\n    sync(id: $syncId) {\n      deliveriesInDoubt(first: $first, after: $after) {\n        edges {\n          node {\n            ...Doubt\n          }\n        }\n        pageInfo {\n          hasNextPage\n          endCursor\n        }\n      }\n    }\n  }\n  fragment Doubt on DeliveryInDoubt {\n    intentId\n    position\n    page\n    since\n    settleableAt\n    run {\n      id\n    }\n  }\n": typeof types.DeliveriesInDoubtDocument,
    "\n  query RunDeliveriesInDoubt($runId: ID!) {\n    run(id: $runId) {\n      deliveriesInDoubt {\n        edges {\n          node {\n            ...Doubt\n          }\n        }\n      }\n    }\n  }\n": typeof types.RunDeliveriesInDoubtDocument,
    "\n  mutation SettleDelivery($input: SettleDeliveryInput!) {\n    settleDelivery(input: $input) {\n      __typename\n      ... on SettledDelivery {\n        done: status\n        settled\n        sync {\n          id\n        }\n      }\n      ...Refused\n    }\n  }\n": typeof types.SettleDeliveryDocument,
};
const documents: Documents = {
    "\n  query Viewer {\n    viewer {\n      workspaceName\n      tokenName\n    }\n  }\n": types.ViewerDocument,
    "\n  query Sync($id: ID!) {\n    sync(id: $id) {\n      id\n      name\n      status\n      pause {\n        cause\n        reason\n        pausedBy\n        pausedAt\n      }\n      draft {\n        ...Configuration\n      }\n      publication {\n        versionDigest\n        publishedBy\n        approvedBy\n        publishedAt\n        configuration {\n          ...Configuration\n        }\n      }\n      hasUnpublishedChanges\n      nextFires\n      lastFiredAt\n      coalescedTicks\n      lastRun {\n        id\n        status\n        failure {\n          code\n          whatHappened\n        }\n      }\n    }\n  }\n  fragment Configuration on SyncConfiguration {\n    sourceConnection {\n      id\n      name\n    }\n    stream\n    streamOptions\n    destinationConnection {\n      id\n      name\n    }\n    object\n    objectOptions\n    mapping\n    onRejected\n    onBrokenRecord\n    pageSize\n    schedule {\n      ... on IntervalSchedule {\n        everyMs\n      }\n      ... on CronSchedule {\n        expression\n        timeZone\n      }\n    }\n  }\n": types.SyncDocument,
    "\n  query SchedulePreview($schedule: ScheduleInput!, $after: DateTime!, $first: Int) {\n    schedulePreview(schedule: $schedule, after: $after, first: $first)\n  }\n": types.SchedulePreviewDocument,
    "\n  query Run($id: ID!) {\n    run(id: $id) {\n      ...RunSummary\n      progressNote\n      willRetry\n      nextAttemptAt\n      attemptAllowance\n      attempts {\n        number\n        workerId\n        startedAt\n        finishedAt\n        outcome\n        failure {\n          code\n          whatHappened\n          step\n          detail\n        }\n      }\n      rejectedRecords(first: 100) {\n        edges {\n          node {\n            position\n            reason\n            runs\n            rejectedAt\n          }\n        }\n        pageInfo {\n          hasNextPage\n          endCursor\n        }\n      }\n      retryOf {\n        id\n      }\n      retriedBy {\n        id\n        status\n      }\n      resolvedAt\n      resolvedBy {\n        id\n      }\n    }\n  }\n  fragment RunSummary on Run {\n    id\n    status\n    isTerminal\n    outcome\n    cause\n    requestedBy\n    isCatchingUp\n    counters {\n      ...AllCounters\n    }\n    totalRecords\n    createdAt\n    startedAt\n    finishedAt\n    durationMs\n    owner\n    failure {\n      code\n      whatHappened\n      whatToDo\n      owner\n      step\n      detail\n      runId\n    }\n    sync {\n      id\n      name\n    }\n  }\n  fragment AllCounters on Counters {\n    read\n    written\n    replayed\n    rejected\n    inDoubt\n    quarantined\n    skipped\n  }\n": types.RunDocument,
    "\n  query FailureCatalogue {\n    failureCatalogue {\n      code\n      whatHappened\n      whatToDo\n      owner\n      retried\n    }\n  }\n": types.FailureCatalogueDocument,
    "\n  query Node($id: ID!) {\n    node(id: $id) {\n      __typename\n      id\n    }\n  }\n": types.NodeDocument,
    "\n  mutation CreateConnection($input: CreateConnectionInput!) {\n    createConnection(input: $input) {\n      __typename\n      ... on CreateConnectionPayload {\n        connection {\n          id\n          name\n          type\n          config\n          hasCredentials\n        }\n      }\n      ...Refused\n    }\n  }\n  fragment Refused on Refusal {\n    message\n    ... on InvalidInput {\n      problems {\n        field\n        reason\n      }\n    }\n    ... on NotFound {\n      field\n    }\n    ... on AlreadyRunning {\n      runId\n    }\n    ... on NothingToRetry {\n      latestRetryId\n    }\n    ... on DeliveryInFlight {\n      settleableAt\n    }\n    ... on AlreadySettled {\n      outcome\n    }\n  }\n": types.CreateConnectionDocument,
    "\n  mutation CreateSync($input: CreateSyncInput!) {\n    createSync(input: $input) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n  fragment Changed on ChangedSync {\n    done: status\n    willStopBy\n    sync {\n      id\n      name\n      status\n      hasUnpublishedChanges\n      publication {\n        versionDigest\n      }\n    }\n  }\n": types.CreateSyncDocument,
    "\n  mutation UpdateSync($input: UpdateSyncInput!) {\n    updateSync(input: $input) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n": types.UpdateSyncDocument,
    "\n  mutation PublishSync($syncId: ID!) {\n    publishSync(input: { syncId: $syncId }) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n": types.PublishSyncDocument,
    "\n  mutation PauseSync($syncId: ID!, $reason: String!) {\n    pauseSync(input: { syncId: $syncId, reason: $reason }) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n": types.PauseSyncDocument,
    "\n  mutation ResumeSync($syncId: ID!) {\n    resumeSync(input: { syncId: $syncId }) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n": types.ResumeSyncDocument,
    "\n  mutation RunSync($syncId: ID!) {\n    runSync(input: { syncId: $syncId }) {\n      __typename\n      ...Started\n      ...Refused\n    }\n  }\n  fragment Started on StartedRun {\n    started: status\n    run {\n      id\n      status\n    }\n  }\n": types.RunSyncDocument,
    "\n  mutation RetryRun($runId: ID!) {\n    retryRun(input: { runId: $runId }) {\n      __typename\n      ...Started\n      ...Refused\n    }\n  }\n": types.RetryRunDocument,
    "\n  subscription RunProgress($runId: ID!) {\n    runProgress(runId: $runId) {\n      __typename\n      ... on RunProgress {\n        runId\n        status\n        isTerminal\n        counters {\n          ...AllCounters\n        }\n        totalRecords\n        failureCode\n      }\n      ... on KeepAlive {\n        at\n      }\n    }\n  }\n": types.RunProgressDocument,
    "\n  query Connections($first: Int, $after: String, $last: Int, $before: String) {\n    connections(first: $first, after: $after, last: $last, before: $before) {\n      edges {\n        cursor\n        node {\n          id\n          name\n          type\n          roles\n          config\n          hasCredentials\n          createdAt\n        }\n      }\n      pageInfo {\n        hasNextPage\n        hasPreviousPage\n        startCursor\n        endCursor\n      }\n    }\n  }\n": types.ConnectionsDocument,
    "\n  query Syncs($first: Int, $after: String) {\n    syncs(first: $first, after: $after) {\n      edges {\n        node {\n          id\n          name\n          status\n          hasUnpublishedChanges\n          draft {\n            sourceConnection {\n              name\n            }\n            destinationConnection {\n              name\n            }\n          }\n          lastRun {\n            id\n            status\n          }\n        }\n      }\n      pageInfo {\n        hasNextPage\n        endCursor\n      }\n    }\n  }\n": types.SyncsDocument,
    "\n  query Runs($first: Int, $after: String, $last: Int, $before: String, $filter: RunFilter) {\n    runs(first: $first, after: $after, last: $last, before: $before, filter: $filter) {\n      edges {\n        cursor\n        node {\n          ...RunSummary\n        }\n      }\n      pageInfo {\n        hasNextPage\n        hasPreviousPage\n        startCursor\n        endCursor\n      }\n    }\n  }\n": types.RunsDocument,
    "\n  query Failures($first: Int, $after: String, $filter: FailureFilter) {\n    failures(first: $first, after: $after, filter: $filter) {\n      edges {\n        node {\n          ...RunSummary\n        }\n      }\n      pageInfo {\n        hasNextPage\n        endCursor\n      }\n    }\n  }\n": types.FailuresDocument,
    "\n  mutation CancelRun($runId: ID!, $reason: String!) {\n    cancelRun(input: { runId: $runId, reason: $reason }) {\n      __typename\n      ... on CanceledRun {\n        done: status\n        willStopBy\n        run {\n          id\n          status\n          cancellation {\n            requestedAt\n            requestedBy\n            reason\n          }\n        }\n      }\n      ...Refused\n    }\n  }\n": types.CancelRunDocument,
    "\n  query CursorResetPreview($syncId: ID!) {\n    cursorResetPreview(syncId: $syncId) {\n      recordsToRead\n      replayProtectedUntil\n      protectionGaps\n      openPages\n      heldRecords\n      deliveriesInDoubt\n      runInFlight {\n        id\n      }\n    }\n  }\n": types.CursorResetPreviewDocument,
    "\n  mutation ResetCursor($syncId: ID!, $reason: String!) {\n    resetCursor(input: { syncId: $syncId, reason: $reason }) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n": types.ResetCursorDocument,
    "\n  query DeliveriesInDoubt($syncId: ID!, $first: Int, $after: String) {\n    sync(id: $syncId) {\n      deliveriesInDoubt(first: $first, after: $after) {\n        edges {\n          node {\n            ...Doubt\n          }\n        }\n        pageInfo {\n          hasNextPage\n          endCursor\n        }\n      }\n    }\n  }\n  fragment Doubt on DeliveryInDoubt {\n    intentId\n    position\n    page\n    since\n    settleableAt\n    run {\n      id\n    }\n  }\n": types.DeliveriesInDoubtDocument,
    "\n  query RunDeliveriesInDoubt($runId: ID!) {\n    run(id: $runId) {\n      deliveriesInDoubt {\n        edges {\n          node {\n            ...Doubt\n          }\n        }\n      }\n    }\n  }\n": types.RunDeliveriesInDoubtDocument,
    "\n  mutation SettleDelivery($input: SettleDeliveryInput!) {\n    settleDelivery(input: $input) {\n      __typename\n      ... on SettledDelivery {\n        done: status\n        settled\n        sync {\n          id\n        }\n      }\n      ...Refused\n    }\n  }\n": types.SettleDeliveryDocument,
};

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Viewer {\n    viewer {\n      workspaceName\n      tokenName\n    }\n  }\n"): typeof import('./graphql.ts').ViewerDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Sync($id: ID!) {\n    sync(id: $id) {\n      id\n      name\n      status\n      pause {\n        cause\n        reason\n        pausedBy\n        pausedAt\n      }\n      draft {\n        ...Configuration\n      }\n      publication {\n        versionDigest\n        publishedBy\n        approvedBy\n        publishedAt\n        configuration {\n          ...Configuration\n        }\n      }\n      hasUnpublishedChanges\n      nextFires\n      lastFiredAt\n      coalescedTicks\n      lastRun {\n        id\n        status\n        failure {\n          code\n          whatHappened\n        }\n      }\n    }\n  }\n  fragment Configuration on SyncConfiguration {\n    sourceConnection {\n      id\n      name\n    }\n    stream\n    streamOptions\n    destinationConnection {\n      id\n      name\n    }\n    object\n    objectOptions\n    mapping\n    onRejected\n    onBrokenRecord\n    pageSize\n    schedule {\n      ... on IntervalSchedule {\n        everyMs\n      }\n      ... on CronSchedule {\n        expression\n        timeZone\n      }\n    }\n  }\n"): typeof import('./graphql.ts').SyncDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query SchedulePreview($schedule: ScheduleInput!, $after: DateTime!, $first: Int) {\n    schedulePreview(schedule: $schedule, after: $after, first: $first)\n  }\n"): typeof import('./graphql.ts').SchedulePreviewDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Run($id: ID!) {\n    run(id: $id) {\n      ...RunSummary\n      progressNote\n      willRetry\n      nextAttemptAt\n      attemptAllowance\n      attempts {\n        number\n        workerId\n        startedAt\n        finishedAt\n        outcome\n        failure {\n          code\n          whatHappened\n          step\n          detail\n        }\n      }\n      rejectedRecords(first: 100) {\n        edges {\n          node {\n            position\n            reason\n            runs\n            rejectedAt\n          }\n        }\n        pageInfo {\n          hasNextPage\n          endCursor\n        }\n      }\n      retryOf {\n        id\n      }\n      retriedBy {\n        id\n        status\n      }\n      resolvedAt\n      resolvedBy {\n        id\n      }\n    }\n  }\n  fragment RunSummary on Run {\n    id\n    status\n    isTerminal\n    outcome\n    cause\n    requestedBy\n    isCatchingUp\n    counters {\n      ...AllCounters\n    }\n    totalRecords\n    createdAt\n    startedAt\n    finishedAt\n    durationMs\n    owner\n    failure {\n      code\n      whatHappened\n      whatToDo\n      owner\n      step\n      detail\n      runId\n    }\n    sync {\n      id\n      name\n    }\n  }\n  fragment AllCounters on Counters {\n    read\n    written\n    replayed\n    rejected\n    inDoubt\n    quarantined\n    skipped\n  }\n"): typeof import('./graphql.ts').RunDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query FailureCatalogue {\n    failureCatalogue {\n      code\n      whatHappened\n      whatToDo\n      owner\n      retried\n    }\n  }\n"): typeof import('./graphql.ts').FailureCatalogueDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Node($id: ID!) {\n    node(id: $id) {\n      __typename\n      id\n    }\n  }\n"): typeof import('./graphql.ts').NodeDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation CreateConnection($input: CreateConnectionInput!) {\n    createConnection(input: $input) {\n      __typename\n      ... on CreateConnectionPayload {\n        connection {\n          id\n          name\n          type\n          config\n          hasCredentials\n        }\n      }\n      ...Refused\n    }\n  }\n  fragment Refused on Refusal {\n    message\n    ... on InvalidInput {\n      problems {\n        field\n        reason\n      }\n    }\n    ... on NotFound {\n      field\n    }\n    ... on AlreadyRunning {\n      runId\n    }\n    ... on NothingToRetry {\n      latestRetryId\n    }\n    ... on DeliveryInFlight {\n      settleableAt\n    }\n    ... on AlreadySettled {\n      outcome\n    }\n  }\n"): typeof import('./graphql.ts').CreateConnectionDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation CreateSync($input: CreateSyncInput!) {\n    createSync(input: $input) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n  fragment Changed on ChangedSync {\n    done: status\n    willStopBy\n    sync {\n      id\n      name\n      status\n      hasUnpublishedChanges\n      publication {\n        versionDigest\n      }\n    }\n  }\n"): typeof import('./graphql.ts').CreateSyncDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation UpdateSync($input: UpdateSyncInput!) {\n    updateSync(input: $input) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n"): typeof import('./graphql.ts').UpdateSyncDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation PublishSync($syncId: ID!) {\n    publishSync(input: { syncId: $syncId }) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n"): typeof import('./graphql.ts').PublishSyncDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation PauseSync($syncId: ID!, $reason: String!) {\n    pauseSync(input: { syncId: $syncId, reason: $reason }) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n"): typeof import('./graphql.ts').PauseSyncDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation ResumeSync($syncId: ID!) {\n    resumeSync(input: { syncId: $syncId }) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n"): typeof import('./graphql.ts').ResumeSyncDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation RunSync($syncId: ID!) {\n    runSync(input: { syncId: $syncId }) {\n      __typename\n      ...Started\n      ...Refused\n    }\n  }\n  fragment Started on StartedRun {\n    started: status\n    run {\n      id\n      status\n    }\n  }\n"): typeof import('./graphql.ts').RunSyncDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation RetryRun($runId: ID!) {\n    retryRun(input: { runId: $runId }) {\n      __typename\n      ...Started\n      ...Refused\n    }\n  }\n"): typeof import('./graphql.ts').RetryRunDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription RunProgress($runId: ID!) {\n    runProgress(runId: $runId) {\n      __typename\n      ... on RunProgress {\n        runId\n        status\n        isTerminal\n        counters {\n          ...AllCounters\n        }\n        totalRecords\n        failureCode\n      }\n      ... on KeepAlive {\n        at\n      }\n    }\n  }\n"): typeof import('./graphql.ts').RunProgressDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Connections($first: Int, $after: String, $last: Int, $before: String) {\n    connections(first: $first, after: $after, last: $last, before: $before) {\n      edges {\n        cursor\n        node {\n          id\n          name\n          type\n          roles\n          config\n          hasCredentials\n          createdAt\n        }\n      }\n      pageInfo {\n        hasNextPage\n        hasPreviousPage\n        startCursor\n        endCursor\n      }\n    }\n  }\n"): typeof import('./graphql.ts').ConnectionsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Syncs($first: Int, $after: String) {\n    syncs(first: $first, after: $after) {\n      edges {\n        node {\n          id\n          name\n          status\n          hasUnpublishedChanges\n          draft {\n            sourceConnection {\n              name\n            }\n            destinationConnection {\n              name\n            }\n          }\n          lastRun {\n            id\n            status\n          }\n        }\n      }\n      pageInfo {\n        hasNextPage\n        endCursor\n      }\n    }\n  }\n"): typeof import('./graphql.ts').SyncsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Runs($first: Int, $after: String, $last: Int, $before: String, $filter: RunFilter) {\n    runs(first: $first, after: $after, last: $last, before: $before, filter: $filter) {\n      edges {\n        cursor\n        node {\n          ...RunSummary\n        }\n      }\n      pageInfo {\n        hasNextPage\n        hasPreviousPage\n        startCursor\n        endCursor\n      }\n    }\n  }\n"): typeof import('./graphql.ts').RunsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Failures($first: Int, $after: String, $filter: FailureFilter) {\n    failures(first: $first, after: $after, filter: $filter) {\n      edges {\n        node {\n          ...RunSummary\n        }\n      }\n      pageInfo {\n        hasNextPage\n        endCursor\n      }\n    }\n  }\n"): typeof import('./graphql.ts').FailuresDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation CancelRun($runId: ID!, $reason: String!) {\n    cancelRun(input: { runId: $runId, reason: $reason }) {\n      __typename\n      ... on CanceledRun {\n        done: status\n        willStopBy\n        run {\n          id\n          status\n          cancellation {\n            requestedAt\n            requestedBy\n            reason\n          }\n        }\n      }\n      ...Refused\n    }\n  }\n"): typeof import('./graphql.ts').CancelRunDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query CursorResetPreview($syncId: ID!) {\n    cursorResetPreview(syncId: $syncId) {\n      recordsToRead\n      replayProtectedUntil\n      protectionGaps\n      openPages\n      heldRecords\n      deliveriesInDoubt\n      runInFlight {\n        id\n      }\n    }\n  }\n"): typeof import('./graphql.ts').CursorResetPreviewDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation ResetCursor($syncId: ID!, $reason: String!) {\n    resetCursor(input: { syncId: $syncId, reason: $reason }) {\n      __typename\n      ...Changed\n      ...Refused\n    }\n  }\n"): typeof import('./graphql.ts').ResetCursorDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query DeliveriesInDoubt($syncId: ID!, $first: Int, $after: String) {\n    sync(id: $syncId) {\n      deliveriesInDoubt(first: $first, after: $after) {\n        edges {\n          node {\n            ...Doubt\n          }\n        }\n        pageInfo {\n          hasNextPage\n          endCursor\n        }\n      }\n    }\n  }\n  fragment Doubt on DeliveryInDoubt {\n    intentId\n    position\n    page\n    since\n    settleableAt\n    run {\n      id\n    }\n  }\n"): typeof import('./graphql.ts').DeliveriesInDoubtDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query RunDeliveriesInDoubt($runId: ID!) {\n    run(id: $runId) {\n      deliveriesInDoubt {\n        edges {\n          node {\n            ...Doubt\n          }\n        }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').RunDeliveriesInDoubtDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation SettleDelivery($input: SettleDeliveryInput!) {\n    settleDelivery(input: $input) {\n      __typename\n      ... on SettledDelivery {\n        done: status\n        settled\n        sync {\n          id\n        }\n      }\n      ...Refused\n    }\n  }\n"): typeof import('./graphql.ts').SettleDeliveryDocument;


export function graphql(source: string) {
  return (documents as any)[source] ?? {};
}
