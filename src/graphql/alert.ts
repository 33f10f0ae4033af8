/** Alerts: what the watchmen tell people. */
import { type AcknowledgedAlert, acknowledgeAlert } from '../commands/acknowledge-alert.ts'
import { Forbidden, InvalidInput, NotFound } from '../commands/refusals.ts'
import { listAlerts } from '../store/history/alerts.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { CommandStatusEnum } from './command-status.ts'
import { getActor } from './context.ts'
import { encodeGlobalId, readId } from './global-id.ts'
import { AlertType, RunType, SyncType } from './nodes.ts'
import { resolveIdPage } from './paging.ts'

const AlertAudienceEnum = builder.enumType('AlertAudience', {
  description: 'Whom an alert is for.',
  values: {
    TAJO: { value: 'tajo', description: "Tajo's operators, who see it with a token of Tajo's." },
    WORKSPACE: { value: 'workspace', description: 'The people of the workspace.' },
  } as const,
})

const AlertSeverityEnum = builder.enumType('AlertSeverity', {
  description: 'How grave an alert is.',
  values: {
    CRITICAL: {
      value: 'critical',
      description: 'Something does not run any more until somebody acts.',
    },
    WARNING: { value: 'warning', description: 'Somebody should look at it.' },
  } as const,
})

const AlertKindEnum = builder.enumType('AlertKind', {
  description: 'What an alert tells of. Kinds may be added.',
  values: {
    CIRCUIT_BREAKER_TRIPPED: {
      value: 'circuit_breaker_tripped',
      description: 'A sync was paused after failed runs in a row: mend the cause, then publish it.',
    },
    WORKSPACE_SILENT: {
      value: 'workspace_silent',
      description: 'Nothing of a workspace succeeds any more, or its runs are not taken up.',
    },
  } as const,
})

builder.objectType(AlertType, {
  description:
    'Something that will not mend itself. An incident has one alert, which opens once and closes when the incident is over.',
  fields: (t) => ({
    audience: t.expose('audience', { type: AlertAudienceEnum, description: 'Whom it is for.' }),
    severity: t.expose('severity', { type: AlertSeverityEnum, description: 'How grave it is.' }),
    kind: t.expose('kind', { type: AlertKindEnum, description: 'What it tells of.' }),
    title: t.exposeString('title', { description: 'What happened, in a few words.' }),
    message: t.exposeString('message', {
      description: 'What happened, what to do and who has to do it, in full sentences.',
    }),
    facts: t.expose('facts', {
      type: 'JSON',
      description: 'The figures behind it; which ones depends on its kind.',
    }),
    workspaceId: t.id({
      description: 'The id of the workspace that it is about.',
      resolve: ({ workspaceId }) => encodeGlobalId('Workspace', workspaceId),
    }),
    workspaceName: t.exposeString('workspaceName', {
      description:
        "The workspace it is about. For Tajo's operators it may be another one than theirs.",
    }),
    sync: t.field({
      type: SyncType,
      nullable: true,
      description: 'The sync it is about; null for none, and for one of another workspace.',
      resolve: ({ syncId }) => syncId,
    }),
    run: t.field({
      type: RunType,
      nullable: true,
      description: 'The run that raised it; null for none, and for one of another workspace.',
      resolve: ({ runId }) => runId,
    }),
    isOpen: t.boolean({
      description: 'Whether its incident goes on.',
      resolve: ({ closedAt }) => closedAt === null,
    }),
    openedAt: t.expose('openedAt', { type: 'DateTime', description: 'When it was raised.' }),
    closedAt: t.expose('closedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its incident was over; null while it is open.',
    }),
    closing: t.exposeString('closing', {
      nullable: true,
      description: 'Why its incident is over, as one sentence; null while it is open.',
    }),
    acknowledgedAt: t.expose('acknowledgedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when somebody looks after it; null: nobody has said so.',
    }),
    acknowledgedBy: t.exposeString('acknowledgedBy', {
      nullable: true,
      description: 'The name of the token that said so; null: none has.',
    }),
  }),
})

const AlertFilterInput = builder.inputType('AlertFilter', {
  description: 'Which alerts to list. What is not given does not restrict.',
  fields: (t) => ({
    isOpen: t.boolean({ description: 'Only those that are open, or only those that are over.' }),
    kind: t.field({ type: AlertKindEnum, description: 'Alerts of this kind.' }),
    severity: t.field({ type: AlertSeverityEnum, description: 'Alerts that are so grave.' }),
  }),
})

builder.queryField('alerts', (t) =>
  t.connection({
    type: AlertType,
    description:
      "The alerts that are meant for who asks, newest first: those of the workspace; with a token of Tajo's those for Tajo besides, of all workspaces.",
    args: { filter: t.arg({ type: AlertFilterInput, description: 'Which alerts to list.' }) },
    resolve: (_root, args, context) => {
      const { isOpen, kind, severity } = args.filter ?? {}
      const filter = {
        ...(typeof isOpen === 'boolean' ? { isOpen } : {}),
        ...(kind ? { kind } : {}),
        ...(severity ? { severity } : {}),
      }
      return resolveIdPage(args, (page) =>
        listAlerts(context.parts.database, getActor(context), { page, filter }),
      )
    },
  }),
)

const AcknowledgeAlertInput = builder.inputType('AcknowledgeAlertInput', {
  description: 'An alert that somebody looks after.',
  fields: (t) => ({
    alertId: t.id({ required: true, description: 'The id of the alert.' }),
    clientKey: clientKeyField(t),
  }),
})

const AcknowledgedAlertPayload = builder
  .objectRef<AcknowledgedAlert>('AcknowledgedAlert')
  .implement({
    description: 'The alert after it was acknowledged.',
    fields: (t) => ({
      status: t.expose('status', {
        type: CommandStatusEnum,
        description: '`DONE`, or `NOOP`: somebody acknowledged it before.',
      }),
      alert: t.field({
        type: AlertType,
        description: 'The alert.',
        resolve: ({ alertId }) => alertId,
      }),
    }),
  })

builder.mutationField('acknowledgeAlert', (t) =>
  t.field({
    type: AcknowledgedAlertPayload,
    description:
      'Says that somebody looks after an alert. Nothing else changes: it closes when its incident is over.',
    errors: { types: [Forbidden, InvalidInput, NotFound] },
    args: {
      input: t.arg({ type: AcknowledgeAlertInput, required: true, description: 'The alert.' }),
    },
    resolve: (_root, { input }, context) =>
      acknowledgeAlert(context.parts, getActor(context), {
        alertId: readId('Alert', input.alertId, 'alertId'),
        clientKey: input.clientKey,
      }),
  }),
)
