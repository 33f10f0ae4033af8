/** What Tajo's operators see of all workspaces: the workspaces, the workers, the queue. */
import { requireTajo } from '../commands/require-role.ts'
import {
  countRunsOfWorkers,
  type HistoricWorker,
  type HistoricWorkspace,
  listWorkers,
  listWorkspaces,
  type QueueFigures,
  readQueue,
} from '../store/history/operations.ts'
import { builder } from './builder.ts'
import { getActor } from './context.ts'
import { encodeGlobalId } from './global-id.ts'
import { COLLECT_ONLY } from './nodes.ts'
import { resolveIdPage } from './paging.ts'

const WorkspaceType = builder.objectRef<HistoricWorkspace>('Workspace').implement({
  description: 'A tenant: everything else belongs to exactly one.',
  fields: (t) => ({
    id: t.id({
      description: "What a token of Tajo's names in the header `Tajo-Workspace` to act in it.",
      resolve: ({ id }) => encodeGlobalId('Workspace', id),
    }),
    name: t.exposeString('name', { description: 'Its name.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
  }),
})

const WorkerType = builder.objectRef<HistoricWorker>('Worker').implement({
  description: 'A process that carries out runs.',
  fields: (t) => ({
    workerId: t.exposeString('id', { description: 'The worker, as logs and attempts name it.' }),
    host: t.exposeString('host', { description: 'The machine that it is on.' }),
    pid: t.exposeInt('pid', { description: 'Its process on that machine.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it started.' }),
    beatAt: t.expose('beatAt', {
      type: 'DateTime',
      description: 'When it last said that it is there.',
    }),
    silentMs: t.exposeFloat('silentMs', {
      description:
        'Milliseconds since then. Of one that has not stopped more than a few seconds mean that it is in trouble.',
    }),
    stoppedAt: t.expose('stoppedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended as it should; null: it runs, or was killed.',
    }),
    runs: t.loadable({
      type: 'Int',
      description: 'How many runs it is at.',
      load: async (workerIds: string[], context) => {
        const counts = await countRunsOfWorkers(context.parts.database, workerIds)
        return workerIds.map((id) => counts.get(id) ?? 0)
      },
      loaderOptions: COLLECT_ONLY,
      resolve: ({ id }) => id,
    }),
  }),
})

const QueueType = builder.objectRef<QueueFigures>('Queue').implement({
  description: 'The queue of all workspaces, at this moment.',
  fields: (t) => ({
    queued: t.exposeInt('queued', {
      description: 'How many runs are queued, also those that wait for their next attempt.',
    }),
    due: t.exposeInt('due', {
      description: 'How many of them have come due: a worker could take them.',
    }),
    running: t.exposeInt('running', { description: 'How many runs are running.' }),
    oldestDueAt: t.expose('oldestDueAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when the oldest that has come due waits; null: none waits.',
    }),
    waitingWorkspaces: t.exposeInt('waitingWorkspaces', {
      description: 'How many workspaces have a run that has come due.',
    }),
  }),
})

const WorkerFilterInput = builder.inputType('WorkerFilter', {
  description: 'Which workers to list. What is not given does not restrict.',
  fields: (t) => ({
    isStopped: t.boolean({
      description: 'Only those that have ended as they should, or only the others.',
    }),
  }),
})

builder.queryFields((t) => ({
  workspaces: t.connection({
    type: WorkspaceType,
    description: "The workspaces, newest first. For a token of Tajo's.",
    resolve: (_root, args, context) => {
      requireTajo(getActor(context))
      return resolveIdPage(args, (page) => listWorkspaces(context.parts.database, page))
    },
  }),
  workers: t.connection({
    type: WorkerType,
    description:
      "The processes that carry out runs, newest first, also those that have ended. For a token of Tajo's.",
    args: { filter: t.arg({ type: WorkerFilterInput, description: 'Which workers to list.' }) },
    resolve: (_root, args, context) => {
      requireTajo(getActor(context))
      const isStopped = args.filter?.isStopped ?? null
      return resolveIdPage(args, (page) => listWorkers(context.parts.database, { page, isStopped }))
    },
  }),
  queue: t.field({
    type: QueueType,
    description: "The queue of all workspaces. For a token of Tajo's.",
    resolve: async (_root, _args, context) => {
      requireTajo(getActor(context))
      return await readQueue(context.parts.database)
    },
  }),
}))
