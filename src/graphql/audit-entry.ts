/** The audit trail: every change of state, by a person or a machine. */
import { checkText, MAX_NAME_LENGTH } from '../commands/input-checks.ts'
import { InvalidInput } from '../commands/refusals.ts'
import { includesRole } from '../domain/role.ts'
import type { AuditSubject } from '../store/audit.ts'
import {
  type AuditFilter,
  type HistoricAuditEntry,
  listAuditEntries,
} from '../store/history/audit.ts'
import { builder } from './builder.ts'
import { type ApiContext, getActor } from './context.ts'
import { encodeGlobalId, type IdType, parseGlobalId } from './global-id.ts'
import { AccessTokenType, AlertType, ConnectionType, RunType, SyncType } from './nodes.ts'
import { resolveIdPage } from './paging.ts'

const AuditSubjectTypeEnum = builder.enumType('AuditSubjectType', {
  description: 'What kind of thing was changed.',
  values: {
    CONNECTION: { value: 'connection', description: 'A connection.' },
    SYNC: { value: 'sync', description: 'A sync, with its configuration and its list.' },
    RUN: { value: 'run', description: 'A run.' },
    INTENT: { value: 'intent', description: 'A call to a destination that was in doubt.' },
    ACCESS_TOKEN: { value: 'access_token', description: 'A token.' },
    WORKSPACE: { value: 'workspace', description: 'The workspace.' },
    ALERT: { value: 'alert', description: 'An alert.' },
  } as const satisfies Record<string, { value: AuditSubject; description: string }>,
})

/** As ids name them. */
const ID_TYPES = {
  connection: 'Connection',
  sync: 'Sync',
  run: 'Run',
  intent: 'Intent',
  access_token: 'AccessToken',
  workspace: 'Workspace',
  alert: 'Alert',
} as const satisfies Record<AuditSubject, IdType>

const AuditSubjectUnion = builder.unionType('AuditSubject', {
  description: 'What was changed, where it can be asked for.',
  types: [AccessTokenType, AlertType, ConnectionType, RunType, SyncType],
  resolveType: (subject) => {
    if ('draft' in subject) {
      return SyncType
    }
    if ('audience' in subject) {
      return AlertType
    }
    if ('isUsable' in subject) {
      return AccessTokenType
    }
    return 'attemptAllowance' in subject ? RunType : ConnectionType
  },
})

const AuditEntryType = builder.objectRef<HistoricAuditEntry>('AuditEntry').implement({
  description: 'One change of state: who did what to what, when and why.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When it was done.' }),
    actor: t.exposeString('actor', {
      description: 'The name of the token that acted; `tajo`: a machine, or who runs Tajo.',
    }),
    action: t.exposeString('action', {
      description: 'What was done: the mutation, or what a machine did, such as `pauseSync`.',
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Why, in the words of whoever acted; null: nobody was asked.',
    }),
    subjectType: t.field({
      type: AuditSubjectTypeEnum,
      description: 'What kind of thing was changed.',
      resolve: subjectTypeOf,
    }),
    subjectId: t.id({
      description: 'The id of what was changed.',
      resolve: (entry) => encodeGlobalId(ID_TYPES[subjectTypeOf(entry)], entry.subjectId),
    }),
    subject: t.field({
      type: AuditSubjectUnion,
      nullable: true,
      description: 'What was changed, as it is now; null for what cannot be asked for.',
      resolve: (entry, _args, context) => findSubject(entry, context),
    }),
    before: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'What it was before, as far as it was changed; null: nothing. Of a token only an `ADMIN` is told.',
      resolve: (entry, _args, context) => (mayBeTold(entry, context) ? entry.before : null),
    }),
    after: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'What it is since; null: nothing that could be told. Of a token only an `ADMIN` is told.',
      resolve: (entry, _args, context) => (mayBeTold(entry, context) ? entry.after : null),
    }),
  }),
})

function mayBeTold(entry: HistoricAuditEntry, context: ApiContext): boolean {
  return subjectTypeOf(entry) !== 'access_token' || includesRole(getActor(context).role, 'admin')
}

function subjectTypeOf({ subjectType }: HistoricAuditEntry): AuditSubject {
  return subjectType as AuditSubject
}

async function findSubject(entry: HistoricAuditEntry, context: ApiContext) {
  const { subjectId } = entry
  switch (subjectTypeOf(entry)) {
    case 'connection':
      return await ConnectionType.getDataloader(context).load(subjectId)
    case 'access_token':
      return await AccessTokenType.getDataloader(context).load(subjectId)
    case 'alert':
      return await AlertType.getDataloader(context).load(subjectId)
    case 'sync':
      return await SyncType.getDataloader(context).load(subjectId)
    case 'run':
      return await RunType.getDataloader(context).load(subjectId)
    default:
      return null
  }
}

const AuditFilterInput = builder.inputType('AuditFilter', {
  description: 'Which entries to list. What is not given does not restrict.',
  fields: (t) => ({
    subjectType: t.field({
      type: AuditSubjectTypeEnum,
      description: 'Changes of this kind of thing.',
    }),
    subjectId: t.id({ description: 'Changes of this very thing.' }),
    actor: t.string({ description: 'What was done with the token of this name, or by `tajo`.' }),
    action: t.string({ description: 'What was done by this mutation or verb.' }),
    from: t.field({ type: 'DateTime', description: 'What was done at this moment or later.' }),
    to: t.field({ type: 'DateTime', description: 'What was done before this moment.' }),
  }),
})

builder.queryField('auditEntries', (t) =>
  t.connection({
    type: AuditEntryType,
    description: 'What was changed in the workspace, by whom and why, newest first.',
    args: { filter: t.arg({ type: AuditFilterInput, description: 'Which entries to list.' }) },
    resolve: (_root, args, context) => {
      const filter = readFilter(args.filter ?? {})
      return resolveIdPage(args, (page) =>
        listAuditEntries(context.parts.database, getActor(context).workspaceId, { page, filter }),
      )
    },
  }),
)

function readFilter(given: typeof AuditFilterInput.$inferInput): AuditFilter {
  const { subjectType, subjectId, actor, action, from, to } = given
  const problems = Object.entries({ actor, action }).flatMap(([name, text]) =>
    typeof text === 'string' ? checkText(`filter.${name}`, text, MAX_NAME_LENGTH) : [],
  )
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  return {
    ...(subjectType ? { subjectType } : {}),
    ...(typeof subjectId === 'string' ? { subjectId: readSubjectId(subjectId) } : {}),
    ...(typeof actor === 'string' ? { actor } : {}),
    ...(typeof action === 'string' ? { action } : {}),
    ...(from ? { from } : {}),
    ...(to ? { to } : {}),
  }
}

/** Of any type that has entries: ids of different types are never the same. */
function readSubjectId(text: string): string {
  const parsed = parseGlobalId(text)
  if (!parsed) {
    const reason = 'It must be the id of something that can be changed, such as a sync.'
    throw new InvalidInput([{ field: 'filter.subjectId', reason }])
  }
  return parsed.id
}
