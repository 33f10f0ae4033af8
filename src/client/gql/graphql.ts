/* eslint-disable */
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
export type Maybe<T> = T | null;
export type InputMaybe<T> = T | null | undefined;
export type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type MakeOptional<T, K extends keyof T> = Omit<T, K> & { [SubKey in K]?: Maybe<T[SubKey]> };
export type MakeMaybe<T, K extends keyof T> = Omit<T, K> & { [SubKey in K]: Maybe<T[SubKey]> };
export type MakeEmpty<T extends { [key: string]: unknown }, K extends keyof T> = { [_ in K]?: never };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  /** A moment in UTC, as in RFC 3339: `2026-03-29T01:30:00.000Z`. */
  DateTime: { input: string; output: string; }
  /** Any JSON value. */
  JSON: { input: unknown; output: unknown; }
};

/** A token that opens the workspace. Its text is shown once, when it is made. */
export type AccessToken = Node & {
  __typename?: 'AccessToken';
  /** When it was made. */
  createdAt: Scalars['DateTime']['output'];
  /** From when it opens nothing any more; null: it does not expire. */
  expiresAt?: Maybe<Scalars['DateTime']['output']>;
  /** Unique among all objects; to be treated as opaque. */
  id: Scalars['ID']['output'];
  /** Whether it still opens the workspace: it was not revoked and has not expired. */
  isUsable: Scalars['Boolean']['output'];
  /** What it is for. What is done with it is audited under this name. */
  name: Scalars['String']['output'];
  /** When it was revoked; null: it was not. */
  revokedAt?: Maybe<Scalars['DateTime']['output']>;
  /** What it may do. */
  role: Role;
};

/** An alert that somebody looks after. */
export type AcknowledgeAlertInput = {
  /** The id of the alert. */
  alertId: Scalars['ID']['input'];
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type AcknowledgeAlertResult = AcknowledgedAlert | Forbidden | InvalidInput | NotFound;

/** The alert after it was acknowledged. */
export type AcknowledgedAlert = {
  __typename?: 'AcknowledgedAlert';
  /** The alert. */
  alert: Alert;
  /** `DONE`, or `NOOP`: somebody acknowledged it before. */
  status: CommandStatus;
};

/** Something that will not mend itself. An incident has one alert, which opens once and closes when the incident is over. */
export type Alert = Node & {
  __typename?: 'Alert';
  /** Since when somebody looks after it; null: nobody has said so. */
  acknowledgedAt?: Maybe<Scalars['DateTime']['output']>;
  /** The name of the token that said so; null: none has. */
  acknowledgedBy?: Maybe<Scalars['String']['output']>;
  /** Whom it is for. */
  audience: AlertAudience;
  /** When its incident was over; null while it is open. */
  closedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Why its incident is over, as one sentence; null while it is open. */
  closing?: Maybe<Scalars['String']['output']>;
  /** The figures behind it; which ones depends on its kind. */
  facts: Scalars['JSON']['output'];
  /** Unique among all objects; to be treated as opaque. */
  id: Scalars['ID']['output'];
  /** Whether its incident goes on. */
  isOpen: Scalars['Boolean']['output'];
  /** What it tells of. */
  kind: AlertKind;
  /** What happened, what to do and who has to do it, in full sentences. */
  message: Scalars['String']['output'];
  /** When it was raised. */
  openedAt: Scalars['DateTime']['output'];
  /** The run that raised it; null for none, and for one of another workspace. */
  run?: Maybe<Run>;
  /** How grave it is. */
  severity: AlertSeverity;
  /** The sync it is about; null for none, and for one of another workspace. */
  sync?: Maybe<Sync>;
  /** What happened, in a few words. */
  title: Scalars['String']['output'];
  /** The id of the workspace that it is about. */
  workspaceId: Scalars['ID']['output'];
  /** The workspace it is about. For Tajo's operators it may be another one than theirs. */
  workspaceName: Scalars['String']['output'];
};

/** Whom an alert is for. */
export type AlertAudience =
  /** Tajo's operators, who see it with a token of Tajo's. */
  | 'TAJO'
  /** The people of the workspace. */
  | 'WORKSPACE';

/** What became of an alert. */
export type AlertChange =
  /** Somebody looks after it. */
  | 'ACKNOWLEDGED'
  /** Its incident is over. Of one that was over as soon as it was raised, this is the only event. */
  | 'CLOSED'
  /** It was open when the stream began. */
  | 'OPEN'
  /** It was raised. */
  | 'OPENED';

/** What is sent while alerts are watched. */
export type AlertEvent = AlertUpdate | KeepAlive;

/** Which alerts to list. What is not given does not restrict. */
export type AlertFilter = {
  /** Only those that are open, or only those that are over. */
  isOpen?: InputMaybe<Scalars['Boolean']['input']>;
  /** Alerts of this kind. */
  kind?: InputMaybe<AlertKind>;
  /** Alerts that are so grave. */
  severity?: InputMaybe<AlertSeverity>;
};

/** What an alert tells of. Kinds may be added. */
export type AlertKind =
  /** A sync was paused after failed runs in a row: mend the cause, then publish it. */
  | 'CIRCUIT_BREAKER_TRIPPED'
  /** Nothing of a workspace succeeds any more, or its runs are not taken up. */
  | 'WORKSPACE_SILENT';

/** How grave an alert is. */
export type AlertSeverity =
  /** Something does not run any more until somebody acts. */
  | 'CRITICAL'
  /** Somebody should look at it. */
  | 'WARNING';

/** That an alert is there, or has changed. */
export type AlertUpdate = {
  __typename?: 'AlertUpdate';
  /** The alert, as it stands now. */
  alert: Alert;
  /** What became of it. */
  change: AlertChange;
};

/** A run of this sync is queued or running. */
export type AlreadyRunning = Refusal & {
  __typename?: 'AlreadyRunning';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
  /** The id of that run. */
  runId: Scalars['ID']['output'];
};

/** Somebody said before that the opposite became of the delivery. */
export type AlreadySettled = Refusal & {
  __typename?: 'AlreadySettled';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
  /** How it was settled. */
  outcome: DeliverySettlement;
};

/** The workspace publishes only what was requested and approved by somebody else. */
export type ApprovalNeeded = Refusal & {
  __typename?: 'ApprovalNeeded';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
};

/** A request to approve. */
export type ApprovePublicationInput = {
  /** Do it also where a system is out of reach, so that nobody can tell whether it would take the version. What is known to be wrong is refused all the same. */
  acceptsUnchecked?: InputMaybe<Scalars['Boolean']['input']>;
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** The id of the request to publish. */
  requestId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type ApprovePublicationResult = ChangedPublicationRequest | Forbidden | InvalidInput | NotFound | OwnRequest | RequestClosed | SyncStillPausing | SystemOutOfReach;

/** One try of a run by one worker. */
export type Attempt = {
  __typename?: 'Attempt';
  /** Why it failed, or was handed back; null when there is nothing to tell. */
  failure?: Maybe<RunFailure>;
  /** When it ended; null while it lasts. */
  finishedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Counts from 1 within the run. */
  number: Scalars['Int']['output'];
  /** How it ended; null while it lasts. */
  outcome?: Maybe<AttemptOutcome>;
  /** When it began. */
  startedAt: Scalars['DateTime']['output'];
  /** The worker, as logs name it. */
  workerId: Scalars['String']['output'];
};

/** How an attempt ended. */
export type AttemptOutcome =
  /** A person canceled the run. */
  | 'CANCELED'
  /** It read the source to its end. */
  | 'COMPLETED'
  /** It failed, and the run with it. */
  | 'FAILED'
  /** It failed, and another attempt follows. */
  | 'POSTPONED'
  /** Its worker fell silent, and the run was handed on; it does not count. */
  | 'RECOVERED'
  /** Its worker was stopping, or had lost its database, and handed the run back; it does not count. */
  | 'RELEASED'
  /** It stopped reporting, and the run was closed. */
  | 'SWEPT';

/** One change of state: who did what to what, when and why. */
export type AuditEntry = {
  __typename?: 'AuditEntry';
  /** What was done: the mutation, or what a machine did, such as `pauseSync`. */
  action: Scalars['String']['output'];
  /** The name of the token that acted; `tajo`: a machine, or who runs Tajo. */
  actor: Scalars['String']['output'];
  /** What it is since; null: nothing that could be told. Of a token only an `ADMIN` is told. */
  after?: Maybe<Scalars['JSON']['output']>;
  /** When it was done. */
  at: Scalars['DateTime']['output'];
  /** What it was before, as far as it was changed; null: nothing. Of a token only an `ADMIN` is told. */
  before?: Maybe<Scalars['JSON']['output']>;
  /** Why, in the words of whoever acted; null: nobody was asked. */
  reason?: Maybe<Scalars['String']['output']>;
  /** What was changed, as it is now; null for what cannot be asked for. */
  subject?: Maybe<AuditSubject>;
  /** The id of what was changed. */
  subjectId: Scalars['ID']['output'];
  /** What kind of thing was changed. */
  subjectType: AuditSubjectType;
};

/** Which entries to list. What is not given does not restrict. */
export type AuditFilter = {
  /** What was done by this mutation or verb. */
  action?: InputMaybe<Scalars['String']['input']>;
  /** What was done with the token of this name, or by `tajo`. */
  actor?: InputMaybe<Scalars['String']['input']>;
  /** What was done at this moment or later. */
  from?: InputMaybe<Scalars['DateTime']['input']>;
  /** Changes of this very thing. */
  subjectId?: InputMaybe<Scalars['ID']['input']>;
  /** Changes of this kind of thing. */
  subjectType?: InputMaybe<AuditSubjectType>;
  /** What was done before this moment. */
  to?: InputMaybe<Scalars['DateTime']['input']>;
};

/** What was changed, where it can be asked for. */
export type AuditSubject = AccessToken | Alert | Connection | Run | Sync;

/** What kind of thing was changed. */
export type AuditSubjectType =
  /** A token. */
  | 'ACCESS_TOKEN'
  /** An alert. */
  | 'ALERT'
  /** A connection. */
  | 'CONNECTION'
  /** A call to a destination that was in doubt. */
  | 'INTENT'
  /** A run. */
  | 'RUN'
  /** A sync, with its configuration and its list. */
  | 'SYNC'
  /** The workspace. */
  | 'WORKSPACE';

/** What a row does that cannot be read as a record. */
export type BrokenRecordPolicy =
  /** It ends the run. */
  | 'FAIL'
  /** It is rejected by itself, with its line. */
  | 'REJECT';

/** A run to cancel. */
export type CancelRunInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Why, for those who will ask later. */
  reason: Scalars['String']['input'];
  /** The id of the run. */
  runId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type CancelRunResult = CanceledRun | Forbidden | InvalidInput | NotFound;

/** The run after it was canceled, or asked to stop. */
export type CanceledRun = {
  __typename?: 'CanceledRun';
  /** The run. */
  run: Run;
  /** `DONE`: it was queued and is canceled. `WILL_STOP_BY`: it was running and stops at its next safe point. `NOOP`: it had ended, or was asked before. */
  status: CommandStatus;
  /** By when it has stopped; null unless the status is `WILL_STOP_BY`. */
  willStopBy?: Maybe<Scalars['DateTime']['output']>;
};

/** The connection after a mutation; its `syncs` are those that it is about. */
export type ChangedConnection = {
  __typename?: 'ChangedConnection';
  /** The connection. */
  connection: Connection;
  /** What was done. */
  status: CommandStatus;
};

/** Somebody else changed the sync at the same time. */
export type ChangedMeanwhile = Refusal & {
  __typename?: 'ChangedMeanwhile';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
};

/** A request to publish after a mutation. */
export type ChangedPublicationRequest = {
  __typename?: 'ChangedPublicationRequest';
  /** The request. */
  request: PublicationRequest;
  /** `DONE`, or `NOOP`: it was so before. */
  status: CommandStatus;
};

/** The sync after a mutation. */
export type ChangedSync = {
  __typename?: 'ChangedSync';
  /** What was done. */
  status: CommandStatus;
  /** The sync. */
  sync: Sync;
  /** By when its running run has stopped; null unless the status is `WILL_STOP_BY`. */
  willStopBy?: Maybe<Scalars['DateTime']['output']>;
};

/** What a mutation did. */
export type CommandStatus =
  /** It did what it was asked. */
  | 'DONE'
  /** It was so already: nothing was changed. */
  | 'NOOP'
  /** It queued a run. */
  | 'STARTED'
  /** It asked a running run to stop, which it does by the time that is given beside. */
  | 'WILL_STOP_BY';

/** A tool that is, or was, connected in the workspace. */
export type Connection = Node & {
  __typename?: 'Connection';
  /** Whether the tool lets us in, as far as any run or test has seen. */
  access: ConnectionAccess;
  /** Its settings. Never a secret. */
  config: Scalars['JSON']['output'];
  /** When it was first connected. */
  createdAt: Scalars['DateTime']['output'];
  /** When it was disconnected; null while it is connected. */
  disconnectedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Whether credentials are stored. They are sealed and never shown. */
  hasCredentials: Scalars['Boolean']['output'];
  /** Unique among all objects; to be treated as opaque. */
  id: Scalars['ID']['output'];
  /** Whether the tool is connected. Where it is not, runs that need it fail with `CONNECTION_MISSING`. */
  isConnected: Scalars['Boolean']['output'];
  /** Unique in the workspace. */
  name: Scalars['String']['output'];
  /** What it can be used for. */
  roles: Array<ConnectionRole>;
  /** The syncs that use it, in their draft or in what is published, newest first. */
  syncs: ConnectionSyncsConnection;
  /** The kind of tool, such as `file` or `http`. */
  type: Scalars['String']['output'];
};


/** A tool that is, or was, connected in the workspace. */
export type ConnectionSyncsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};

/** Whether a tool lets us in, since when it does not, and what to do. */
export type ConnectionAccess = {
  __typename?: 'ConnectionAccess';
  /** What the other system said when it refused, without personal data and secrets; null where it did not refuse. */
  detail?: Maybe<Scalars['String']['output']>;
  /** Since when it does not let us in; null while it does. */
  since?: Maybe<Scalars['DateTime']['output']>;
  /** Where it stands. */
  status: ConnectionStatus;
  /** What to do about it; null while it lets us in. */
  whatToDo?: Maybe<Scalars['String']['output']>;
};

/** Nothing can answer under the address, or what does is not what it should be. */
export type ConnectionMisconfigured = ConnectionTestVerdict & {
  __typename?: 'ConnectionMisconfigured';
  /** What the other system said, or what became of the call, without personal data and secrets; null where it works. */
  detail?: Maybe<Scalars['String']['output']>;
  /** What was seen, and what to do, in full sentences. */
  message: Scalars['String']['output'];
};

/** The other system could not be reached, was too slow or asked us to slow down: that may pass. */
export type ConnectionOutOfReach = ConnectionTestVerdict & {
  __typename?: 'ConnectionOutOfReach';
  /** What the other system said, or what became of the call, without personal data and secrets; null where it works. */
  detail?: Maybe<Scalars['String']['output']>;
  /** What was seen, and what to do, in full sentences. */
  message: Scalars['String']['output'];
};

/** The other system answered, and it refuses our access: other credentials are needed. */
export type ConnectionRefused = ConnectionTestVerdict & {
  __typename?: 'ConnectionRefused';
  /** What the other system said, or what became of the call, without personal data and secrets; null where it works. */
  detail?: Maybe<Scalars['String']['output']>;
  /** What was seen, and what to do, in full sentences. */
  message: Scalars['String']['output'];
};

/** What a connection can be used for. */
export type ConnectionRole =
  /** Records can be written to it. */
  | 'DESTINATION'
  /** Records can be read from it. */
  | 'SOURCE';

/** Whether a tool lets us in, as far as anybody has seen. */
export type ConnectionStatus =
  /** It is connected, and nobody was refused. */
  | 'CONNECTED'
  /** It is not connected: runs that need it fail with `CONNECTION_MISSING`. */
  | 'DISCONNECTED'
  /** The other system refused our access: runs that need it fail with `CONNECTION_UNAUTHORIZED` until it is reconnected. A test or a run that gets through, and began after the refusal, ends this as well. */
  | 'UNAUTHORIZED';

/** One page of a list, newest entries first. */
export type ConnectionSyncsConnection = {
  __typename?: 'ConnectionSyncsConnection';
  /** The entries of the page. */
  edges: Array<ConnectionSyncsConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type ConnectionSyncsConnectionEdge = {
  __typename?: 'ConnectionSyncsConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: Sync;
};

/** What a test of a connection showed. More may be told apart one day. */
export type ConnectionTestResult = ConnectionMisconfigured | ConnectionOutOfReach | ConnectionRefused | ConnectionWorks;

/** What a test of a connection showed. */
export type ConnectionTestVerdict = {
  /** What the other system said, or what became of the call, without personal data and secrets; null where it works. */
  detail?: Maybe<Scalars['String']['output']>;
  /** What was seen, and what to do, in full sentences. */
  message: Scalars['String']['output'];
};

/** The other system answered, and it lets us in. */
export type ConnectionWorks = ConnectionTestVerdict & {
  __typename?: 'ConnectionWorks';
  /** What the other system said, or what became of the call, without personal data and secrets; null where it works. */
  detail?: Maybe<Scalars['String']['output']>;
  /** What was seen, and what to do, in full sentences. */
  message: Scalars['String']['output'];
};

/** What became of the records that were read. `read` is always the sum of the others. */
export type Counters = {
  __typename?: 'Counters';
  /** Sent, and nobody knows whether they arrived. */
  inDoubt: Scalars['Float']['output'];
  /** Set aside in this run, after having been rejected in several runs. */
  quarantined: Scalars['Float']['output'];
  /** Records read from the source. */
  read: Scalars['Float']['output'];
  /** Refused by the destination, or unreadable. */
  rejected: Scalars['Float']['output'];
  /** Delivered before, so not sent again. */
  replayed: Scalars['Float']['output'];
  /** Moved on in the source, superseded by a later record, or set aside before. */
  skipped: Scalars['Float']['output'];
  /** Written to the destination in this run. */
  written: Scalars['Float']['output'];
};

/** A tool to connect. */
export type CreateConnectionInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Its settings, as docs/connectors.md lists them for each type. */
  config: Scalars['JSON']['input'];
  /** Its credentials, if it takes any. They are sealed and never shown. */
  credentials?: InputMaybe<Scalars['JSON']['input']>;
  /** Unique in the workspace. */
  name: Scalars['String']['input'];
  /** The kind of tool, such as `file` or `http`. */
  type: Scalars['String']['input'];
};

/** The connection that was made. */
export type CreateConnectionPayload = {
  __typename?: 'CreateConnectionPayload';
  /** The connection. */
  connection: Connection;
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type CreateConnectionResult = CreateConnectionPayload | Forbidden | InvalidInput;

/** A new sync. */
export type CreateSyncInput = {
  /** After how many failed runs in a row the breaker pauses it, 1 to 100; null: as many as the deployment says (5). */
  breakerThreshold?: InputMaybe<Scalars['Int']['input']>;
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Where records go. */
  destinationConnectionId: Scalars['ID']['input'];
  /** Where the value of each target field comes from, as docs/mapping.md describes. */
  mapping: Scalars['JSON']['input'];
  /** Unique in the workspace. */
  name: Scalars['String']['input'];
  /** What is written at the destination: for `http`, the path of the endpoint. */
  object: Scalars['String']['input'];
  /** How it is written, as docs/connectors.md lists the options for each type. */
  objectOptions?: InputMaybe<Scalars['JSON']['input']>;
  /** What a row does that cannot be read as a record. */
  onBrokenRecord?: InputMaybe<BrokenRecordPolicy>;
  /** What happens to a record that the destination rejects. */
  onRejected?: InputMaybe<RejectionPolicy>;
  /** Records a page, 1 to 10,000. */
  pageSize?: InputMaybe<Scalars['Int']['input']>;
  /** When it runs by itself; null: only when it is asked to. */
  schedule?: InputMaybe<ScheduleInput>;
  /** Where records come from. */
  sourceConnectionId: Scalars['ID']['input'];
  /** What is read from the source: for a file, its path below the configured root. */
  stream: Scalars['String']['input'];
  /** How it is read, as docs/connectors.md lists the options for each type. */
  streamOptions?: InputMaybe<Scalars['JSON']['input']>;
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type CreateSyncResult = ChangedSync | Forbidden | InvalidInput;

/** A token to make. */
export type CreateTokenInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** From when it opens nothing any more. Not given: it does not expire. */
  expiresAt?: InputMaybe<Scalars['DateTime']['input']>;
  /** What it is for. The audit trail shows what is done with it under this name. */
  name: Scalars['String']['input'];
  /** What it may do. */
  role: Role;
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type CreateTokenResult = CreatedToken | Forbidden | InvalidInput;

/** The token that was made. */
export type CreatedToken = {
  __typename?: 'CreatedToken';
  /** What to send as `Authorization: Bearer <secret>`. It is shown here and never again: it is not kept, so null when the request is repeated with its `clientKey`. Whoever missed it revokes the token and makes another. */
  secret?: Maybe<Scalars['String']['output']>;
  /** The token. */
  token: AccessToken;
};

/** A run whenever the wall clock of a time zone matches. A time that does not exist fires at the first moment after it, one that comes twice fires once. */
export type CronSchedule = {
  __typename?: 'CronSchedule';
  /** Minute, hour, day, month and day of the week, as in crontab. */
  expression: Scalars['String']['output'];
  /** The IANA name of the time zone. */
  timeZone: Scalars['String']['output'];
};

/** What it would mean to take a sync back to the beginning of its source now. */
export type CursorResetPreview = {
  __typename?: 'CursorResetPreview';
  /** Deliveries that stay in doubt: nothing of them is sent until they are settled. */
  deliveriesInDoubt: Scalars['Int']['output'];
  /** Rejected records that would be taken off the list and tried again. */
  heldRecords: Scalars['Int']['output'];
  /** Pages that wait for a record, and would be read anew instead. */
  openPages: Scalars['Int']['output'];
  /** Why some records are not protected even now; empty: everything is. */
  protectionGaps: Array<ProtectionGap>;
  /** Records set aside that would be taken off the list: tried again as far as the source still has them, and gone where it does not. */
  quarantinedRecords: Scalars['Int']['output'];
  /** How many records the next run will read: those of the stream, as its source last told; 0 when nothing was read yet, null where nobody can tell. */
  recordsToRead?: Maybe<Scalars['Float']['output']>;
  /** Until then what the ledger remembers is not written again, as long as it is read as it was: at the same place of the source, with the same content. From then on it is, bit by bit. Null: nothing is protected. */
  replayProtectedUntil?: Maybe<Scalars['DateTime']['output']>;
  /** The queued or running run, which has to end first; null: there is none. */
  runInFlight?: Maybe<Run>;
};

/** The receipt of one write of one record: the ledger has it as completed, so it is not sent again. */
export type Delivery = {
  __typename?: 'Delivery';
  /** When the ledger learned that it was written. */
  deliveredAt: Scalars['DateTime']['output'];
  /** Whether a person said so (see settleDelivery); false: the destination confirmed it. */
  isSettled: Scalars['Boolean']['output'];
  /** The delivery key, 64 hexadecimal characters: what the destination was sent with it. */
  key: Scalars['String']['output'];
  /** Its page, as its delivery key begins. */
  page: Scalars['String']['output'];
  /** Its position in its page, from 0. */
  position: Scalars['Int']['output'];
  /** The destination's id for the record; null: it gave none. */
  remoteId?: Maybe<Scalars['String']['output']>;
  /** Until when the ledger keeps it from being written again. Where its page is open it is kept as long as that is. */
  replayProtectedUntil: Scalars['DateTime']['output'];
  /** The sync that wrote it. */
  sync: Sync;
};

/** Why only a person can say what became of a delivery. */
export type DeliveryDoubtCause =
  /** Its answer was lost, and it was sent to a destination that was declared otherwise than now: it can neither be asked for nor sent again. */
  | 'CLASS_CHANGED'
  /** It went into an import that nobody knows of: not where it was begun, and not where the sync says by now. */
  | 'IMPORT_OUT_OF_REACH'
  /** It is not there where the sync says to ask by now, which is not where it said when it was sent, and nothing shows that it would be there. */
  | 'LOOKUP_MOVED'
  /** Its answer was lost, and the destination cannot be asked (NONE). */
  | 'NO_ANSWER';

/** A record that was sent and whose answer was lost. Nothing of it is sent until a person says what became of it. */
export type DeliveryInDoubt = {
  __typename?: 'DeliveryInDoubt';
  /** Why only a person can say what became of it. */
  cause: DeliveryDoubtCause;
  /** The call that carried it. Together with the position it names the delivery. */
  intentId: Scalars['ID']['output'];
  /** Its page, as its delivery key begins: the key is sent with every request. */
  page: Scalars['String']['output'];
  /** Its position in its page, from 0. */
  position: Scalars['Int']['output'];
  /** The run that sent it. */
  run?: Maybe<Run>;
  /** From when it can be settled: until then the destination may still apply it. */
  settleableAt: Scalars['DateTime']['output'];
  /** When it was reserved. */
  since: Scalars['DateTime']['output'];
};

/** The call may still be under way, so nobody can know yet what became of it. */
export type DeliveryInFlight = Refusal & {
  __typename?: 'DeliveryInFlight';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
  /** From when it can be settled; while its run is at work it may be later. */
  settleableAt: Scalars['DateTime']['output'];
};

/** What became of a delivery in doubt. */
export type DeliverySettlement =
  /** The destination has it: it is not sent again. */
  | 'DELIVERED'
  /** The destination does not have it: the next run sends it. */
  | 'SEND_AGAIN';

/** Records to give up. */
export type DiscardRecordsInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Why, for those who will ask later. */
  reason: Scalars['String']['input'];
  /** At most 1,000 of them. */
  recordIds: Array<Scalars['ID']['input']>;
  /** The id of their sync. */
  syncId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type DiscardRecordsResult = AlreadyRunning | DiscardedRecords | Forbidden | InvalidInput | NotFound;

/** What was given up. */
export type DiscardedRecords = {
  __typename?: 'DiscardedRecords';
  /** How many records were discarded. */
  discarded: Scalars['Int']['output'];
  /** What was done with each record that was named. */
  records: Array<RecordResult>;
  /** What was done. */
  status: CommandStatus;
  /** The sync they belong to. */
  sync: Sync;
};

/** A tool to disconnect. */
export type DisconnectConnectionInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** The id of the connection. */
  connectionId: Scalars['ID']['input'];
  /** Why, for those who will ask later. */
  reason: Scalars['String']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type DisconnectConnectionResult = ChangedConnection | Forbidden | InvalidInput | NotFound;

/** One kind of failure. `{subject}` stands for the tool or step that the failure names. */
export type FailureCatalogueEntry = {
  __typename?: 'FailureCatalogueEntry';
  /** Where it comes from. */
  causes: Scalars['String']['output'];
  /** The failure's name. */
  code: FailureCode;
  /** The mutation that follows; null when there is nothing to do. After a pause by the breaker it is `PUBLISH_SYNC`. */
  nextMutation?: Maybe<NextMutation>;
  /** Who has to do it. */
  owner: FailureOwner;
  /** What follows it by itself. */
  retried: FailureRetry;
  /** What happened. */
  whatHappened: Scalars['String']['output'];
  /** What to do next. */
  whatToDo: Scalars['String']['output'];
};

/** The name of a failure. The catalogue explains each one. */
export type FailureCode =
  /** This version of the sync is not published. */
  | 'ATTESTATION_PUBLICATION_NOT_ATTESTED'
  /** This sync is paused. */
  | 'ATTESTATION_RULE_NOT_ACTIVE'
  /** A tool that the sync uses ({subject}) is not connected in this workspace. */
  | 'CONNECTION_MISSING'
  /** The other system refused our access. */
  | 'CONNECTION_UNAUTHORIZED'
  /** The destination rejected every record of this run. */
  | 'DESTINATION_REJECTED'
  /** Another run of this sync was already in progress */
  | 'LEASE_CONFLICT'
  /** The run lost its slot part-way through and stopped to avoid writing twice. */
  | 'LEASE_LOST'
  /** The sync could not get a run slot. */
  | 'LEASE_UNAVAILABLE'
  /** A step failed while {subject}. */
  | 'NODE_FAILED'
  /** The other system asked us to slow down. */
  | 'PROVIDER_RATE_LIMITED'
  /** The other system was unavailable or did not answer in time. */
  | 'PROVIDER_UNAVAILABLE'
  /** The run stopped reporting progress and was closed. */
  | 'STALE_JOB_SWEPT'
  /** The sync failed for a reason that is not yet classified. */
  | 'UNCLASSIFIED_EXCEPTION';

/** Which failures to list: those that fit all that is given. What is not given does not restrict. */
export type FailureFilter = {
  /** Failed runs with this failure. */
  code?: InputMaybe<FailureCode>;
  /** Runs that were asked for at this moment or later. */
  createdFrom?: InputMaybe<Scalars['DateTime']['input']>;
  /** Runs that were asked for before this moment. */
  createdTo?: InputMaybe<Scalars['DateTime']['input']>;
  /** Failures on which this side has to act. */
  owner?: InputMaybe<FailureOwner>;
  /** Failures of this sync. */
  syncId?: InputMaybe<Scalars['ID']['input']>;
};

/** Who has to act. */
export type FailureOwner =
  /** Whoever owns the sync and its connections. */
  | 'CUSTOMER'
  /** Tajo. */
  | 'TAJO';

/** What follows a failure by itself. */
export type FailureRetry =
  /** A new run, if the sync is still active. */
  | 'NEW_RUN'
  /** Another attempt of the same run, while it has any left. */
  | 'NEXT_ATTEMPT'
  /** Nothing: the failure needs a person or the next scheduled run. */
  | 'NOTHING';

/** The token may not do this. */
export type Forbidden = Refusal & {
  __typename?: 'Forbidden';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
  /** The least role that may. */
  neededRole: Role;
};

/** What is wrong with one field of an input. */
export type InputProblem = {
  __typename?: 'InputProblem';
  /** The field, with dots between levels: `mapping.address.city`. */
  field: Scalars['String']['output'];
  /** What is wrong with it, in a full sentence. */
  reason: Scalars['String']['output'];
};

/** A run every so often, counted from the publication of the schedule. */
export type IntervalSchedule = {
  __typename?: 'IntervalSchedule';
  /** Milliseconds from one run to the next. */
  everyMs: Scalars['Float']['output'];
};

/** The input cannot be accepted. */
export type InvalidInput = Refusal & {
  __typename?: 'InvalidInput';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
  /** All of its problems. */
  problems: Array<InputProblem>;
};

/** Nothing has changed. Comes at least every 15 seconds while nothing else does. */
export type KeepAlive = {
  __typename?: 'KeepAlive';
  /** When it was sent. */
  at: Scalars['DateTime']['output'];
};

/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type Mutation = {
  __typename?: 'Mutation';
  /** Says that somebody looks after an alert. Nothing else changes: it closes when its incident is over. */
  acknowledgeAlert: AcknowledgeAlertResult;
  /** Publishes the version that was requested, and nothing else. For an `ADMIN`, with another token than the one that requested it. */
  approvePublication: ApprovePublicationResult;
  /** Ends a run. A queued one, also one that waits for its next attempt, ends at once; a running one at its next safe point. */
  cancelRun: CancelRunResult;
  /** Connects a tool. */
  createConnection: CreateConnectionResult;
  /** Saves a new sync as a draft. It runs once it is published. */
  createSync: CreateSyncResult;
  /** Makes a token that opens the workspace. For an `ADMIN`. */
  createToken: CreateTokenResult;
  /** Gives up records that were set aside: they are never sent, and their rows are removed. */
  discardRecords: DiscardRecordsResult;
  /** Disconnects a tool and removes its credentials. The syncs that use it stay; their runs fail until it is connected again. */
  disconnectConnection: DisconnectConnectionResult;
  /** Stops a sync: nothing new starts, a queued run is closed, a running one stops at its next safe point. */
  pauseSync: PauseSyncResult;
  /** Makes the draft the version that runs, and the sync active, once both systems were asked whether they would take it (`publicationPreview`). Where the workspace wants four eyes (`Viewer.publishingNeedsApproval`), `requestPublication` does instead. */
  publishSync: PublishSyncResult;
  /** Connects a tool again, or gives it a fresh authorisation; its settings stay. A sync that the breaker paused is published again after it. */
  reconnectConnection: ReconnectConnectionResult;
  /** Brings back records that were set aside, and queues a run, which sends them before anything else. They are mapped as the version says that is published then. */
  redriveRecords: RedriveRecordsResult;
  /** Refuses a request to publish; nothing changes for the sync. For an `ADMIN`, with another token than the one that requested it. */
  refusePublication: RefusePublicationResult;
  /** Asks for the draft to be published as it is now. An `ADMIN` with another token approves or refuses it; a change of the draft ends it. For an `OPERATOR` or more. */
  requestPublication: RequestPublicationResult;
  /** Takes a sync back to the beginning of its source: its next run reads everything again. What the ledger still protects is not written again, unless an older record of the same contact is; cursorResetPreview tells beforehand. */
  resetCursor: ResetCursorResult;
  /** Resumes a sync that a person paused. After the breaker, publish it again instead. */
  resumeSync: ResumeSyncResult;
  /** Starts a new run at the saved cursor, linked to the failed or partial one. Of parallel retries one starts it; all of them learn its id. */
  retryRun: RetryRunResult;
  /** Retries many runs, each as `retryRun` does it, and answers each by itself: what refuses one keeps no other from being retried. */
  retryRuns: RetryRunsResult;
  /** Revokes a token: it opens nothing from then on, and the streams that it has open end. For an `ADMIN`. */
  revokeToken: RevokeTokenResult;
  /** Queues a run of the published version now. */
  runSync: RunSyncResult;
  /** Says whether publishing needs an approval in the workspace. What is published stays so, and open requests stay open. For an `ADMIN`. */
  setPublishingPolicy: SetPublishingPolicyResult;
  /** Settles a delivery in doubt. The next run takes it for delivered, or sends it once more. */
  settleDelivery: SettleDeliveryResult;
  /** Asks the tool by one cheap call whether the connection works, within 15 s, and keeps in `Connection.access` what that showed. Nothing is read or written there. */
  testConnection: TestConnectionResult;
  /** Queues a test run of the draft as it is, whether the sync is published, paused or neither: the next records of the source are read from where the next run would start, mapped and checked. Nothing is written, no cursor moves, and neither the breaker nor the health of the sync knows of it. `Run.testRecords` has what came of it. */
  testSync: TestSyncResult;
  /** Changes the draft of a sync. What runs is the published version. */
  updateSync: UpdateSyncResult;
  /** Takes a request to publish back: for the token that made it, and for an `ADMIN`. Nothing changes for the sync. */
  withdrawPublicationRequest: WithdrawPublicationRequestResult;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationAcknowledgeAlertArgs = {
  input: AcknowledgeAlertInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationApprovePublicationArgs = {
  input: ApprovePublicationInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationCancelRunArgs = {
  input: CancelRunInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationCreateConnectionArgs = {
  input: CreateConnectionInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationCreateSyncArgs = {
  input: CreateSyncInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationCreateTokenArgs = {
  input: CreateTokenInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationDiscardRecordsArgs = {
  input: DiscardRecordsInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationDisconnectConnectionArgs = {
  input: DisconnectConnectionInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationPauseSyncArgs = {
  input: PauseSyncInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationPublishSyncArgs = {
  input: PublishSyncInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationReconnectConnectionArgs = {
  input: ReconnectConnectionInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationRedriveRecordsArgs = {
  input: RedriveRecordsInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationRefusePublicationArgs = {
  input: RefusePublicationInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationRequestPublicationArgs = {
  input: RequestPublicationInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationResetCursorArgs = {
  input: ResetCursorInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationResumeSyncArgs = {
  input: ResumeSyncInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationRetryRunArgs = {
  input: RetryRunInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationRetryRunsArgs = {
  input: RetryRunsInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationRevokeTokenArgs = {
  input: RevokeTokenInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationRunSyncArgs = {
  input: RunSyncInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationSetPublishingPolicyArgs = {
  input: SetPublishingPolicyInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationSettleDeliveryArgs = {
  input: SettleDeliveryInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationTestConnectionArgs = {
  input: TestConnectionInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationTestSyncArgs = {
  input: TestSyncInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationUpdateSyncArgs = {
  input: UpdateSyncInput;
};


/** What can be done. Each mutation is one transaction: done as a whole, or refused. With a `clientKey` it can be repeated safely. */
export type MutationWithdrawPublicationRequestArgs = {
  input: WithdrawPublicationRequestInput;
};

/** The mutation with which a person goes on after a failure. */
export type NextMutation =
  /** `publishSync`: publish the sync, after a pause by the breaker once more. */
  | 'PUBLISH_SYNC'
  /** `reconnectConnection`: connect the tool again, then retry the run. */
  | 'RECONNECT_CONNECTION'
  /** `resumeSync`: resume the sync. */
  | 'RESUME_SYNC'
  /** `retryRun`: run it again, once the cause is mended where there is one. */
  | 'RETRY_RUN';

/** An object that can be found again by its id. */
export type Node = {
  /** Unique among all objects; to be treated as opaque. */
  id: Scalars['ID']['output'];
};

/** The tool is not connected, so it cannot be asked. */
export type NotConnected = Refusal & {
  __typename?: 'NotConnected';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
};

/** The workspace has no such object. The same answer for what belongs to another one. */
export type NotFound = Refusal & {
  __typename?: 'NotFound';
  /** The field of the input that gives the id. */
  field: Scalars['String']['output'];
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
};

/** The sync was never published. */
export type NotPublished = Refusal & {
  __typename?: 'NotPublished';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
};

/** The draft is the version that runs already. */
export type NothingToPublish = Refusal & {
  __typename?: 'NothingToPublish';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
};

/** The run cannot be retried, or has been. */
export type NothingToRetry = Refusal & {
  __typename?: 'NothingToRetry';
  /** The retry that stands for the run now; null when it was never retried. */
  latestRetryId?: Maybe<Scalars['ID']['output']>;
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
};

/** Four eyes: the token that made a request neither approves nor refuses it. */
export type OwnRequest = Refusal & {
  __typename?: 'OwnRequest';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
};

/** Where a page lies in its list. */
export type PageInfo = {
  __typename?: 'PageInfo';
  /** The cursor of the last entry; null on an empty page. */
  endCursor?: Maybe<Scalars['String']['output']>;
  /** Whether entries follow the page. */
  hasNextPage: Scalars['Boolean']['output'];
  /** Whether entries come before the page. */
  hasPreviousPage: Scalars['Boolean']['output'];
  /** The cursor of the first entry; null on an empty page. */
  startCursor?: Maybe<Scalars['String']['output']>;
};

/** What paused a sync. */
export type PauseCause =
  /** The failure circuit breaker did: mend the cause and publish again. */
  | 'BREAKER'
  /** A person did: it can be resumed. */
  | 'PERSON';

/** A sync to pause. */
export type PauseSyncInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Why, for those who will ask later. */
  reason: Scalars['String']['input'];
  /** The id of the sync. */
  syncId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type PauseSyncResult = ChangedSync | Forbidden | InvalidInput | NotFound | NotPublished;

/** Why records would be written again at once. */
export type ProtectionGap =
  /** Some were delivered longer ago than the ledger remembers (7 days). */
  | 'EXPIRED'
  /** Some were delivered under another source, stream, mapping or page size: what that changes is written again. */
  | 'SETTINGS_CHANGED';

/** The attestation that one version may run. */
export type Publication = Node & {
  __typename?: 'Publication';
  /** The name of the token that approved it; null where no approval was asked for. */
  approvedBy?: Maybe<Scalars['String']['output']>;
  /** What runs under it. */
  configuration: SyncConfiguration;
  /** Unique among all objects; to be treated as opaque. */
  id: Scalars['ID']['output'];
  /** When it was published; where it was approved, when that was. */
  publishedAt: Scalars['DateTime']['output'];
  /** The name of the token that published it; where it was approved, of the one that had requested it. */
  publishedBy: Scalars['String']['output'];
  /** The request that was approved; null where none was made. */
  request?: Maybe<PublicationRequest>;
  /** The sync. */
  sync: Sync;
  /** Names the version: the digest of its configuration. */
  versionDigest: Scalars['String']['output'];
};

/** Whether the draft of a sync can be published as it is. */
export type PublicationPreview = {
  __typename?: 'PublicationPreview';
  /** Whether nothing is wrong with it, as far as could be asked. */
  isReady: Scalars['Boolean']['output'];
  /** All that it would be refused for. */
  problems: Array<InputProblem>;
  /** Which connection could not be asked, and why: nothing is known of what it would say. */
  unchecked: Array<InputProblem>;
};

/** That somebody wants one version of a sync published. A sync has one that is open at most, and that is of its draft as it is. */
export type PublicationRequest = Node & {
  __typename?: 'PublicationRequest';
  /** When that was; null: it is open. */
  closedAt?: Maybe<Scalars['DateTime']['output']>;
  /** The name of the token that approved, refused or withdrew it, or changed the sync so that it is over; null: it is open. */
  closedBy?: Maybe<Scalars['String']['output']>;
  /** Why it was refused or withdrawn; null otherwise. */
  closingReason?: Maybe<Scalars['String']['output']>;
  /** What would run, or does: compare it with that of `sync { publication }`. */
  configuration: SyncConfiguration;
  /** Unique among all objects; to be treated as opaque. */
  id: Scalars['ID']['output'];
  /** Whether it was requested with the token that asks now, which neither approves nor refuses it. */
  isOwn: Scalars['Boolean']['output'];
  /** What its approval made; null unless it is approved. */
  publication?: Maybe<Publication>;
  /** Why, in the words of whoever requested it. */
  reason: Scalars['String']['output'];
  /** When it was requested. */
  requestedAt: Scalars['DateTime']['output'];
  /** The name of the token that requested it. */
  requestedBy: Scalars['String']['output'];
  /** What has become of it. */
  status: PublicationRequestStatus;
  /** The sync. */
  sync: Sync;
  /** Names the version that is requested: the draft as it was then. */
  versionDigest: Scalars['String']['output'];
};

/** Which requests to list. What is not given does not restrict. */
export type PublicationRequestFilter = {
  /** Those of which this has become. */
  status?: InputMaybe<PublicationRequestStatus>;
  /** Those of this sync. */
  syncId?: InputMaybe<Scalars['ID']['input']>;
};

/** What has become of a request to publish. */
export type PublicationRequestStatus =
  /** Its version was published. */
  | 'APPROVED'
  /** It waits for an `ADMIN` with another token. */
  | 'OPEN'
  /** It was refused: `closingReason` says why. */
  | 'REFUSED'
  /** It is about nothing any more: the draft was changed, or its version became active without it. */
  | 'SUPERSEDED'
  /** Whoever made it, or an `ADMIN`, took it back: `closingReason` says why. */
  | 'WITHDRAWN';

/** A sync to publish. */
export type PublishSyncInput = {
  /** Do it also where a system is out of reach, so that nobody can tell whether it would take the version. What is known to be wrong is refused all the same. */
  acceptsUnchecked?: InputMaybe<Scalars['Boolean']['input']>;
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** The id of the sync. */
  syncId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type PublishSyncResult = ApprovalNeeded | ChangedMeanwhile | ChangedSync | Forbidden | InvalidInput | NotFound | SyncStillPausing | SystemOutOfReach;

/** How the workspace publishes, after a mutation. */
export type PublishingPolicy = {
  __typename?: 'PublishingPolicy';
  /** Whether nothing is published without a request that somebody else approves. */
  needsApproval: Scalars['Boolean']['output'];
  /** `DONE`, or `NOOP`: it was so before. */
  status: CommandStatus;
};

/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type Query = {
  __typename?: 'Query';
  /** The alerts that are meant for who asks, newest first: those of the workspace; with a token of Tajo's those for Tajo besides, of all workspaces. */
  alerts: QueryAlertsConnection;
  /** What was changed in the workspace, by whom and why, newest first. */
  auditEntries: QueryAuditEntriesConnection;
  /** The connections of the workspace, newest first. */
  connections: QueryConnectionsConnection;
  /** What resetCursor would do to a sync; null when the workspace has none with this id. */
  cursorResetPreview?: Maybe<CursorResetPreview>;
  /** The receipt of a delivery by its key, as the destination was sent it; null: the ledger has none, because it was not delivered or was forgotten since. */
  delivery?: Maybe<Delivery>;
  /** Every failure that a run can end with. */
  failureCatalogue: Array<FailureCatalogueEntry>;
  /** Failed and partial runs that no retry has put right, newest first. */
  failures: QueryFailuresConnection;
  /** The object with this id; null when the workspace has none. */
  node?: Maybe<Node>;
  /** What publishSync and requestPublication would refuse the draft of a sync for; null when the workspace has none with this id. Both systems are asked, within 15 s. For an `OPERATOR` or more. */
  publicationPreview?: Maybe<PublicationPreview>;
  /** One request to publish; null when the workspace has none with this id. */
  publicationRequest?: Maybe<PublicationRequest>;
  /** The requests to publish in the workspace, newest first. */
  publicationRequests: QueryPublicationRequestsConnection;
  /** The queue of all workspaces. For a token of Tajo's. */
  queue: Queue;
  /** One run; null when the workspace has none with this id. */
  run?: Maybe<Run>;
  /** The runs of the workspace, newest first. */
  runs: QueryRunsConnection;
  /** When a schedule would fire that no sync needs to have yet. */
  schedulePreview: Array<Scalars['DateTime']['output']>;
  /** One sync; null when the workspace has none with this id. */
  sync?: Maybe<Sync>;
  /** The syncs of the workspace, newest first. */
  syncs: QuerySyncsConnection;
  /** The tokens of the workspace, newest first, also those that open nothing any more. For an `ADMIN`. */
  tokens: QueryTokensConnection;
  /** Who asks. */
  viewer: Viewer;
  /** The processes that carry out runs, newest first, also those that have ended. For a token of Tajo's. */
  workers: QueryWorkersConnection;
  /** The workspaces, newest first. For a token of Tajo's. */
  workspaces: QueryWorkspacesConnection;
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryAlertsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<AlertFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryAuditEntriesArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<AuditFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryConnectionsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryCursorResetPreviewArgs = {
  syncId: Scalars['ID']['input'];
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryDeliveryArgs = {
  key: Scalars['String']['input'];
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryFailuresArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<FailureFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryNodeArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryPublicationPreviewArgs = {
  syncId: Scalars['ID']['input'];
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryPublicationRequestArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryPublicationRequestsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<PublicationRequestFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryRunArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryRunsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<RunFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QuerySchedulePreviewArgs = {
  after: Scalars['DateTime']['input'];
  first?: InputMaybe<Scalars['Int']['input']>;
  schedule: ScheduleInput;
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QuerySyncArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QuerySyncsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<SyncFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryTokensArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryWorkersArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<WorkerFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** What can be read. Everything is of the workspace that the token opens; a token of Tajo's sees alerts of others. */
export type QueryWorkspacesArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};

/** One page of a list, newest entries first. */
export type QueryAlertsConnection = {
  __typename?: 'QueryAlertsConnection';
  /** The entries of the page. */
  edges: Array<QueryAlertsConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type QueryAlertsConnectionEdge = {
  __typename?: 'QueryAlertsConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: Alert;
};

/** One page of a list, newest entries first. */
export type QueryAuditEntriesConnection = {
  __typename?: 'QueryAuditEntriesConnection';
  /** The entries of the page. */
  edges: Array<QueryAuditEntriesConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type QueryAuditEntriesConnectionEdge = {
  __typename?: 'QueryAuditEntriesConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: AuditEntry;
};

/** One page of a list, newest entries first. */
export type QueryConnectionsConnection = {
  __typename?: 'QueryConnectionsConnection';
  /** The entries of the page. */
  edges: Array<QueryConnectionsConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type QueryConnectionsConnectionEdge = {
  __typename?: 'QueryConnectionsConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: Connection;
};

/** One page of a list, newest entries first. */
export type QueryFailuresConnection = {
  __typename?: 'QueryFailuresConnection';
  /** The entries of the page. */
  edges: Array<QueryFailuresConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type QueryFailuresConnectionEdge = {
  __typename?: 'QueryFailuresConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: Run;
};

/** One page of a list, newest entries first. */
export type QueryPublicationRequestsConnection = {
  __typename?: 'QueryPublicationRequestsConnection';
  /** The entries of the page. */
  edges: Array<QueryPublicationRequestsConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type QueryPublicationRequestsConnectionEdge = {
  __typename?: 'QueryPublicationRequestsConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: PublicationRequest;
};

/** One page of a list, newest entries first. */
export type QueryRunsConnection = {
  __typename?: 'QueryRunsConnection';
  /** The entries of the page. */
  edges: Array<QueryRunsConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type QueryRunsConnectionEdge = {
  __typename?: 'QueryRunsConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: Run;
};

/** One page of a list, newest entries first. */
export type QuerySyncsConnection = {
  __typename?: 'QuerySyncsConnection';
  /** The entries of the page. */
  edges: Array<QuerySyncsConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type QuerySyncsConnectionEdge = {
  __typename?: 'QuerySyncsConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: Sync;
};

/** One page of a list, newest entries first. */
export type QueryTokensConnection = {
  __typename?: 'QueryTokensConnection';
  /** The entries of the page. */
  edges: Array<QueryTokensConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type QueryTokensConnectionEdge = {
  __typename?: 'QueryTokensConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: AccessToken;
};

/** One page of a list, newest entries first. */
export type QueryWorkersConnection = {
  __typename?: 'QueryWorkersConnection';
  /** The entries of the page. */
  edges: Array<QueryWorkersConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type QueryWorkersConnectionEdge = {
  __typename?: 'QueryWorkersConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: Worker;
};

/** One page of a list, newest entries first. */
export type QueryWorkspacesConnection = {
  __typename?: 'QueryWorkspacesConnection';
  /** The entries of the page. */
  edges: Array<QueryWorkspacesConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type QueryWorkspacesConnectionEdge = {
  __typename?: 'QueryWorkspacesConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: Workspace;
};

/** The queue of all workspaces, at this moment. */
export type Queue = {
  __typename?: 'Queue';
  /** How many of them have come due: a worker could take them. */
  due: Scalars['Int']['output'];
  /** Since when the oldest that has come due waits; null: none waits. */
  oldestDueAt?: Maybe<Scalars['DateTime']['output']>;
  /** How many runs are queued, also those that wait for their next attempt. */
  queued: Scalars['Int']['output'];
  /** How many runs are running. */
  running: Scalars['Int']['output'];
  /** How many workspaces have a run that has come due. */
  waitingWorkspaces: Scalars['Int']['output'];
};

/** A tool to connect again. */
export type ReconnectConnectionInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** The id of the connection. */
  connectionId: Scalars['ID']['input'];
  /** Its credentials, if it takes any. They take the place of those that are stored. */
  credentials?: InputMaybe<Scalars['JSON']['input']>;
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type ReconnectConnectionResult = ChangedConnection | Forbidden | InvalidInput | NotFound;

/** One record that a mutation was given, and what it did with it. */
export type RecordResult = {
  __typename?: 'RecordResult';
  /** The id of the record. */
  recordId: Scalars['ID']['output'];
  /** What was done. */
  status: RecordStatus;
};

/** What a mutation did with one record that it was given. */
export type RecordStatus =
  /** It did what it was asked. */
  | 'DONE'
  /** It was sent, and may have been written: settle that first (settleDelivery), or bring it back once more. */
  | 'IN_DOUBT'
  /** Nothing was changed: it is held, on its way, or over; its state tells. */
  | 'NOOP'
  /** The sync has no such record. */
  | 'NOT_FOUND'
  /** Its row was not kept, so there is nothing that could be sent. */
  | 'NOT_KEPT'
  /** It is brought back: the run that was queued sends it. */
  | 'STARTED';

/** Records to bring back. */
export type RedriveRecordsInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** At most 1,000 of them; not given, all records of the sync that are set aside. */
  recordIds?: InputMaybe<Array<Scalars['ID']['input']>>;
  /** The id of their sync. */
  syncId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type RedriveRecordsResult = AlreadyRunning | Forbidden | InvalidInput | NotFound | NotPublished | RedrivenRecords | SyncPaused;

/** What was brought back. */
export type RedrivenRecords = {
  __typename?: 'RedrivenRecords';
  /** What was done with each record that was named. */
  records: Array<RecordResult>;
  /** How many records were brought back. */
  redriven: Scalars['Int']['output'];
  /** The run that sends them; null where there is nothing to send. */
  run?: Maybe<Run>;
  /** `STARTED`, or `NOOP` where there is nothing to bring back. */
  status: CommandStatus;
  /** The sync they belong to. */
  sync: Sync;
};

/** Why a mutation was not carried out. Nothing was changed. */
export type Refusal = {
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
};

/** A request to refuse. */
export type RefusePublicationInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Why, for whoever requested it. */
  reason: Scalars['String']['input'];
  /** The id of the request to publish. */
  requestId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type RefusePublicationResult = ChangedPublicationRequest | Forbidden | InvalidInput | NotFound | OwnRequest | RequestClosed;

/** A record that was not written. Its content is never shown. */
export type RejectedRecord = {
  __typename?: 'RejectedRecord';
  /** Whether it can be brought back: it is set aside, and its row was kept. A row that could not be read, or is larger than 1 MiB, was not. */
  canBeRedriven: Scalars['Boolean']['output'];
  /** When it was delivered, superseded or discarded; null while it waits. It leaves the list 7 days later. */
  endedAt?: Maybe<Scalars['DateTime']['output']>;
  /** When it was rejected for the first time. */
  firstRejectedAt: Scalars['DateTime']['output'];
  /** The run that rejected it first. */
  firstRun?: Maybe<Run>;
  /** Names it in redriveRecords and discardRecords. */
  id: Scalars['ID']['output'];
  /** The run that rejected it last. */
  lastRun?: Maybe<Run>;
  /** Its page, as its delivery key begins: the key is sent with every request. */
  page: Scalars['String']['output'];
  /** Its position in its page, from 0. */
  position: Scalars['Int']['output'];
  /** When it was set aside; null for one that is held. */
  quarantinedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Why: the destination's words, or the line of the source and what is wrong. */
  reason: Scalars['String']['output'];
  /** When it was rejected last. */
  rejectedAt: Scalars['DateTime']['output'];
  /** In how many runs it was rejected. */
  runs: Scalars['Int']['output'];
  /** Where it stands. */
  state: RejectedRecordState;
  /** The sync it belongs to. */
  sync: Sync;
};

/** Where a rejected record stands. */
export type RejectedRecordState =
  /** It was brought back, and delivered. */
  | 'DELIVERED'
  /** A person gave it up. */
  | 'DISCARDED'
  /** Its page stays open, and every run tries it again. */
  | 'HELD'
  /** It is set aside: no run reads or sends it until it is brought back. */
  | 'QUARANTINED'
  /** It was brought back: the next run sends it, unless it is in doubt. */
  | 'REDRIVING'
  /** A later record of the same identity was delivered: it is not sent any more. */
  | 'SUPERSEDED';

/** What happens to a record that the destination rejects. */
export type RejectionPolicy =
  /** Every run tries it again until it is accepted or superseded. */
  | 'HOLD'
  /** It is set aside once it was rejected in 3 runs: see redriveRecords. Until then it is held. */
  | 'QUARANTINE';

/** Something else has become of the request before; `SUPERSEDED`: the draft was changed since. */
export type RequestClosed = Refusal & {
  __typename?: 'RequestClosed';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
  /** What has become of it. */
  requestStatus: PublicationRequestStatus;
};

/** A draft to be published. */
export type RequestPublicationInput = {
  /** Do it also where a system is out of reach, so that nobody can tell whether it would take the version. What is known to be wrong is refused all the same. */
  acceptsUnchecked?: InputMaybe<Scalars['Boolean']['input']>;
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Why, for who is to approve it and those who will ask later. */
  reason: Scalars['String']['input'];
  /** The id of the sync. */
  syncId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type RequestPublicationResult = ChangedMeanwhile | ChangedPublicationRequest | Forbidden | InvalidInput | NotFound | NothingToPublish | SystemOutOfReach;

/** A sync to take back to the beginning of its source. */
export type ResetCursorInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Why, for those who will ask later. */
  reason: Scalars['String']['input'];
  /** The id of the sync. */
  syncId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type ResetCursorResult = AlreadyRunning | ChangedSync | Forbidden | InvalidInput | NotFound;

/** A sync to resume. */
export type ResumeSyncInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** The id of the sync. */
  syncId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type ResumeSyncResult = ChangedSync | Forbidden | InvalidInput | NotFound | NotPublished | SyncPaused | SyncStillPausing;

/** What became of one run that was to be retried. */
export type RetriedRun = {
  __typename?: 'RetriedRun';
  /** The run that retries it, or why there is none. */
  outcome: RetryOutcome;
  /** The id of the run that was to be retried. */
  runId: Scalars['ID']['output'];
};

/** What became of each of the runs. */
export type RetriedRuns = {
  __typename?: 'RetriedRuns';
  /** One for each run, in the order in which they were named; a run that was named twice has one. */
  items: Array<RetriedRun>;
  /** How many runs were started. */
  started: Scalars['Int']['output'];
  /** `STARTED`: at least one run was started. `NOOP`: none was. */
  status: CommandStatus;
};

/** The run that was started, or why none was. */
export type RetryOutcome = AlreadyRunning | NotFound | NotPublished | NothingToRetry | StartedRun | SyncPaused;

/** A run to retry. */
export type RetryRunInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** The id of a failed or partial run. */
  runId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type RetryRunResult = AlreadyRunning | Forbidden | InvalidInput | NotFound | NotPublished | NothingToRetry | StartedRun | SyncPaused;

/** Runs to retry. */
export type RetryRunsInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** The ids of 1 to 200 failed or partial runs. Of several runs of one sync the one that is named first is retried, and the others are answered `AlreadyRunning`. */
  runIds: Array<Scalars['ID']['input']>;
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type RetryRunsResult = Forbidden | InvalidInput | RetriedRuns;

/** A token to revoke. */
export type RevokeTokenInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Why, for those who will ask later. */
  reason: Scalars['String']['input'];
  /** The id of the token. */
  tokenId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type RevokeTokenResult = Forbidden | InvalidInput | NotFound | RevokedToken;

/** The token after it was revoked. */
export type RevokedToken = {
  __typename?: 'RevokedToken';
  /** `DONE`, or `NOOP`: it was revoked before. */
  status: CommandStatus;
  /** The token. */
  token: AccessToken;
};

/** What a token may do in its workspace. Each may do what those before it may. */
export type Role =
  /** Makes and revokes tokens. */
  | 'ADMIN'
  /** Keeps syncs running: retries, runs, pauses, cancels, brings back or gives up what was set aside, settles what is in doubt, acknowledges alerts. */
  | 'OPERATOR'
  /** Changes what syncs do: connections, configurations, what is published, where reading begins. */
  | 'PUBLISHER'
  /** Reads everything and watches runs and alerts. */
  | 'VIEWER';

/** One execution of one published version of a sync, or a test of its draft. */
export type Run = Node & {
  __typename?: 'Run';
  /** How many attempts it may spend. What a person retries has one. */
  attemptAllowance: Scalars['Int']['output'];
  /** Its attempts, oldest first; of more than 50 the newest 50. */
  attempts: Array<Attempt>;
  /** That somebody asked for its end; null when nobody did. A running run may reach its end before its next safe point. */
  cancellation?: Maybe<RunCancellation>;
  /** Why it was started. */
  cause: RunCause;
  /** What became of its records so far. */
  counters: Counters;
  /** When it was asked for. */
  createdAt: Scalars['DateTime']['output'];
  /** Those of the deliveries in doubt of its sync that it sent itself, oldest first. Read forwards only. */
  deliveriesInDoubt: RunDeliveriesInDoubtConnection;
  /** Milliseconds from its start to its end, or until now; null before its start. */
  durationMs?: Maybe<Scalars['Float']['output']>;
  /** Why it failed; null when it did not. */
  failure?: Maybe<RunFailure>;
  /** When it ended; null before. */
  finishedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Unique among all objects; to be treated as opaque. */
  id: Scalars['ID']['output'];
  /** Whether it stands for scheduled moments that were missed, as after an outage: they are not run one by one. */
  isCatchingUp: Scalars['Boolean']['output'];
  /** Whether it has ended for good. */
  isTerminal: Scalars['Boolean']['output'];
  /** From when a worker may take it; null unless it is queued. */
  nextAttemptAt?: Maybe<Scalars['DateTime']['output']>;
  /** How it turned out; null until it has ended. */
  outcome?: Maybe<RunOutcome>;
  /** Who has to act on a failed or partial run: for records in doubt only it is Tajo. Null for any other run. */
  owner?: Maybe<FailureOwner>;
  /** A word on a run that has gone quiet: `Waiting for a fresh progress update`. */
  progressNote?: Maybe<Scalars['String']['output']>;
  /** The records that it could not write and no later run has taken up. Read forwards only. */
  rejectedRecords: RunRejectedRecordsConnection;
  /** The name of the token that asked for it; null when no person did. */
  requestedBy?: Maybe<Scalars['String']['output']>;
  /** When a retry put it right; null while it stands. */
  resolvedAt?: Maybe<Scalars['DateTime']['output']>;
  /** The retry that put it right; null while it stands. */
  resolvedBy?: Maybe<Run>;
  /** The run that retries it; null when none does. A canceled retry does not count. */
  retriedBy?: Maybe<Run>;
  /** The run that it retries; null when it is no retry. */
  retryOf?: Maybe<Run>;
  /** When a worker first took it; null before. */
  startedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Where it stands. */
  status: RunStatus;
  /** The sync it belongs to. */
  sync: Sync;
  /** What it is a test of; null for a run that is none. */
  test?: Maybe<Test>;
  /** What became of the records of a test run, in their order. They are personal data: for an `OPERATOR` or more, null for others. They are kept for 7 days, or until the next test of the sync has come to its end: null then, and for a run that is no test. */
  testRecords?: Maybe<Array<TestRecord>>;
  /** How many records the source has, where it can tell. */
  totalRecords?: Maybe<Scalars['Float']['output']>;
  /** Whether another attempt of it is coming. */
  willRetry: Scalars['Boolean']['output'];
};


/** One execution of one published version of a sync, or a test of its draft. */
export type RunDeliveriesInDoubtArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** One execution of one published version of a sync, or a test of its draft. */
export type RunRejectedRecordsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};

/** That somebody asked for the end of a run. */
export type RunCancellation = {
  __typename?: 'RunCancellation';
  /** Why, in the words of whoever asked. */
  reason: Scalars['String']['output'];
  /** When it was asked for. */
  requestedAt: Scalars['DateTime']['output'];
  /** The name of the token that asked for it. */
  requestedBy: Scalars['String']['output'];
};

/** Why a run was started. */
export type RunCause =
  /** Somebody brought back records that were set aside. */
  | 'REDRIVE'
  /** Somebody retried another run. */
  | 'RETRY'
  /** Somebody asked for it. */
  | 'RUN_NOW'
  /** Its time had come. */
  | 'SCHEDULE'
  /** It takes the place of a run that stopped reporting. */
  | 'SWEEP'
  /** Somebody tests a draft: nothing is written. */
  | 'TEST';

/** One page of a list, newest entries first. */
export type RunDeliveriesInDoubtConnection = {
  __typename?: 'RunDeliveriesInDoubtConnection';
  /** The entries of the page. */
  edges: Array<RunDeliveriesInDoubtConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type RunDeliveriesInDoubtConnectionEdge = {
  __typename?: 'RunDeliveriesInDoubtConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: DeliveryInDoubt;
};

/** Why a run or one of its attempts failed, and what to do about it. */
export type RunFailure = {
  __typename?: 'RunFailure';
  /** The failure's name. */
  code: FailureCode;
  /** Technical detail, without personal data and secrets. */
  detail?: Maybe<Scalars['String']['output']>;
  /** The mutation that follows, as the sync stands now; null when there is nothing to do. None follows a test: start another one. */
  nextMutation?: Maybe<NextMutation>;
  /** Who has to do it. */
  owner: FailureOwner;
  /** The id of the run, to be named to Tajo. */
  runId: Scalars['ID']['output'];
  /** What the run was doing; null when it was at none of its steps. */
  step?: Maybe<RunStep>;
  /** What happened. */
  whatHappened: Scalars['String']['output'];
  /** What to do next. */
  whatToDo: Scalars['String']['output'];
};

/** Which runs to list: those that fit all that is given. What is not given does not restrict. */
export type RunFilter = {
  /** Runs that were started for any of these reasons. */
  causes?: InputMaybe<Array<RunCause>>;
  /** Failed runs with any of these failures. */
  codes?: InputMaybe<Array<FailureCode>>;
  /** Runs that were asked for at this moment or later. */
  createdFrom?: InputMaybe<Scalars['DateTime']['input']>;
  /** Runs that were asked for before this moment. */
  createdTo?: InputMaybe<Scalars['DateTime']['input']>;
  /** Failed and partial runs on which this side has to act. */
  owner?: InputMaybe<FailureOwner>;
  /** Runs in any of these states. */
  statuses?: InputMaybe<Array<RunStatus>>;
  /** Runs of this sync. */
  syncId?: InputMaybe<Scalars['ID']['input']>;
};

/** How a finished run turned out. Statuses may be added; outcomes will not. */
export type RunOutcome =
  /** A person ended it. */
  | 'CANCELED'
  /** It did not reach the end of its source, or nothing was accepted. */
  | 'FAILURE'
  /** Some records were not delivered. */
  | 'PARTIAL'
  /** Every record is where it belongs. */
  | 'SUCCESS';

/** Where a run stands. Counters never go backwards. */
export type RunProgress = {
  __typename?: 'RunProgress';
  /** What became of its records so far. */
  counters: Counters;
  /** Why it failed; null unless it has. The run itself tells more. */
  failureCode?: Maybe<FailureCode>;
  /** Whether it has ended for good: no event of this run comes after this one. */
  isTerminal: Scalars['Boolean']['output'];
  /** A word on a run that has gone quiet: `Waiting for a fresh progress update`. It comes as an event of its own, and goes with the next progress. */
  progressNote?: Maybe<Scalars['String']['output']>;
  /** The id of the run. */
  runId: Scalars['ID']['output'];
  /** Orders the states of a run, such as `3.17`: the part before the dot first, then the part behind it, both as numbers. Give it as `after` of `runProgress` to go on from here. */
  sequence: Scalars['String']['output'];
  /** Where it stands. */
  status: RunStatus;
  /** The id of its sync. */
  syncId: Scalars['ID']['output'];
  /** How many records the source has, where it can tell. */
  totalRecords?: Maybe<Scalars['Float']['output']>;
};

/** What a run sends while it is watched. */
export type RunProgressEvent = KeepAlive | RunProgress;

/** One page of a list, newest entries first. */
export type RunRejectedRecordsConnection = {
  __typename?: 'RunRejectedRecordsConnection';
  /** The entries of the page. */
  edges: Array<RunRejectedRecordsConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type RunRejectedRecordsConnectionEdge = {
  __typename?: 'RunRejectedRecordsConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: RejectedRecord;
};

/** Where a run stands. Statuses may be added: rely on `isTerminal` and `outcome`. */
export type RunStatus =
  /** A person ended it. */
  | 'CANCELED'
  /** It ended with a failure. */
  | 'FAILED'
  /** Some records were not delivered. */
  | 'PARTIAL'
  /** Waiting for a worker, or for its next attempt. */
  | 'QUEUED'
  /** A worker has it. */
  | 'RUNNING'
  /** Every record is where it belongs. */
  | 'SUCCEEDED';

/** What a run was doing. */
export type RunStep =
  /** Mapping records. */
  | 'MAPPING'
  /** Reading a page from the source. */
  | 'READING'
  /** Writing records to the destination. */
  | 'WRITING';

/** A sync to run. */
export type RunSyncInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** The id of the sync. */
  syncId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type RunSyncResult = AlreadyRunning | Forbidden | InvalidInput | NotFound | NotPublished | StartedRun | SyncPaused;

/** Where one of the runs that are watched stands: that it is there, or has changed. */
export type RunUpdate = {
  __typename?: 'RunUpdate';
  /** Where it stands. That of a run only goes forwards. */
  progress: RunProgress;
  /** The run itself, read when the event is sent: it may be further on than `progress`. */
  run: Run;
  /** Where the stream stands: give it as `after` to go on from here. It is one for all runs of the stream, and that of a keep-alive is as good. */
  sequence: Scalars['String']['output'];
};

/** What is sent while runs are watched. */
export type RunUpdateEvent = RunUpdate | RunsKeepAlive;

/** All that there was to tell has been told. Ends the beginning of the stream, and comes at least every 15 seconds. */
export type RunsKeepAlive = {
  __typename?: 'RunsKeepAlive';
  /** When it was sent. */
  at: Scalars['DateTime']['output'];
  /** Where the stream stands: give it as `after` to go on from here. */
  sequence: Scalars['String']['output'];
};

/** When a sync runs by itself. */
export type Schedule = CronSchedule | IntervalSchedule;

/** When a sync runs by itself: an interval, or a cron expression with its time zone. */
export type ScheduleInput = {
  /** Milliseconds from one run to the next: from 60000 (1 minute) to 2592000000 (30 days). */
  everyMs?: InputMaybe<Scalars['Float']['input']>;
  /** A cron expression of five fields: minute, hour, day, month and day of the week, such as `0 8 * * MON-FRI`. */
  expression?: InputMaybe<Scalars['String']['input']>;
  /** The IANA name of the time zone that the expression is about: `Europe/Rome`. */
  timeZone?: InputMaybe<Scalars['String']['input']>;
};

/** How the workspace publishes. */
export type SetPublishingPolicyInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Whether nothing is published without a request that somebody else approves. */
  needsApproval: Scalars['Boolean']['input'];
  /** Why, for those who will ask later. */
  reason: Scalars['String']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type SetPublishingPolicyResult = Forbidden | InvalidInput | PublishingPolicy;

/** What became of a delivery in doubt, as somebody found it at the destination. */
export type SettleDeliveryInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** The call that carried it. */
  intentId: Scalars['ID']['input'];
  /** What became of it. */
  outcome: DeliverySettlement;
  /** Its position; not given, all deliveries in doubt of the call are settled. */
  position?: InputMaybe<Scalars['Int']['input']>;
  /** How that was found out, for those who will ask later. */
  reason: Scalars['String']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type SettleDeliveryResult = AlreadySettled | DeliveryInFlight | Forbidden | InvalidInput | NotFound | SettledDelivery;

/** What was settled. */
export type SettledDelivery = {
  __typename?: 'SettledDelivery';
  /** How many deliveries were settled. */
  settled: Scalars['Int']['output'];
  /** What was done. */
  status: CommandStatus;
  /** The sync they belong to. */
  sync: Sync;
};

/** The run that was queued. */
export type StartedRun = {
  __typename?: 'StartedRun';
  /** The run. */
  run: Run;
  /** Always `STARTED`. */
  status: CommandStatus;
};

/** What can be watched, over server-sent events or a WebSocket. */
export type Subscription = {
  __typename?: 'Subscription';
  /** Watches the alerts that are meant for who asks: first those that are open, oldest first, then a keep-alive, then each change. A stream that broke is opened again: it begins with what is open then. */
  alerts: AlertEvent;
  /** Follows a run: where it stands now, then what changes. Its terminal event comes once, and the stream completes. */
  runProgress: RunProgressEvent;
  /** Watches the runs of a sync: first those that are queued or running, then a keep-alive, then each change: a run that is queued, claimed, gets on or ends. Of each run the newest state is sent, never an older one after it. The stream has no end; one that broke is opened again with `after`. */
  syncRuns: RunUpdateEvent;
  /** Watches all runs of the workspace: first those that are queued or running, then a keep-alive, then each change: a run that is queued, claimed, gets on or ends. Of each run the newest state is sent, never an older one after it. The stream has no end; one that broke is opened again with `after`. */
  workspaceRuns: RunUpdateEvent;
};


/** What can be watched, over server-sent events or a WebSocket. */
export type SubscriptionRunProgressArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  runId: Scalars['ID']['input'];
};


/** What can be watched, over server-sent events or a WebSocket. */
export type SubscriptionSyncRunsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  syncId: Scalars['ID']['input'];
};


/** What can be watched, over server-sent events or a WebSocket. */
export type SubscriptionWorkspaceRunsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
};

/** Reads a source page by page, maps each record and writes it to a destination. */
export type Sync = Node & {
  __typename?: 'Sync';
  /** How many moments of its schedule started nothing, because a run of it was queued or running. */
  coalescedTicks: Scalars['Float']['output'];
  /** When it was made. */
  createdAt: Scalars['DateTime']['output'];
  /** The receipts of one record, newest first, at most 100. Empty: no delivery of it is in the ledger. See `rejectedRecords` and `deliveriesInDoubt` for what was not delivered. */
  deliveries: Array<Delivery>;
  /** The deliveries that wait for a person (see settleDelivery), oldest first. Read forwards only. */
  deliveriesInDoubt: SyncDeliveriesInDoubtConnection;
  /** What the next publication will attest. */
  draft: SyncConfiguration;
  /** Whether the draft differs from the published version, or nothing is published. */
  hasUnpublishedChanges: Scalars['Boolean']['output'];
  /** How it is doing, measured by its own schedule: a sync that does well does not hide another one that is silent. Null for a draft. */
  health?: Maybe<SyncHealth>;
  /** Unique among all objects; to be treated as opaque. */
  id: Scalars['ID']['output'];
  /** Why the last of its runs that were not canceled failed; null when that one did not, or none has ended. */
  lastFailure?: Maybe<RunFailure>;
  /** The last moment of its schedule that started a run; null before. */
  lastFiredAt?: Maybe<Scalars['DateTime']['output']>;
  /** Its newest run; null when it has none. */
  lastRun?: Maybe<Run>;
  /** Unique in the workspace. */
  name: Scalars['String']['output'];
  /** The next moments at which it runs by itself; none while it is not active, or has no schedule. */
  nextFires: Array<Scalars['DateTime']['output']>;
  /** Why it is paused; null when it is not. */
  pause?: Maybe<SyncPause>;
  /** The publication under which it runs; null for a draft. */
  publication?: Maybe<Publication>;
  /** The request to publish its draft that is open; null when there is none. */
  publicationRequest?: Maybe<PublicationRequest>;
  /** Everything of it that was ever published, newest first. */
  publications: SyncPublicationsConnection;
  /** Its connections by which the other system refuses our access, as it is published, or else as it is drafted. Each says since when, and what to do, under `access`. */
  refusedConnections: Array<Connection>;
  /** Its rejected records, those rejected first before the others. Read forwards only. */
  rejectedRecords: SyncRejectedRecordsConnection;
  /** Its runs, newest first. */
  runs: SyncRunsConnection;
  /** Where it stands. */
  status: SyncStatus;
  /** When its draft, standing or name last changed. */
  updatedAt: Scalars['DateTime']['output'];
};


/** Reads a source page by page, maps each record and writes it to a destination. */
export type SyncDeliveriesArgs = {
  record: Scalars['String']['input'];
};


/** Reads a source page by page, maps each record and writes it to a destination. */
export type SyncDeliveriesInDoubtArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** Reads a source page by page, maps each record and writes it to a destination. */
export type SyncNextFiresArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
};


/** Reads a source page by page, maps each record and writes it to a destination. */
export type SyncPublicationsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** Reads a source page by page, maps each record and writes it to a destination. */
export type SyncRejectedRecordsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  states?: InputMaybe<Array<RejectedRecordState>>;
};


/** Reads a source page by page, maps each record and writes it to a destination. */
export type SyncRunsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};

/** Everything about a sync that a version fixes. */
export type SyncConfiguration = {
  __typename?: 'SyncConfiguration';
  /** After how many failed runs in a row the breaker pauses it, 1 to 100; null: as many as the deployment says (5). */
  breakerThreshold?: Maybe<Scalars['Int']['output']>;
  /** Where records go. */
  destinationConnection: Connection;
  /** Where the value of each target field comes from, as docs/mapping.md describes. */
  mapping: Scalars['JSON']['output'];
  /** What is written at the destination: for `http`, the path of the endpoint. */
  object: Scalars['String']['output'];
  /** How it is written, as docs/connectors.md lists the options for each type. */
  objectOptions: Scalars['JSON']['output'];
  /** What a row does that cannot be read as a record. */
  onBrokenRecord: BrokenRecordPolicy;
  /** What happens to a record that the destination rejects. */
  onRejected: RejectionPolicy;
  /** Records a page, 1 to 10,000. */
  pageSize: Scalars['Int']['output'];
  /** When it runs by itself; null: only when it is asked to. */
  schedule?: Maybe<Schedule>;
  /** Where records come from. */
  sourceConnection: Connection;
  /** What is read from the source: for a file, its path below the configured root. */
  stream: Scalars['String']['output'];
  /** How it is read, as docs/connectors.md lists the options for each type. */
  streamOptions: Scalars['JSON']['output'];
};

/** One page of a list, newest entries first. */
export type SyncDeliveriesInDoubtConnection = {
  __typename?: 'SyncDeliveriesInDoubtConnection';
  /** The entries of the page. */
  edges: Array<SyncDeliveriesInDoubtConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type SyncDeliveriesInDoubtConnectionEdge = {
  __typename?: 'SyncDeliveriesInDoubtConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: DeliveryInDoubt;
};

/** Which syncs to list. What is not given does not restrict. */
export type SyncFilter = {
  /** Syncs whose name contains this, in either case. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** Syncs in any of these states. */
  statuses?: InputMaybe<Array<SyncStatus>>;
};

/** How a sync is doing, since when, and why. */
export type SyncHealth = {
  __typename?: 'SyncHealth';
  /** Since when: the first run that failed or was partial, the time at which it was to run, the pause; of what is well, the last sign of it. */
  since: Scalars['DateTime']['output'];
  /** How it is doing. */
  status: SyncHealthStatus;
  /** Why, in one sentence. */
  why: Scalars['String']['output'];
};

/** How a sync is doing, measured by its own schedule. */
export type SyncHealthStatus =
  /** Its last run failed, or the other system refuses our access by one of its connections (`Sync.refusedConnections`). */
  | 'FAILING'
  /** It was to run more than 15 minutes ago and no run has come to its end since, or a run waits that no worker takes. */
  | 'LATE'
  /** A run is under way, or nothing is late and the last run that ended succeeded, or none has ended yet. */
  | 'OK'
  /** Nothing is late, and the last run that ended was `PARTIAL`: it left records behind that were rejected, are in doubt or were set aside. It goes on like that until somebody mends them. */
  | 'PARTIAL'
  /** Nothing of it runs, because it is paused. */
  | 'PAUSED'
  /** So much time has passed that it will not run by itself: three times the time between two runs, at least an hour and at most a day. */
  | 'SILENT';

/** Why a sync is paused. */
export type SyncPause = {
  __typename?: 'SyncPause';
  /** What paused it. */
  cause: PauseCause;
  /** When it was paused. */
  pausedAt?: Maybe<Scalars['DateTime']['output']>;
  /** The name of the token that paused it; `tajo` for the breaker. */
  pausedBy?: Maybe<Scalars['String']['output']>;
  /** The reason that the person gave, or `Paused automatically by the failure circuit breaker`. */
  reason: Scalars['String']['output'];
  /** The failed run after which the breaker paused it; null where a person did. */
  run?: Maybe<Run>;
};

/** The sync is paused; the message says what brings it back. */
export type SyncPaused = Refusal & {
  __typename?: 'SyncPaused';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
};

/** One page of a list, newest entries first. */
export type SyncPublicationsConnection = {
  __typename?: 'SyncPublicationsConnection';
  /** The entries of the page. */
  edges: Array<SyncPublicationsConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type SyncPublicationsConnectionEdge = {
  __typename?: 'SyncPublicationsConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: Publication;
};

/** One page of a list, newest entries first. */
export type SyncRejectedRecordsConnection = {
  __typename?: 'SyncRejectedRecordsConnection';
  /** The entries of the page. */
  edges: Array<SyncRejectedRecordsConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type SyncRejectedRecordsConnectionEdge = {
  __typename?: 'SyncRejectedRecordsConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: RejectedRecord;
};

/** One page of a list, newest entries first. */
export type SyncRunsConnection = {
  __typename?: 'SyncRunsConnection';
  /** The entries of the page. */
  edges: Array<SyncRunsConnectionEdge>;
  /** Where the page lies in the list. */
  pageInfo: PageInfo;
};

/** One entry of a page. */
export type SyncRunsConnectionEdge = {
  __typename?: 'SyncRunsConnectionEdge';
  /** Where the entry lies in the list; to be treated as opaque. */
  cursor: Scalars['String']['output'];
  /** The entry itself. */
  node: Run;
};

/** Where a sync stands. */
export type SyncStatus =
  /** Its published version runs. */
  | 'ACTIVE'
  /** It was never published, so it does not run. */
  | 'DRAFT'
  /** Nothing of it runs. */
  | 'PAUSED'
  /** It was paused, and a run has yet to stop. */
  | 'PAUSING';

/** The sync was paused, and its run has yet to stop. */
export type SyncStillPausing = Refusal & {
  __typename?: 'SyncStillPausing';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
};

/** A system of the sync could not be asked whether it would take the version. The same request may be done later, or now with `acceptsUnchecked`. */
export type SystemOutOfReach = Refusal & {
  __typename?: 'SystemOutOfReach';
  /** The reason, in full sentences. */
  message: Scalars['String']['output'];
  /** Which connection could not be asked, and why. */
  unchecked: Array<InputProblem>;
};

/** What a test run is of. */
export type Test = {
  __typename?: 'Test';
  /** Most records that it reads. */
  limit: Scalars['Int']['output'];
  /** How many of the records that it read would not be sent; null: it has not come to its end. */
  recordsWithProblems?: Maybe<Scalars['Int']['output']>;
  /** Names the version that was tested: the draft as it was then. */
  versionDigest: Scalars['String']['output'];
};

/** A connection to test. */
export type TestConnectionInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** The id of the connection. */
  connectionId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type TestConnectionResult = Forbidden | InvalidInput | NotConnected | NotFound | TestedConnection;

/** Why a record would not be sent. */
export type TestProblem = {
  __typename?: 'TestProblem';
  /** The field of the mapping; null: it is about the record as a whole. */
  field?: Maybe<Scalars['String']['output']>;
  /** What is wrong, in a full sentence. */
  reason: Scalars['String']['output'];
};

/** What a draft makes of one record of the source. */
export type TestRecord = {
  __typename?: 'TestRecord';
  /** Whether it has more than 16,384 characters of JSON, and is not shown for that. */
  isTooLarge: Scalars['Boolean']['output'];
  /** Where it lies from where the next run would start: 0 is the first. */
  position: Scalars['Int']['output'];
  /** Why it would not be sent; null: it would. */
  problem?: Maybe<TestProblem>;
  /** As it would be sent; null: there is a problem, or it is too large to be shown. */
  record?: Maybe<Scalars['JSON']['output']>;
};

/** A draft to test. */
export type TestSyncInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Most records to read, 1 to 100. */
  limit?: InputMaybe<Scalars['Int']['input']>;
  /** The id of the sync. */
  syncId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type TestSyncResult = AlreadyRunning | Forbidden | InvalidInput | NotFound | StartedRun;

/** A connection that was tested. */
export type TestedConnection = {
  __typename?: 'TestedConnection';
  /** The connection; its `access` is what the test made of it. */
  connection: Connection;
  /** What the test showed. */
  result: ConnectionTestResult;
  /** When it was tested. */
  testedAt: Scalars['DateTime']['output'];
};

/** Changes to the draft of a sync. What is not given stays as it is. */
export type UpdateSyncInput = {
  /** After how many failed runs in a row the breaker pauses it, 1 to 100; null: as many as the deployment says (5). Null takes its own number away. */
  breakerThreshold?: InputMaybe<Scalars['Int']['input']>;
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Where records go. Fixed at the first publication. */
  destinationConnectionId?: InputMaybe<Scalars['ID']['input']>;
  /** Where the value of each target field comes from, as docs/mapping.md describes. */
  mapping?: InputMaybe<Scalars['JSON']['input']>;
  /** Unique in the workspace. Takes effect at once. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** What is written at the destination: for `http`, the path of the endpoint. Fixed at the first publication. */
  object?: InputMaybe<Scalars['String']['input']>;
  /** How it is written, as docs/connectors.md lists the options for each type. */
  objectOptions?: InputMaybe<Scalars['JSON']['input']>;
  /** What a row does that cannot be read as a record. */
  onBrokenRecord?: InputMaybe<BrokenRecordPolicy>;
  /** What happens to a record that the destination rejects. */
  onRejected?: InputMaybe<RejectionPolicy>;
  /** Records a page, 1 to 10,000. */
  pageSize?: InputMaybe<Scalars['Int']['input']>;
  /** When it runs by itself. Null takes the schedule away: it runs only when it is asked to. */
  schedule?: InputMaybe<ScheduleInput>;
  /** Where records come from. */
  sourceConnectionId?: InputMaybe<Scalars['ID']['input']>;
  /** What is read from the source: for a file, its path below the configured root. */
  stream?: InputMaybe<Scalars['String']['input']>;
  /** How it is read, as docs/connectors.md lists the options for each type. */
  streamOptions?: InputMaybe<Scalars['JSON']['input']>;
  /** The id of the sync. */
  syncId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type UpdateSyncResult = ChangedMeanwhile | ChangedSync | Forbidden | InvalidInput | NotFound;

/** Who asks: a token, and the workspace that it opens. */
export type Viewer = {
  __typename?: 'Viewer';
  /** Whether the token is of Tajo's operators: then it sees what concerns them of all workspaces, and may act in another one by the header `Tajo-Workspace`. */
  isTajo: Scalars['Boolean']['output'];
  /** Whether nothing is published in the workspace without a request that an `ADMIN` with another token approves: then `publishSync` is refused to everybody. */
  publishingNeedsApproval: Scalars['Boolean']['output'];
  /** What it may do. */
  role: Role;
  /** The name of the token. What it does is audited under this name; in another workspace than its own it begins with `tajo: `. */
  tokenName: Scalars['String']['output'];
  /** The id of the workspace. */
  workspaceId: Scalars['ID']['output'];
  /** The name of the workspace. */
  workspaceName: Scalars['String']['output'];
};

/** A request to take back. */
export type WithdrawPublicationRequestInput = {
  /** Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days. */
  clientKey?: InputMaybe<Scalars['String']['input']>;
  /** Why, for whoever requested it. */
  reason: Scalars['String']['input'];
  /** The id of the request to publish. */
  requestId: Scalars['ID']['input'];
};

/** What the mutation did, or why it was refused. A refusal changed nothing. */
export type WithdrawPublicationRequestResult = ChangedPublicationRequest | Forbidden | InvalidInput | NotFound | RequestClosed;

/** A process that carries out runs. */
export type Worker = {
  __typename?: 'Worker';
  /** When it last said that it is there. */
  beatAt: Scalars['DateTime']['output'];
  /** The machine that it is on. */
  host: Scalars['String']['output'];
  /** Its process on that machine. */
  pid: Scalars['Int']['output'];
  /** How many runs it is at. */
  runs: Scalars['Int']['output'];
  /** Milliseconds since then. Of one that has not stopped more than a few seconds mean that it is in trouble. */
  silentMs: Scalars['Float']['output'];
  /** When it started. */
  startedAt: Scalars['DateTime']['output'];
  /** When it ended as it should; null: it runs, or was killed. */
  stoppedAt?: Maybe<Scalars['DateTime']['output']>;
  /** The worker, as logs and attempts name it. */
  workerId: Scalars['String']['output'];
};

/** Which workers to list. What is not given does not restrict. */
export type WorkerFilter = {
  /** Only those that have ended as they should, or only the others. */
  isStopped?: InputMaybe<Scalars['Boolean']['input']>;
};

/** A tenant: everything else belongs to exactly one. */
export type Workspace = {
  __typename?: 'Workspace';
  /** When it was made. */
  createdAt: Scalars['DateTime']['output'];
  /** What a token of Tajo's names in the header `Tajo-Workspace` to act in it. */
  id: Scalars['ID']['output'];
  /** Its name. */
  name: Scalars['String']['output'];
};

export type AlertsQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<AlertFilter>;
}>;


export type AlertsQuery = { __typename?: 'Query', alerts: { __typename?: 'QueryAlertsConnection', edges: Array<{ __typename?: 'QueryAlertsConnectionEdge', cursor: string, node: { __typename?: 'Alert', id: string, audience: AlertAudience, severity: AlertSeverity, kind: AlertKind, title: string, message: string, facts: unknown, workspaceName: string, isOpen: boolean, openedAt: string, closedAt?: string | null, closing?: string | null, acknowledgedAt?: string | null, acknowledgedBy?: string | null, sync?: { __typename?: 'Sync', id: string } | null, run?: { __typename?: 'Run', id: string } | null } }>, pageInfo: { __typename?: 'PageInfo', hasNextPage: boolean, endCursor?: string | null } } };

export type WholeAlertFragment = { __typename?: 'Alert', id: string, audience: AlertAudience, severity: AlertSeverity, kind: AlertKind, title: string, message: string, facts: unknown, workspaceName: string, isOpen: boolean, openedAt: string, closedAt?: string | null, closing?: string | null, acknowledgedAt?: string | null, acknowledgedBy?: string | null, sync?: { __typename?: 'Sync', id: string } | null, run?: { __typename?: 'Run', id: string } | null };

export type AcknowledgeAlertMutationVariables = Exact<{
  alertId: Scalars['ID']['input'];
}>;


export type AcknowledgeAlertMutation = { __typename?: 'Mutation', acknowledgeAlert:
    | { __typename: 'AcknowledgedAlert', done: CommandStatus, alert: { __typename?: 'Alert', id: string, audience: AlertAudience, severity: AlertSeverity, kind: AlertKind, title: string, message: string, facts: unknown, workspaceName: string, isOpen: boolean, openedAt: string, closedAt?: string | null, closing?: string | null, acknowledgedAt?: string | null, acknowledgedBy?: string | null, sync?: { __typename?: 'Sync', id: string } | null, run?: { __typename?: 'Run', id: string } | null } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
   };

export type WatchAlertsSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type WatchAlertsSubscription = { __typename?: 'Subscription', alerts:
    | { __typename: 'AlertUpdate', change: AlertChange, alert: { __typename?: 'Alert', id: string, audience: AlertAudience, severity: AlertSeverity, kind: AlertKind, title: string, message: string, facts: unknown, workspaceName: string, isOpen: boolean, openedAt: string, closedAt?: string | null, closing?: string | null, acknowledgedAt?: string | null, acknowledgedBy?: string | null, sync?: { __typename?: 'Sync', id: string } | null, run?: { __typename?: 'Run', id: string } | null } }
    | { __typename: 'KeepAlive', at: string }
   };

export type AuditEntriesQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<AuditFilter>;
}>;


export type AuditEntriesQuery = { __typename?: 'Query', auditEntries: { __typename?: 'QueryAuditEntriesConnection', edges: Array<{ __typename?: 'QueryAuditEntriesConnectionEdge', cursor: string, node: { __typename?: 'AuditEntry', at: string, actor: string, action: string, reason?: string | null, subjectType: AuditSubjectType, subjectId: string, before?: unknown | null, after?: unknown | null, subject?:
          | { __typename: 'AccessToken' }
          | { __typename: 'Alert' }
          | { __typename: 'Connection', id: string, name: string }
          | { __typename: 'Run', id: string, status: RunStatus }
          | { __typename: 'Sync', id: string, name: string }
         | null } }>, pageInfo: { __typename?: 'PageInfo', hasNextPage: boolean, hasPreviousPage: boolean, startCursor?: string | null, endCursor?: string | null } } };

export type DisconnectConnectionMutationVariables = Exact<{
  input: DisconnectConnectionInput;
}>;


export type DisconnectConnectionMutation = { __typename?: 'Mutation', disconnectConnection:
    | { __typename: 'ChangedConnection', done: CommandStatus, connection: { __typename?: 'Connection', id: string, isConnected: boolean, disconnectedAt?: string | null, hasCredentials: boolean, config: unknown, access: { __typename?: 'ConnectionAccess', status: ConnectionStatus, since?: string | null, detail?: string | null, whatToDo?: string | null }, syncs: { __typename?: 'ConnectionSyncsConnection', edges: Array<{ __typename?: 'ConnectionSyncsConnectionEdge', node: { __typename?: 'Sync', id: string, name: string, status: SyncStatus } }> } } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
   };

export type ConnectionChangedFragment = { __typename?: 'ChangedConnection', done: CommandStatus, connection: { __typename?: 'Connection', id: string, isConnected: boolean, disconnectedAt?: string | null, hasCredentials: boolean, config: unknown, access: { __typename?: 'ConnectionAccess', status: ConnectionStatus, since?: string | null, detail?: string | null, whatToDo?: string | null }, syncs: { __typename?: 'ConnectionSyncsConnection', edges: Array<{ __typename?: 'ConnectionSyncsConnectionEdge', node: { __typename?: 'Sync', id: string, name: string, status: SyncStatus } }> } } };

export type ReconnectConnectionMutationVariables = Exact<{
  input: ReconnectConnectionInput;
}>;


export type ReconnectConnectionMutation = { __typename?: 'Mutation', reconnectConnection:
    | { __typename: 'ChangedConnection', done: CommandStatus, connection: { __typename?: 'Connection', id: string, isConnected: boolean, disconnectedAt?: string | null, hasCredentials: boolean, config: unknown, access: { __typename?: 'ConnectionAccess', status: ConnectionStatus, since?: string | null, detail?: string | null, whatToDo?: string | null }, syncs: { __typename?: 'ConnectionSyncsConnection', edges: Array<{ __typename?: 'ConnectionSyncsConnectionEdge', node: { __typename?: 'Sync', id: string, name: string, status: SyncStatus } }> } } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
   };

export type TestConnectionMutationVariables = Exact<{
  input: TestConnectionInput;
}>;


export type TestConnectionMutation = { __typename?: 'Mutation', testConnection:
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotConnected', message: string }
    | { __typename: 'NotFound', field: string, message: string }
    | { __typename: 'TestedConnection', testedAt: string, result:
        | { __typename: 'ConnectionMisconfigured', message: string, detail?: string | null }
        | { __typename: 'ConnectionOutOfReach', message: string, detail?: string | null }
        | { __typename: 'ConnectionRefused', message: string, detail?: string | null }
        | { __typename: 'ConnectionWorks', message: string, detail?: string | null }
      , connection: { __typename?: 'Connection', id: string, access: { __typename?: 'ConnectionAccess', status: ConnectionStatus, since?: string | null, detail?: string | null, whatToDo?: string | null } } }
   };

export type RefusedSyncsQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
}>;


export type RefusedSyncsQuery = { __typename?: 'Query', syncs: { __typename?: 'QuerySyncsConnection', edges: Array<{ __typename?: 'QuerySyncsConnectionEdge', node: { __typename?: 'Sync', id: string, health?: { __typename?: 'SyncHealth', status: SyncHealthStatus, since: string, why: string } | null, refusedConnections: Array<{ __typename?: 'Connection', id: string, name: string, access: { __typename?: 'ConnectionAccess', status: ConnectionStatus, since?: string | null } }> } }> } };

export type ViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type ViewerQuery = { __typename?: 'Query', viewer: { __typename?: 'Viewer', workspaceName: string, tokenName: string, role: Role, isTajo: boolean, workspaceId: string } };

export type SyncQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type SyncQuery = { __typename?: 'Query', sync?: { __typename?: 'Sync', id: string, name: string, status: SyncStatus, hasUnpublishedChanges: boolean, nextFires: Array<string>, lastFiredAt?: string | null, coalescedTicks: number, pause?: { __typename?: 'SyncPause', cause: PauseCause, reason: string, pausedBy?: string | null, pausedAt?: string | null, run?: { __typename?: 'Run', id: string, status: RunStatus } | null } | null, lastFailure?: { __typename?: 'RunFailure', code: FailureCode, whatHappened: string, whatToDo: string, owner: FailureOwner, runId: string } | null, draft: { __typename?: 'SyncConfiguration', stream: string, streamOptions: unknown, object: string, objectOptions: unknown, mapping: unknown, onRejected: RejectionPolicy, onBrokenRecord: BrokenRecordPolicy, pageSize: number, breakerThreshold?: number | null, sourceConnection: { __typename?: 'Connection', id: string, name: string }, destinationConnection: { __typename?: 'Connection', id: string, name: string }, schedule?:
        | { __typename?: 'CronSchedule', expression: string, timeZone: string }
        | { __typename?: 'IntervalSchedule', everyMs: number }
       | null }, publication?: { __typename?: 'Publication', versionDigest: string, publishedBy: string, approvedBy?: string | null, publishedAt: string, configuration: { __typename?: 'SyncConfiguration', stream: string, streamOptions: unknown, object: string, objectOptions: unknown, mapping: unknown, onRejected: RejectionPolicy, onBrokenRecord: BrokenRecordPolicy, pageSize: number, breakerThreshold?: number | null, sourceConnection: { __typename?: 'Connection', id: string, name: string }, destinationConnection: { __typename?: 'Connection', id: string, name: string }, schedule?:
          | { __typename?: 'CronSchedule', expression: string, timeZone: string }
          | { __typename?: 'IntervalSchedule', everyMs: number }
         | null } } | null, health?: { __typename?: 'SyncHealth', status: SyncHealthStatus, since: string, why: string } | null, lastRun?: { __typename?: 'Run', id: string, status: RunStatus, failure?: { __typename?: 'RunFailure', code: FailureCode, whatHappened: string } | null } | null } | null };

export type ConfigurationFragment = { __typename?: 'SyncConfiguration', stream: string, streamOptions: unknown, object: string, objectOptions: unknown, mapping: unknown, onRejected: RejectionPolicy, onBrokenRecord: BrokenRecordPolicy, pageSize: number, breakerThreshold?: number | null, sourceConnection: { __typename?: 'Connection', id: string, name: string }, destinationConnection: { __typename?: 'Connection', id: string, name: string }, schedule?:
    | { __typename?: 'CronSchedule', expression: string, timeZone: string }
    | { __typename?: 'IntervalSchedule', everyMs: number }
   | null };

export type SchedulePreviewQueryVariables = Exact<{
  schedule: ScheduleInput;
  after: Scalars['DateTime']['input'];
  first?: InputMaybe<Scalars['Int']['input']>;
}>;


export type SchedulePreviewQuery = { __typename?: 'Query', schedulePreview: Array<string> };

export type RunQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type RunQuery = { __typename?: 'Query', run?: { __typename?: 'Run', progressNote?: string | null, willRetry: boolean, nextAttemptAt?: string | null, attemptAllowance: number, resolvedAt?: string | null, id: string, status: RunStatus, isTerminal: boolean, outcome?: RunOutcome | null, cause: RunCause, requestedBy?: string | null, isCatchingUp: boolean, totalRecords?: number | null, createdAt: string, startedAt?: string | null, finishedAt?: string | null, durationMs?: number | null, owner?: FailureOwner | null, attempts: Array<{ __typename?: 'Attempt', number: number, workerId: string, startedAt: string, finishedAt?: string | null, outcome?: AttemptOutcome | null, failure?: { __typename?: 'RunFailure', code: FailureCode, whatHappened: string, step?: RunStep | null, detail?: string | null } | null }>, rejectedRecords: { __typename?: 'RunRejectedRecordsConnection', edges: Array<{ __typename?: 'RunRejectedRecordsConnectionEdge', node: { __typename?: 'RejectedRecord', id: string, state: RejectedRecordState, position: number, reason: string, runs: number, rejectedAt: string } }>, pageInfo: { __typename?: 'PageInfo', hasNextPage: boolean, endCursor?: string | null } }, retryOf?: { __typename?: 'Run', id: string } | null, retriedBy?: { __typename?: 'Run', id: string, status: RunStatus } | null, resolvedBy?: { __typename?: 'Run', id: string } | null, counters: { __typename?: 'Counters', read: number, written: number, replayed: number, rejected: number, inDoubt: number, quarantined: number, skipped: number }, failure?: { __typename?: 'RunFailure', code: FailureCode, whatHappened: string, whatToDo: string, owner: FailureOwner, nextMutation?: NextMutation | null, step?: RunStep | null, detail?: string | null, runId: string } | null, sync: { __typename?: 'Sync', id: string, name: string } } | null };

export type RunSummaryFragment = { __typename?: 'Run', id: string, status: RunStatus, isTerminal: boolean, outcome?: RunOutcome | null, cause: RunCause, requestedBy?: string | null, isCatchingUp: boolean, totalRecords?: number | null, createdAt: string, startedAt?: string | null, finishedAt?: string | null, durationMs?: number | null, owner?: FailureOwner | null, counters: { __typename?: 'Counters', read: number, written: number, replayed: number, rejected: number, inDoubt: number, quarantined: number, skipped: number }, failure?: { __typename?: 'RunFailure', code: FailureCode, whatHappened: string, whatToDo: string, owner: FailureOwner, nextMutation?: NextMutation | null, step?: RunStep | null, detail?: string | null, runId: string } | null, sync: { __typename?: 'Sync', id: string, name: string } };

export type AllCountersFragment = { __typename?: 'Counters', read: number, written: number, replayed: number, rejected: number, inDoubt: number, quarantined: number, skipped: number };

export type FailureCatalogueQueryVariables = Exact<{ [key: string]: never; }>;


export type FailureCatalogueQuery = { __typename?: 'Query', failureCatalogue: Array<{ __typename?: 'FailureCatalogueEntry', code: FailureCode, whatHappened: string, whatToDo: string, owner: FailureOwner, retried: FailureRetry, nextMutation?: NextMutation | null, causes: string }> };

export type NodeQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type NodeQuery = { __typename?: 'Query', node?:
    | { __typename: 'AccessToken', id: string }
    | { __typename: 'Alert', id: string }
    | { __typename: 'Connection', id: string }
    | { __typename: 'Publication', id: string }
    | { __typename: 'PublicationRequest', id: string }
    | { __typename: 'Run', id: string }
    | { __typename: 'Sync', id: string }
   | null };

export type CreateConnectionMutationVariables = Exact<{
  input: CreateConnectionInput;
}>;


export type CreateConnectionMutation = { __typename?: 'Mutation', createConnection:
    | { __typename: 'CreateConnectionPayload', connection: { __typename?: 'Connection', id: string, name: string, type: string, config: unknown, hasCredentials: boolean } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
   };

type Refused_AlreadyRunning_Fragment = { __typename?: 'AlreadyRunning', runId: string, message: string };

type Refused_AlreadySettled_Fragment = { __typename?: 'AlreadySettled', outcome: DeliverySettlement, message: string };

type Refused_ApprovalNeeded_Fragment = { __typename?: 'ApprovalNeeded', message: string };

type Refused_ChangedMeanwhile_Fragment = { __typename?: 'ChangedMeanwhile', message: string };

type Refused_DeliveryInFlight_Fragment = { __typename?: 'DeliveryInFlight', settleableAt: string, message: string };

type Refused_Forbidden_Fragment = { __typename?: 'Forbidden', message: string };

type Refused_InvalidInput_Fragment = { __typename?: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> };

type Refused_NotConnected_Fragment = { __typename?: 'NotConnected', message: string };

type Refused_NotFound_Fragment = { __typename?: 'NotFound', field: string, message: string };

type Refused_NotPublished_Fragment = { __typename?: 'NotPublished', message: string };

type Refused_NothingToPublish_Fragment = { __typename?: 'NothingToPublish', message: string };

type Refused_NothingToRetry_Fragment = { __typename?: 'NothingToRetry', latestRetryId?: string | null, message: string };

type Refused_OwnRequest_Fragment = { __typename?: 'OwnRequest', message: string };

type Refused_RequestClosed_Fragment = { __typename?: 'RequestClosed', message: string };

type Refused_SyncPaused_Fragment = { __typename?: 'SyncPaused', message: string };

type Refused_SyncStillPausing_Fragment = { __typename?: 'SyncStillPausing', message: string };

type Refused_SystemOutOfReach_Fragment = { __typename?: 'SystemOutOfReach', message: string };

export type RefusedFragment =
  | Refused_AlreadyRunning_Fragment
  | Refused_AlreadySettled_Fragment
  | Refused_ApprovalNeeded_Fragment
  | Refused_ChangedMeanwhile_Fragment
  | Refused_DeliveryInFlight_Fragment
  | Refused_Forbidden_Fragment
  | Refused_InvalidInput_Fragment
  | Refused_NotConnected_Fragment
  | Refused_NotFound_Fragment
  | Refused_NotPublished_Fragment
  | Refused_NothingToPublish_Fragment
  | Refused_NothingToRetry_Fragment
  | Refused_OwnRequest_Fragment
  | Refused_RequestClosed_Fragment
  | Refused_SyncPaused_Fragment
  | Refused_SyncStillPausing_Fragment
  | Refused_SystemOutOfReach_Fragment
;

export type CreateSyncMutationVariables = Exact<{
  input: CreateSyncInput;
}>;


export type CreateSyncMutation = { __typename?: 'Mutation', createSync:
    | { __typename: 'ChangedSync', willStopBy?: string | null, done: CommandStatus, sync: { __typename?: 'Sync', id: string, name: string, status: SyncStatus, hasUnpublishedChanges: boolean, publication?: { __typename?: 'Publication', versionDigest: string } | null } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
   };

export type ChangedFragment = { __typename?: 'ChangedSync', willStopBy?: string | null, done: CommandStatus, sync: { __typename?: 'Sync', id: string, name: string, status: SyncStatus, hasUnpublishedChanges: boolean, publication?: { __typename?: 'Publication', versionDigest: string } | null } };

export type UpdateSyncMutationVariables = Exact<{
  input: UpdateSyncInput;
}>;


export type UpdateSyncMutation = { __typename?: 'Mutation', updateSync:
    | { __typename: 'ChangedMeanwhile', message: string }
    | { __typename: 'ChangedSync', willStopBy?: string | null, done: CommandStatus, sync: { __typename?: 'Sync', id: string, name: string, status: SyncStatus, hasUnpublishedChanges: boolean, publication?: { __typename?: 'Publication', versionDigest: string } | null } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
   };

export type PublishSyncMutationVariables = Exact<{
  syncId: Scalars['ID']['input'];
  acceptsUnchecked?: InputMaybe<Scalars['Boolean']['input']>;
}>;


export type PublishSyncMutation = { __typename?: 'Mutation', publishSync:
    | { __typename: 'ApprovalNeeded', message: string }
    | { __typename: 'ChangedMeanwhile', message: string }
    | { __typename: 'ChangedSync', willStopBy?: string | null, done: CommandStatus, sync: { __typename?: 'Sync', id: string, name: string, status: SyncStatus, hasUnpublishedChanges: boolean, publication?: { __typename?: 'Publication', versionDigest: string } | null } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
    | { __typename: 'SyncStillPausing', message: string }
    | { __typename: 'SystemOutOfReach', message: string }
   };

export type PauseSyncMutationVariables = Exact<{
  syncId: Scalars['ID']['input'];
  reason: Scalars['String']['input'];
}>;


export type PauseSyncMutation = { __typename?: 'Mutation', pauseSync:
    | { __typename: 'ChangedSync', willStopBy?: string | null, done: CommandStatus, sync: { __typename?: 'Sync', id: string, name: string, status: SyncStatus, hasUnpublishedChanges: boolean, publication?: { __typename?: 'Publication', versionDigest: string } | null } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
    | { __typename: 'NotPublished', message: string }
   };

export type ResumeSyncMutationVariables = Exact<{
  syncId: Scalars['ID']['input'];
}>;


export type ResumeSyncMutation = { __typename?: 'Mutation', resumeSync:
    | { __typename: 'ChangedSync', willStopBy?: string | null, done: CommandStatus, sync: { __typename?: 'Sync', id: string, name: string, status: SyncStatus, hasUnpublishedChanges: boolean, publication?: { __typename?: 'Publication', versionDigest: string } | null } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
    | { __typename: 'NotPublished', message: string }
    | { __typename: 'SyncPaused', message: string }
    | { __typename: 'SyncStillPausing', message: string }
   };

export type RunSyncMutationVariables = Exact<{
  syncId: Scalars['ID']['input'];
}>;


export type RunSyncMutation = { __typename?: 'Mutation', runSync:
    | { __typename: 'AlreadyRunning', runId: string, message: string }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
    | { __typename: 'NotPublished', message: string }
    | { __typename: 'StartedRun', started: CommandStatus, run: { __typename?: 'Run', id: string, status: RunStatus } }
    | { __typename: 'SyncPaused', message: string }
   };

export type StartedFragment = { __typename?: 'StartedRun', started: CommandStatus, run: { __typename?: 'Run', id: string, status: RunStatus } };

export type RetryRunMutationVariables = Exact<{
  runId: Scalars['ID']['input'];
}>;


export type RetryRunMutation = { __typename?: 'Mutation', retryRun:
    | { __typename: 'AlreadyRunning', runId: string, message: string }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
    | { __typename: 'NotPublished', message: string }
    | { __typename: 'NothingToRetry', latestRetryId?: string | null, message: string }
    | { __typename: 'StartedRun', started: CommandStatus, run: { __typename?: 'Run', id: string, status: RunStatus } }
    | { __typename: 'SyncPaused', message: string }
   };

export type RunProgressSubscriptionVariables = Exact<{
  runId: Scalars['ID']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type RunProgressSubscription = { __typename?: 'Subscription', runProgress:
    | { __typename: 'KeepAlive', at: string }
    | { __typename: 'RunProgress', runId: string, syncId: string, sequence: string, status: RunStatus, isTerminal: boolean, totalRecords?: number | null, failureCode?: FailureCode | null, progressNote?: string | null, counters: { __typename?: 'Counters', read: number, written: number, replayed: number, rejected: number, inDoubt: number, quarantined: number, skipped: number } }
   };

export type ProgressFragment = { __typename?: 'RunProgress', runId: string, syncId: string, sequence: string, status: RunStatus, isTerminal: boolean, totalRecords?: number | null, failureCode?: FailureCode | null, progressNote?: string | null, counters: { __typename?: 'Counters', read: number, written: number, replayed: number, rejected: number, inDoubt: number, quarantined: number, skipped: number } };

export type ConnectionsQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
}>;


export type ConnectionsQuery = { __typename?: 'Query', connections: { __typename?: 'QueryConnectionsConnection', edges: Array<{ __typename?: 'QueryConnectionsConnectionEdge', cursor: string, node: { __typename?: 'Connection', id: string, name: string, type: string, roles: Array<ConnectionRole>, config: unknown, hasCredentials: boolean, isConnected: boolean, disconnectedAt?: string | null, createdAt: string } }>, pageInfo: { __typename?: 'PageInfo', hasNextPage: boolean, hasPreviousPage: boolean, startCursor?: string | null, endCursor?: string | null } } };

export type SyncsQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<SyncFilter>;
}>;


export type SyncsQuery = { __typename?: 'Query', syncs: { __typename?: 'QuerySyncsConnection', edges: Array<{ __typename?: 'QuerySyncsConnectionEdge', node: { __typename?: 'Sync', id: string, name: string, status: SyncStatus, hasUnpublishedChanges: boolean, health?: { __typename?: 'SyncHealth', status: SyncHealthStatus, since: string, why: string } | null, draft: { __typename?: 'SyncConfiguration', sourceConnection: { __typename?: 'Connection', name: string }, destinationConnection: { __typename?: 'Connection', name: string } }, lastRun?: { __typename?: 'Run', id: string, status: RunStatus } | null } }>, pageInfo: { __typename?: 'PageInfo', hasNextPage: boolean, endCursor?: string | null } } };

export type RunsQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<RunFilter>;
}>;


export type RunsQuery = { __typename?: 'Query', runs: { __typename?: 'QueryRunsConnection', edges: Array<{ __typename?: 'QueryRunsConnectionEdge', cursor: string, node: { __typename?: 'Run', id: string, status: RunStatus, isTerminal: boolean, outcome?: RunOutcome | null, cause: RunCause, requestedBy?: string | null, isCatchingUp: boolean, totalRecords?: number | null, createdAt: string, startedAt?: string | null, finishedAt?: string | null, durationMs?: number | null, owner?: FailureOwner | null, counters: { __typename?: 'Counters', read: number, written: number, replayed: number, rejected: number, inDoubt: number, quarantined: number, skipped: number }, failure?: { __typename?: 'RunFailure', code: FailureCode, whatHappened: string, whatToDo: string, owner: FailureOwner, nextMutation?: NextMutation | null, step?: RunStep | null, detail?: string | null, runId: string } | null, sync: { __typename?: 'Sync', id: string, name: string } } }>, pageInfo: { __typename?: 'PageInfo', hasNextPage: boolean, hasPreviousPage: boolean, startCursor?: string | null, endCursor?: string | null } } };

export type FailuresQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<FailureFilter>;
}>;


export type FailuresQuery = { __typename?: 'Query', failures: { __typename?: 'QueryFailuresConnection', edges: Array<{ __typename?: 'QueryFailuresConnectionEdge', node: { __typename?: 'Run', id: string, status: RunStatus, isTerminal: boolean, outcome?: RunOutcome | null, cause: RunCause, requestedBy?: string | null, isCatchingUp: boolean, totalRecords?: number | null, createdAt: string, startedAt?: string | null, finishedAt?: string | null, durationMs?: number | null, owner?: FailureOwner | null, counters: { __typename?: 'Counters', read: number, written: number, replayed: number, rejected: number, inDoubt: number, quarantined: number, skipped: number }, failure?: { __typename?: 'RunFailure', code: FailureCode, whatHappened: string, whatToDo: string, owner: FailureOwner, nextMutation?: NextMutation | null, step?: RunStep | null, detail?: string | null, runId: string } | null, sync: { __typename?: 'Sync', id: string, name: string } } }>, pageInfo: { __typename?: 'PageInfo', hasNextPage: boolean, hasPreviousPage: boolean, startCursor?: string | null, endCursor?: string | null } } };

export type OperationsQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
  filter?: InputMaybe<WorkerFilter>;
}>;


export type OperationsQuery = { __typename?: 'Query', queue: { __typename?: 'Queue', queued: number, due: number, running: number, oldestDueAt?: string | null, waitingWorkspaces: number }, workers: { __typename?: 'QueryWorkersConnection', edges: Array<{ __typename?: 'QueryWorkersConnectionEdge', node: { __typename?: 'Worker', workerId: string, host: string, pid: number, startedAt: string, beatAt: string, silentMs: number, stoppedAt?: string | null, runs: number } }> }, workspaces: { __typename?: 'QueryWorkspacesConnection', edges: Array<{ __typename?: 'QueryWorkspacesConnectionEdge', node: { __typename?: 'Workspace', id: string, name: string, createdAt: string } }> } };

export type PublicationRequestsQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<PublicationRequestFilter>;
}>;


export type PublicationRequestsQuery = { __typename?: 'Query', publicationRequests: { __typename?: 'QueryPublicationRequestsConnection', edges: Array<{ __typename?: 'QueryPublicationRequestsConnectionEdge', cursor: string, node: { __typename?: 'PublicationRequest', id: string, status: PublicationRequestStatus, versionDigest: string, reason: string, requestedBy: string, requestedAt: string, isOwn: boolean, closedBy?: string | null, closedAt?: string | null, closingReason?: string | null, configuration: { __typename?: 'SyncConfiguration', pageSize: number }, publication?: { __typename?: 'Publication', id: string } | null, sync: { __typename?: 'Sync', id: string } } }>, pageInfo: { __typename?: 'PageInfo', hasNextPage: boolean, hasPreviousPage: boolean, startCursor?: string | null, endCursor?: string | null } } };

export type PublicationRequestQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type PublicationRequestQuery = { __typename?: 'Query', publicationRequest?: { __typename?: 'PublicationRequest', id: string, status: PublicationRequestStatus } | null };

export type SyncPublicationsQueryVariables = Exact<{
  syncId: Scalars['ID']['input'];
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type SyncPublicationsQuery = { __typename?: 'Query', sync?: { __typename?: 'Sync', status: SyncStatus, hasUnpublishedChanges: boolean, publication?: { __typename?: 'Publication', id: string } | null, publicationRequest?: { __typename?: 'PublicationRequest', id: string, status: PublicationRequestStatus, versionDigest: string } | null, publications: { __typename?: 'SyncPublicationsConnection', edges: Array<{ __typename?: 'SyncPublicationsConnectionEdge', node: { __typename?: 'Publication', id: string, versionDigest: string, publishedBy: string, approvedBy?: string | null, publishedAt: string, configuration: { __typename?: 'SyncConfiguration', pageSize: number }, request?: { __typename?: 'PublicationRequest', id: string, reason: string } | null } }>, pageInfo: { __typename?: 'PageInfo', hasNextPage: boolean, endCursor?: string | null } } } | null };

export type RequestPublicationMutationVariables = Exact<{
  syncId: Scalars['ID']['input'];
  reason: Scalars['String']['input'];
}>;


export type RequestPublicationMutation = { __typename?: 'Mutation', requestPublication:
    | { __typename: 'ChangedMeanwhile', message: string }
    | { __typename: 'ChangedPublicationRequest', status: CommandStatus, request: { __typename?: 'PublicationRequest', id: string, status: PublicationRequestStatus, versionDigest: string, requestedBy: string } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', message: string }
    | { __typename: 'NothingToPublish', message: string }
    | { __typename: 'SystemOutOfReach', message: string }
   };

export type ApprovePublicationMutationVariables = Exact<{
  requestId: Scalars['ID']['input'];
}>;


export type ApprovePublicationMutation = { __typename?: 'Mutation', approvePublication:
    | { __typename: 'ChangedPublicationRequest', status: CommandStatus, request: { __typename?: 'PublicationRequest', id: string, status: PublicationRequestStatus, closedBy?: string | null, publication?: { __typename?: 'Publication', id: string, versionDigest: string, publishedBy: string, approvedBy?: string | null } | null, sync: { __typename?: 'Sync', status: SyncStatus, publication?: { __typename?: 'Publication', id: string, versionDigest: string } | null } } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', message: string }
    | { __typename: 'OwnRequest', message: string }
    | { __typename: 'RequestClosed', requestStatus: PublicationRequestStatus, message: string }
    | { __typename: 'SyncStillPausing', message: string }
    | { __typename: 'SystemOutOfReach', message: string }
   };

export type RefusePublicationMutationVariables = Exact<{
  requestId: Scalars['ID']['input'];
  reason: Scalars['String']['input'];
}>;


export type RefusePublicationMutation = { __typename?: 'Mutation', refusePublication:
    | { __typename: 'ChangedPublicationRequest', status: CommandStatus, request: { __typename?: 'PublicationRequest', id: string, status: PublicationRequestStatus, closedBy?: string | null, closingReason?: string | null } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string }
    | { __typename: 'NotFound', message: string }
    | { __typename: 'OwnRequest', message: string }
    | { __typename: 'RequestClosed', requestStatus: PublicationRequestStatus, message: string }
   };

export type WithdrawPublicationRequestMutationVariables = Exact<{
  requestId: Scalars['ID']['input'];
  reason: Scalars['String']['input'];
}>;


export type WithdrawPublicationRequestMutation = { __typename?: 'Mutation', withdrawPublicationRequest:
    | { __typename: 'ChangedPublicationRequest', status: CommandStatus, request: { __typename?: 'PublicationRequest', id: string, status: PublicationRequestStatus, closedBy?: string | null, closingReason?: string | null } }
    | { __typename: 'Forbidden', neededRole: Role, message: string }
    | { __typename: 'InvalidInput', message: string }
    | { __typename: 'NotFound', message: string }
    | { __typename: 'RequestClosed', requestStatus: PublicationRequestStatus, message: string }
   };

export type SetPublishingPolicyMutationVariables = Exact<{
  needsApproval: Scalars['Boolean']['input'];
  reason: Scalars['String']['input'];
}>;


export type SetPublishingPolicyMutation = { __typename?: 'Mutation', setPublishingPolicy:
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string }
    | { __typename: 'PublishingPolicy', status: CommandStatus, needsApproval: boolean }
   };

export type PublishingPolicyQueryVariables = Exact<{ [key: string]: never; }>;


export type PublishingPolicyQuery = { __typename?: 'Query', viewer: { __typename?: 'Viewer', publishingNeedsApproval: boolean } };

export type PublicationPreviewQueryVariables = Exact<{
  syncId: Scalars['ID']['input'];
}>;


export type PublicationPreviewQuery = { __typename?: 'Query', publicationPreview?: { __typename?: 'PublicationPreview', isReady: boolean, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }>, unchecked: Array<{ __typename?: 'InputProblem', field: string, reason: string }> } | null };

export type RejectedRecordsQueryVariables = Exact<{
  syncId: Scalars['ID']['input'];
  states?: InputMaybe<Array<RejectedRecordState> | RejectedRecordState>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type RejectedRecordsQuery = { __typename?: 'Query', sync?: { __typename?: 'Sync', rejectedRecords: { __typename?: 'SyncRejectedRecordsConnection', edges: Array<{ __typename?: 'SyncRejectedRecordsConnectionEdge', node: { __typename?: 'RejectedRecord', id: string, state: RejectedRecordState, position: number, page: string, reason: string, runs: number, canBeRedriven: boolean, firstRejectedAt: string, rejectedAt: string, quarantinedAt?: string | null, endedAt?: string | null, firstRun?: { __typename?: 'Run', id: string } | null, lastRun?: { __typename?: 'Run', id: string } | null, sync: { __typename?: 'Sync', id: string } } }>, pageInfo: { __typename?: 'PageInfo', hasNextPage: boolean, endCursor?: string | null } } } | null };

export type RedriveRecordsMutationVariables = Exact<{
  syncId: Scalars['ID']['input'];
  recordIds?: InputMaybe<Array<Scalars['ID']['input']> | Scalars['ID']['input']>;
}>;


export type RedriveRecordsMutation = { __typename?: 'Mutation', redriveRecords:
    | { __typename: 'AlreadyRunning', runId: string, message: string }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
    | { __typename: 'NotPublished', message: string }
    | { __typename: 'RedrivenRecords', redriven: number, done: CommandStatus, run?: { __typename?: 'Run', id: string, status: RunStatus, cause: RunCause } | null, records: Array<{ __typename?: 'RecordResult', recordId: string, status: RecordStatus }>, sync: { __typename?: 'Sync', id: string } }
    | { __typename: 'SyncPaused', message: string }
   };

export type DiscardRecordsMutationVariables = Exact<{
  syncId: Scalars['ID']['input'];
  recordIds: Array<Scalars['ID']['input']> | Scalars['ID']['input'];
  reason: Scalars['String']['input'];
}>;


export type DiscardRecordsMutation = { __typename?: 'Mutation', discardRecords:
    | { __typename: 'AlreadyRunning', runId: string, message: string }
    | { __typename: 'DiscardedRecords', discarded: number, done: CommandStatus, records: Array<{ __typename?: 'RecordResult', recordId: string, status: RecordStatus }>, sync: { __typename?: 'Sync', id: string } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
   };

export type CancelRunMutationVariables = Exact<{
  runId: Scalars['ID']['input'];
  reason: Scalars['String']['input'];
}>;


export type CancelRunMutation = { __typename?: 'Mutation', cancelRun:
    | { __typename: 'CanceledRun', willStopBy?: string | null, done: CommandStatus, run: { __typename?: 'Run', id: string, status: RunStatus, cancellation?: { __typename?: 'RunCancellation', requestedAt: string, requestedBy: string, reason: string } | null } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
   };

export type CursorResetPreviewQueryVariables = Exact<{
  syncId: Scalars['ID']['input'];
}>;


export type CursorResetPreviewQuery = { __typename?: 'Query', cursorResetPreview?: { __typename?: 'CursorResetPreview', recordsToRead?: number | null, replayProtectedUntil?: string | null, protectionGaps: Array<ProtectionGap>, openPages: number, heldRecords: number, quarantinedRecords: number, deliveriesInDoubt: number, runInFlight?: { __typename?: 'Run', id: string } | null } | null };

export type ResetCursorMutationVariables = Exact<{
  syncId: Scalars['ID']['input'];
  reason: Scalars['String']['input'];
}>;


export type ResetCursorMutation = { __typename?: 'Mutation', resetCursor:
    | { __typename: 'AlreadyRunning', runId: string, message: string }
    | { __typename: 'ChangedSync', willStopBy?: string | null, done: CommandStatus, sync: { __typename?: 'Sync', id: string, name: string, status: SyncStatus, hasUnpublishedChanges: boolean, publication?: { __typename?: 'Publication', versionDigest: string } | null } }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
   };

export type DeliveriesInDoubtQueryVariables = Exact<{
  syncId: Scalars['ID']['input'];
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type DeliveriesInDoubtQuery = { __typename?: 'Query', sync?: { __typename?: 'Sync', deliveriesInDoubt: { __typename?: 'SyncDeliveriesInDoubtConnection', edges: Array<{ __typename?: 'SyncDeliveriesInDoubtConnectionEdge', node: { __typename?: 'DeliveryInDoubt', intentId: string, position: number, page: string, since: string, settleableAt: string, cause: DeliveryDoubtCause, run?: { __typename?: 'Run', id: string } | null } }>, pageInfo: { __typename?: 'PageInfo', hasNextPage: boolean, endCursor?: string | null } } } | null };

export type DoubtFragment = { __typename?: 'DeliveryInDoubt', intentId: string, position: number, page: string, since: string, settleableAt: string, cause: DeliveryDoubtCause, run?: { __typename?: 'Run', id: string } | null };

export type RunDeliveriesInDoubtQueryVariables = Exact<{
  runId: Scalars['ID']['input'];
}>;


export type RunDeliveriesInDoubtQuery = { __typename?: 'Query', run?: { __typename?: 'Run', deliveriesInDoubt: { __typename?: 'RunDeliveriesInDoubtConnection', edges: Array<{ __typename?: 'RunDeliveriesInDoubtConnectionEdge', node: { __typename?: 'DeliveryInDoubt', intentId: string, position: number, page: string, since: string, settleableAt: string, cause: DeliveryDoubtCause, run?: { __typename?: 'Run', id: string } | null } }> } } | null };

export type SettleDeliveryMutationVariables = Exact<{
  input: SettleDeliveryInput;
}>;


export type SettleDeliveryMutation = { __typename?: 'Mutation', settleDelivery:
    | { __typename: 'AlreadySettled', outcome: DeliverySettlement, message: string }
    | { __typename: 'DeliveryInFlight', settleableAt: string, message: string }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', field: string, message: string }
    | { __typename: 'SettledDelivery', settled: number, done: CommandStatus, sync: { __typename?: 'Sync', id: string } }
   };

export type RetryRunsMutationVariables = Exact<{
  input: RetryRunsInput;
}>;


export type RetryRunsMutation = { __typename?: 'Mutation', retryRuns:
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'RetriedRuns', started: number, done: CommandStatus, items: Array<{ __typename?: 'RetriedRun', runId: string, outcome:
          | { __typename: 'AlreadyRunning', runId: string, message: string }
          | { __typename: 'NotFound', field: string, message: string }
          | { __typename: 'NotPublished', message: string }
          | { __typename: 'NothingToRetry', latestRetryId?: string | null, message: string }
          | { __typename: 'StartedRun', started: CommandStatus, run: { __typename?: 'Run', id: string, status: RunStatus } }
          | { __typename: 'SyncPaused', message: string }
         }> }
   };

export type DeliveryQueryVariables = Exact<{
  key: Scalars['String']['input'];
}>;


export type DeliveryQuery = { __typename?: 'Query', delivery?: { __typename?: 'Delivery', key: string, page: string, position: number, deliveredAt: string, remoteId?: string | null, isSettled: boolean, replayProtectedUntil: string, sync: { __typename?: 'Sync', id: string } } | null };

export type ReceiptFragment = { __typename?: 'Delivery', key: string, page: string, position: number, deliveredAt: string, remoteId?: string | null, isSettled: boolean, replayProtectedUntil: string, sync: { __typename?: 'Sync', id: string } };

export type DeliveriesQueryVariables = Exact<{
  syncId: Scalars['ID']['input'];
  record: Scalars['String']['input'];
}>;


export type DeliveriesQuery = { __typename?: 'Query', sync?: { __typename?: 'Sync', deliveries: Array<{ __typename?: 'Delivery', key: string, page: string, position: number, deliveredAt: string, remoteId?: string | null, isSettled: boolean, replayProtectedUntil: string, sync: { __typename?: 'Sync', id: string } }> } | null };

export type SyncRunsSubscriptionVariables = Exact<{
  syncId: Scalars['ID']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type SyncRunsSubscription = { __typename?: 'Subscription', syncRuns:
    | { __typename: 'RunUpdate', sequence: string, progress: { __typename?: 'RunProgress', runId: string, syncId: string, sequence: string, status: RunStatus, isTerminal: boolean, totalRecords?: number | null, failureCode?: FailureCode | null, progressNote?: string | null, counters: { __typename?: 'Counters', read: number, written: number, replayed: number, rejected: number, inDoubt: number, quarantined: number, skipped: number } }, run: { __typename?: 'Run', id: string, status: RunStatus, sync: { __typename?: 'Sync', id: string } } }
    | { __typename: 'RunsKeepAlive', at: string, sequence: string }
   };

type Update_RunUpdate_Fragment = { __typename?: 'RunUpdate', sequence: string, progress: { __typename?: 'RunProgress', runId: string, syncId: string, sequence: string, status: RunStatus, isTerminal: boolean, totalRecords?: number | null, failureCode?: FailureCode | null, progressNote?: string | null, counters: { __typename?: 'Counters', read: number, written: number, replayed: number, rejected: number, inDoubt: number, quarantined: number, skipped: number } }, run: { __typename?: 'Run', id: string, status: RunStatus, sync: { __typename?: 'Sync', id: string } } };

type Update_RunsKeepAlive_Fragment = { __typename?: 'RunsKeepAlive', at: string, sequence: string };

export type UpdateFragment =
  | Update_RunUpdate_Fragment
  | Update_RunsKeepAlive_Fragment
;

export type WorkspaceRunsSubscriptionVariables = Exact<{
  after?: InputMaybe<Scalars['String']['input']>;
}>;


export type WorkspaceRunsSubscription = { __typename?: 'Subscription', workspaceRuns:
    | { __typename: 'RunUpdate', sequence: string, progress: { __typename?: 'RunProgress', runId: string, syncId: string, sequence: string, status: RunStatus, isTerminal: boolean, totalRecords?: number | null, failureCode?: FailureCode | null, progressNote?: string | null, counters: { __typename?: 'Counters', read: number, written: number, replayed: number, rejected: number, inDoubt: number, quarantined: number, skipped: number } }, run: { __typename?: 'Run', id: string, status: RunStatus, sync: { __typename?: 'Sync', id: string } } }
    | { __typename: 'RunsKeepAlive', at: string, sequence: string }
   };

export type TestSyncMutationVariables = Exact<{
  syncId: Scalars['ID']['input'];
  limit?: InputMaybe<Scalars['Int']['input']>;
}>;


export type TestSyncMutation = { __typename?: 'Mutation', testSync:
    | { __typename: 'AlreadyRunning', runId: string, message: string }
    | { __typename: 'Forbidden', message: string }
    | { __typename: 'InvalidInput', message: string, problems: Array<{ __typename?: 'InputProblem', field: string, reason: string }> }
    | { __typename: 'NotFound', message: string }
    | { __typename: 'StartedRun', status: CommandStatus, run: { __typename?: 'Run', id: string, status: RunStatus, cause: RunCause, attemptAllowance: number, test?: { __typename?: 'Test', versionDigest: string, limit: number, recordsWithProblems?: number | null } | null } }
   };

export type TestRunQueryVariables = Exact<{
  id: Scalars['ID']['input'];
}>;


export type TestRunQuery = { __typename?: 'Query', run?: { __typename?: 'Run', cause: RunCause, failure?: { __typename?: 'RunFailure', code: FailureCode, nextMutation?: NextMutation | null } | null, test?: { __typename?: 'Test', versionDigest: string, limit: number, recordsWithProblems?: number | null } | null, testRecords?: Array<{ __typename?: 'TestRecord', position: number, record?: unknown | null, isTooLarge: boolean, problem?: { __typename?: 'TestProblem', field?: string | null, reason: string } | null }> | null } | null };

export type TokensQueryVariables = Exact<{
  first?: InputMaybe<Scalars['Int']['input']>;
}>;


export type TokensQuery = { __typename?: 'Query', tokens: { __typename?: 'QueryTokensConnection', edges: Array<{ __typename?: 'QueryTokensConnectionEdge', node: { __typename?: 'AccessToken', id: string, name: string, role: Role, isUsable: boolean, createdAt: string, expiresAt?: string | null, revokedAt?: string | null } }> } };

export type CreateTokenMutationVariables = Exact<{
  input: CreateTokenInput;
}>;


export type CreateTokenMutation = { __typename?: 'Mutation', createToken:
    | { __typename: 'CreatedToken', secret?: string | null, token: { __typename?: 'AccessToken', id: string, name: string, role: Role, expiresAt?: string | null } }
    | { __typename: 'Forbidden', neededRole: Role, message: string }
    | { __typename: 'InvalidInput', message: string }
   };

export type RevokeTokenMutationVariables = Exact<{
  tokenId: Scalars['ID']['input'];
  reason: Scalars['String']['input'];
}>;


export type RevokeTokenMutation = { __typename?: 'Mutation', revokeToken:
    | { __typename: 'Forbidden', neededRole: Role, message: string }
    | { __typename: 'InvalidInput', message: string }
    | { __typename: 'NotFound', message: string }
    | { __typename: 'RevokedToken', status: CommandStatus, token: { __typename?: 'AccessToken', id: string, isUsable: boolean, revokedAt?: string | null } }
   };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const WholeAlertFragmentDoc = new TypedDocumentString(`
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
    `, {"fragmentName":"WholeAlert"}) as unknown as TypedDocumentString<WholeAlertFragment, unknown>;
export const ConnectionChangedFragmentDoc = new TypedDocumentString(`
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
    `, {"fragmentName":"ConnectionChanged"}) as unknown as TypedDocumentString<ConnectionChangedFragment, unknown>;
export const ConfigurationFragmentDoc = new TypedDocumentString(`
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
    `, {"fragmentName":"Configuration"}) as unknown as TypedDocumentString<ConfigurationFragment, unknown>;
export const AllCountersFragmentDoc = new TypedDocumentString(`
    fragment AllCounters on Counters {
  read
  written
  replayed
  rejected
  inDoubt
  quarantined
  skipped
}
    `, {"fragmentName":"AllCounters"}) as unknown as TypedDocumentString<AllCountersFragment, unknown>;
export const RunSummaryFragmentDoc = new TypedDocumentString(`
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
}`, {"fragmentName":"RunSummary"}) as unknown as TypedDocumentString<RunSummaryFragment, unknown>;
export const RefusedFragmentDoc = new TypedDocumentString(`
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
    `, {"fragmentName":"Refused"}) as unknown as TypedDocumentString<RefusedFragment, unknown>;
export const ChangedFragmentDoc = new TypedDocumentString(`
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
    `, {"fragmentName":"Changed"}) as unknown as TypedDocumentString<ChangedFragment, unknown>;
export const StartedFragmentDoc = new TypedDocumentString(`
    fragment Started on StartedRun {
  started: status
  run {
    id
    status
  }
}
    `, {"fragmentName":"Started"}) as unknown as TypedDocumentString<StartedFragment, unknown>;
export const DoubtFragmentDoc = new TypedDocumentString(`
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
    `, {"fragmentName":"Doubt"}) as unknown as TypedDocumentString<DoubtFragment, unknown>;
export const ReceiptFragmentDoc = new TypedDocumentString(`
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
    `, {"fragmentName":"Receipt"}) as unknown as TypedDocumentString<ReceiptFragment, unknown>;
export const ProgressFragmentDoc = new TypedDocumentString(`
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
    fragment AllCounters on Counters {
  read
  written
  replayed
  rejected
  inDoubt
  quarantined
  skipped
}`, {"fragmentName":"Progress"}) as unknown as TypedDocumentString<ProgressFragment, unknown>;
export const UpdateFragmentDoc = new TypedDocumentString(`
    fragment Update on RunUpdateEvent {
  ... on RunUpdate {
    sequence
    progress {
      ...Progress
    }
    run {
      id
      status
      sync {
        id
      }
    }
  }
  ... on RunsKeepAlive {
    at
    sequence
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
}`, {"fragmentName":"Update"}) as unknown as TypedDocumentString<UpdateFragment, unknown>;
export const AlertsDocument = new TypedDocumentString(`
    query Alerts($first: Int, $after: String, $last: Int, $before: String, $filter: AlertFilter) {
  alerts(
    first: $first
    after: $after
    last: $last
    before: $before
    filter: $filter
  ) {
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
}`) as unknown as TypedDocumentString<AlertsQuery, AlertsQueryVariables>;
export const AcknowledgeAlertDocument = new TypedDocumentString(`
    mutation AcknowledgeAlert($alertId: ID!) {
  acknowledgeAlert(input: {alertId: $alertId}) {
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
}`) as unknown as TypedDocumentString<AcknowledgeAlertMutation, AcknowledgeAlertMutationVariables>;
export const WatchAlertsDocument = new TypedDocumentString(`
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
}`) as unknown as TypedDocumentString<WatchAlertsSubscription, WatchAlertsSubscriptionVariables>;
export const AuditEntriesDocument = new TypedDocumentString(`
    query AuditEntries($first: Int, $after: String, $last: Int, $before: String, $filter: AuditFilter) {
  auditEntries(
    first: $first
    after: $after
    last: $last
    before: $before
    filter: $filter
  ) {
    edges {
      cursor
      node {
        at
        actor
        action
        reason
        subjectType
        subjectId
        subject {
          __typename
          ... on Sync {
            id
            name
          }
          ... on Connection {
            id
            name
          }
          ... on Run {
            id
            status
          }
        }
        before
        after
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
    `) as unknown as TypedDocumentString<AuditEntriesQuery, AuditEntriesQueryVariables>;
export const DisconnectConnectionDocument = new TypedDocumentString(`
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
}`) as unknown as TypedDocumentString<DisconnectConnectionMutation, DisconnectConnectionMutationVariables>;
export const ReconnectConnectionDocument = new TypedDocumentString(`
    mutation ReconnectConnection($input: ReconnectConnectionInput!) {
  reconnectConnection(input: $input) {
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
}`) as unknown as TypedDocumentString<ReconnectConnectionMutation, ReconnectConnectionMutationVariables>;
export const TestConnectionDocument = new TypedDocumentString(`
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
}`) as unknown as TypedDocumentString<TestConnectionMutation, TestConnectionMutationVariables>;
export const RefusedSyncsDocument = new TypedDocumentString(`
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
    `) as unknown as TypedDocumentString<RefusedSyncsQuery, RefusedSyncsQueryVariables>;
export const ViewerDocument = new TypedDocumentString(`
    query Viewer {
  viewer {
    workspaceName
    tokenName
    role
    isTajo
    workspaceId
  }
}
    `) as unknown as TypedDocumentString<ViewerQuery, ViewerQueryVariables>;
export const SyncDocument = new TypedDocumentString(`
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
}`) as unknown as TypedDocumentString<SyncQuery, SyncQueryVariables>;
export const SchedulePreviewDocument = new TypedDocumentString(`
    query SchedulePreview($schedule: ScheduleInput!, $after: DateTime!, $first: Int) {
  schedulePreview(schedule: $schedule, after: $after, first: $first)
}
    `) as unknown as TypedDocumentString<SchedulePreviewQuery, SchedulePreviewQueryVariables>;
export const RunDocument = new TypedDocumentString(`
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
}`) as unknown as TypedDocumentString<RunQuery, RunQueryVariables>;
export const FailureCatalogueDocument = new TypedDocumentString(`
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
    `) as unknown as TypedDocumentString<FailureCatalogueQuery, FailureCatalogueQueryVariables>;
export const NodeDocument = new TypedDocumentString(`
    query Node($id: ID!) {
  node(id: $id) {
    __typename
    id
  }
}
    `) as unknown as TypedDocumentString<NodeQuery, NodeQueryVariables>;
export const CreateConnectionDocument = new TypedDocumentString(`
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
}`) as unknown as TypedDocumentString<CreateConnectionMutation, CreateConnectionMutationVariables>;
export const CreateSyncDocument = new TypedDocumentString(`
    mutation CreateSync($input: CreateSyncInput!) {
  createSync(input: $input) {
    __typename
    ...Changed
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
}`) as unknown as TypedDocumentString<CreateSyncMutation, CreateSyncMutationVariables>;
export const UpdateSyncDocument = new TypedDocumentString(`
    mutation UpdateSync($input: UpdateSyncInput!) {
  updateSync(input: $input) {
    __typename
    ...Changed
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
}`) as unknown as TypedDocumentString<UpdateSyncMutation, UpdateSyncMutationVariables>;
export const PublishSyncDocument = new TypedDocumentString(`
    mutation PublishSync($syncId: ID!, $acceptsUnchecked: Boolean) {
  publishSync(input: {syncId: $syncId, acceptsUnchecked: $acceptsUnchecked}) {
    __typename
    ...Changed
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
}`) as unknown as TypedDocumentString<PublishSyncMutation, PublishSyncMutationVariables>;
export const PauseSyncDocument = new TypedDocumentString(`
    mutation PauseSync($syncId: ID!, $reason: String!) {
  pauseSync(input: {syncId: $syncId, reason: $reason}) {
    __typename
    ...Changed
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
}`) as unknown as TypedDocumentString<PauseSyncMutation, PauseSyncMutationVariables>;
export const ResumeSyncDocument = new TypedDocumentString(`
    mutation ResumeSync($syncId: ID!) {
  resumeSync(input: {syncId: $syncId}) {
    __typename
    ...Changed
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
}`) as unknown as TypedDocumentString<ResumeSyncMutation, ResumeSyncMutationVariables>;
export const RunSyncDocument = new TypedDocumentString(`
    mutation RunSync($syncId: ID!) {
  runSync(input: {syncId: $syncId}) {
    __typename
    ...Started
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
fragment Started on StartedRun {
  started: status
  run {
    id
    status
  }
}`) as unknown as TypedDocumentString<RunSyncMutation, RunSyncMutationVariables>;
export const RetryRunDocument = new TypedDocumentString(`
    mutation RetryRun($runId: ID!) {
  retryRun(input: {runId: $runId}) {
    __typename
    ...Started
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
fragment Started on StartedRun {
  started: status
  run {
    id
    status
  }
}`) as unknown as TypedDocumentString<RetryRunMutation, RetryRunMutationVariables>;
export const RunProgressDocument = new TypedDocumentString(`
    subscription RunProgress($runId: ID!, $after: String) {
  runProgress(runId: $runId, after: $after) {
    __typename
    ...Progress
    ... on KeepAlive {
      at
    }
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
}`) as unknown as TypedDocumentString<RunProgressSubscription, RunProgressSubscriptionVariables>;
export const ConnectionsDocument = new TypedDocumentString(`
    query Connections($first: Int, $after: String, $last: Int, $before: String) {
  connections(first: $first, after: $after, last: $last, before: $before) {
    edges {
      cursor
      node {
        id
        name
        type
        roles
        config
        hasCredentials
        isConnected
        disconnectedAt
        createdAt
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
    `) as unknown as TypedDocumentString<ConnectionsQuery, ConnectionsQueryVariables>;
export const SyncsDocument = new TypedDocumentString(`
    query Syncs($first: Int, $after: String, $filter: SyncFilter) {
  syncs(first: $first, after: $after, filter: $filter) {
    edges {
      node {
        id
        name
        status
        hasUnpublishedChanges
        health {
          status
          since
          why
        }
        draft {
          sourceConnection {
            name
          }
          destinationConnection {
            name
          }
        }
        lastRun {
          id
          status
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<SyncsQuery, SyncsQueryVariables>;
export const RunsDocument = new TypedDocumentString(`
    query Runs($first: Int, $after: String, $last: Int, $before: String, $filter: RunFilter) {
  runs(
    first: $first
    after: $after
    last: $last
    before: $before
    filter: $filter
  ) {
    edges {
      cursor
      node {
        ...RunSummary
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
}`) as unknown as TypedDocumentString<RunsQuery, RunsQueryVariables>;
export const FailuresDocument = new TypedDocumentString(`
    query Failures($first: Int, $after: String, $last: Int, $before: String, $filter: FailureFilter) {
  failures(
    first: $first
    after: $after
    last: $last
    before: $before
    filter: $filter
  ) {
    edges {
      node {
        ...RunSummary
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
}`) as unknown as TypedDocumentString<FailuresQuery, FailuresQueryVariables>;
export const OperationsDocument = new TypedDocumentString(`
    query Operations($first: Int, $filter: WorkerFilter) {
  queue {
    queued
    due
    running
    oldestDueAt
    waitingWorkspaces
  }
  workers(first: $first, filter: $filter) {
    edges {
      node {
        workerId
        host
        pid
        startedAt
        beatAt
        silentMs
        stoppedAt
        runs
      }
    }
  }
  workspaces(first: $first) {
    edges {
      node {
        id
        name
        createdAt
      }
    }
  }
}
    `) as unknown as TypedDocumentString<OperationsQuery, OperationsQueryVariables>;
export const PublicationRequestsDocument = new TypedDocumentString(`
    query PublicationRequests($first: Int, $after: String, $last: Int, $before: String, $filter: PublicationRequestFilter) {
  publicationRequests(
    first: $first
    after: $after
    last: $last
    before: $before
    filter: $filter
  ) {
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
    `) as unknown as TypedDocumentString<PublicationRequestsQuery, PublicationRequestsQueryVariables>;
export const PublicationRequestDocument = new TypedDocumentString(`
    query PublicationRequest($id: ID!) {
  publicationRequest(id: $id) {
    id
    status
  }
}
    `) as unknown as TypedDocumentString<PublicationRequestQuery, PublicationRequestQueryVariables>;
export const SyncPublicationsDocument = new TypedDocumentString(`
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
    `) as unknown as TypedDocumentString<SyncPublicationsQuery, SyncPublicationsQueryVariables>;
export const RequestPublicationDocument = new TypedDocumentString(`
    mutation RequestPublication($syncId: ID!, $reason: String!) {
  requestPublication(input: {syncId: $syncId, reason: $reason}) {
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
    `) as unknown as TypedDocumentString<RequestPublicationMutation, RequestPublicationMutationVariables>;
export const ApprovePublicationDocument = new TypedDocumentString(`
    mutation ApprovePublication($requestId: ID!) {
  approvePublication(input: {requestId: $requestId}) {
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
    `) as unknown as TypedDocumentString<ApprovePublicationMutation, ApprovePublicationMutationVariables>;
export const RefusePublicationDocument = new TypedDocumentString(`
    mutation RefusePublication($requestId: ID!, $reason: String!) {
  refusePublication(input: {requestId: $requestId, reason: $reason}) {
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
    `) as unknown as TypedDocumentString<RefusePublicationMutation, RefusePublicationMutationVariables>;
export const WithdrawPublicationRequestDocument = new TypedDocumentString(`
    mutation WithdrawPublicationRequest($requestId: ID!, $reason: String!) {
  withdrawPublicationRequest(input: {requestId: $requestId, reason: $reason}) {
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
    `) as unknown as TypedDocumentString<WithdrawPublicationRequestMutation, WithdrawPublicationRequestMutationVariables>;
export const SetPublishingPolicyDocument = new TypedDocumentString(`
    mutation SetPublishingPolicy($needsApproval: Boolean!, $reason: String!) {
  setPublishingPolicy(input: {needsApproval: $needsApproval, reason: $reason}) {
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
    `) as unknown as TypedDocumentString<SetPublishingPolicyMutation, SetPublishingPolicyMutationVariables>;
export const PublishingPolicyDocument = new TypedDocumentString(`
    query PublishingPolicy {
  viewer {
    publishingNeedsApproval
  }
}
    `) as unknown as TypedDocumentString<PublishingPolicyQuery, PublishingPolicyQueryVariables>;
export const PublicationPreviewDocument = new TypedDocumentString(`
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
    `) as unknown as TypedDocumentString<PublicationPreviewQuery, PublicationPreviewQueryVariables>;
export const RejectedRecordsDocument = new TypedDocumentString(`
    query RejectedRecords($syncId: ID!, $states: [RejectedRecordState!], $first: Int, $after: String) {
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
    `) as unknown as TypedDocumentString<RejectedRecordsQuery, RejectedRecordsQueryVariables>;
export const RedriveRecordsDocument = new TypedDocumentString(`
    mutation RedriveRecords($syncId: ID!, $recordIds: [ID!]) {
  redriveRecords(input: {syncId: $syncId, recordIds: $recordIds}) {
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
}`) as unknown as TypedDocumentString<RedriveRecordsMutation, RedriveRecordsMutationVariables>;
export const DiscardRecordsDocument = new TypedDocumentString(`
    mutation DiscardRecords($syncId: ID!, $recordIds: [ID!]!, $reason: String!) {
  discardRecords(input: {syncId: $syncId, recordIds: $recordIds, reason: $reason}) {
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
}`) as unknown as TypedDocumentString<DiscardRecordsMutation, DiscardRecordsMutationVariables>;
export const CancelRunDocument = new TypedDocumentString(`
    mutation CancelRun($runId: ID!, $reason: String!) {
  cancelRun(input: {runId: $runId, reason: $reason}) {
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
}`) as unknown as TypedDocumentString<CancelRunMutation, CancelRunMutationVariables>;
export const CursorResetPreviewDocument = new TypedDocumentString(`
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
    `) as unknown as TypedDocumentString<CursorResetPreviewQuery, CursorResetPreviewQueryVariables>;
export const ResetCursorDocument = new TypedDocumentString(`
    mutation ResetCursor($syncId: ID!, $reason: String!) {
  resetCursor(input: {syncId: $syncId, reason: $reason}) {
    __typename
    ...Changed
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
}`) as unknown as TypedDocumentString<ResetCursorMutation, ResetCursorMutationVariables>;
export const DeliveriesInDoubtDocument = new TypedDocumentString(`
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
}`) as unknown as TypedDocumentString<DeliveriesInDoubtQuery, DeliveriesInDoubtQueryVariables>;
export const RunDeliveriesInDoubtDocument = new TypedDocumentString(`
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
}`) as unknown as TypedDocumentString<RunDeliveriesInDoubtQuery, RunDeliveriesInDoubtQueryVariables>;
export const SettleDeliveryDocument = new TypedDocumentString(`
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
}`) as unknown as TypedDocumentString<SettleDeliveryMutation, SettleDeliveryMutationVariables>;
export const RetryRunsDocument = new TypedDocumentString(`
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
fragment Started on StartedRun {
  started: status
  run {
    id
    status
  }
}`) as unknown as TypedDocumentString<RetryRunsMutation, RetryRunsMutationVariables>;
export const DeliveryDocument = new TypedDocumentString(`
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
}`) as unknown as TypedDocumentString<DeliveryQuery, DeliveryQueryVariables>;
export const DeliveriesDocument = new TypedDocumentString(`
    query Deliveries($syncId: ID!, $record: String!) {
  sync(id: $syncId) {
    deliveries(record: $record) {
      ...Receipt
    }
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
}`) as unknown as TypedDocumentString<DeliveriesQuery, DeliveriesQueryVariables>;
export const SyncRunsDocument = new TypedDocumentString(`
    subscription SyncRuns($syncId: ID!, $after: String) {
  syncRuns(syncId: $syncId, after: $after) {
    __typename
    ...Update
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
fragment Update on RunUpdateEvent {
  ... on RunUpdate {
    sequence
    progress {
      ...Progress
    }
    run {
      id
      status
      sync {
        id
      }
    }
  }
  ... on RunsKeepAlive {
    at
    sequence
  }
}`) as unknown as TypedDocumentString<SyncRunsSubscription, SyncRunsSubscriptionVariables>;
export const WorkspaceRunsDocument = new TypedDocumentString(`
    subscription WorkspaceRuns($after: String) {
  workspaceRuns(after: $after) {
    __typename
    ...Update
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
fragment Update on RunUpdateEvent {
  ... on RunUpdate {
    sequence
    progress {
      ...Progress
    }
    run {
      id
      status
      sync {
        id
      }
    }
  }
  ... on RunsKeepAlive {
    at
    sequence
  }
}`) as unknown as TypedDocumentString<WorkspaceRunsSubscription, WorkspaceRunsSubscriptionVariables>;
export const TestSyncDocument = new TypedDocumentString(`
    mutation TestSync($syncId: ID!, $limit: Int) {
  testSync(input: {syncId: $syncId, limit: $limit}) {
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
    `) as unknown as TypedDocumentString<TestSyncMutation, TestSyncMutationVariables>;
export const TestRunDocument = new TypedDocumentString(`
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
    `) as unknown as TypedDocumentString<TestRunQuery, TestRunQueryVariables>;
export const TokensDocument = new TypedDocumentString(`
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
    `) as unknown as TypedDocumentString<TokensQuery, TokensQueryVariables>;
export const CreateTokenDocument = new TypedDocumentString(`
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
    `) as unknown as TypedDocumentString<CreateTokenMutation, CreateTokenMutationVariables>;
export const RevokeTokenDocument = new TypedDocumentString(`
    mutation RevokeToken($tokenId: ID!, $reason: String!) {
  revokeToken(input: {tokenId: $tokenId, reason: $reason}) {
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
    `) as unknown as TypedDocumentString<RevokeTokenMutation, RevokeTokenMutationVariables>;