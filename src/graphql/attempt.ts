/** Attempts: the tries of a run by workers. */
import type { HistoricAttempt } from '../store/history/run-pages.ts'
import { builder } from './builder.ts'
import { RunFailureType, toRunFailure } from './failure.ts'

const AttemptOutcomeEnum = builder.enumType('AttemptOutcome', {
  description: 'How an attempt ended.',
  values: {
    COMPLETED: { value: 'completed', description: 'It read the source to its end.' },
    POSTPONED: { value: 'postponed', description: 'It failed, and another attempt follows.' },
    FAILED: { value: 'failed', description: 'It failed, and the run with it.' },
    RELEASED: {
      value: 'released',
      description:
        'Its worker was stopping, or had lost its database, and handed the run back; it does not count.',
    },
    RECOVERED: {
      value: 'recovered',
      description: 'Its worker fell silent, and the run was handed on; it does not count.',
    },
    SWEPT: { value: 'swept', description: 'It stopped reporting, and the run was closed.' },
    CANCELED: { value: 'canceled', description: 'A person canceled the run.' },
  } as const,
})

export const AttemptType = builder.objectRef<HistoricAttempt>('Attempt').implement({
  description: 'One try of a run by one worker.',
  fields: (t) => ({
    number: t.exposeInt('number', { description: 'Counts from 1 within the run.' }),
    workerId: t.exposeString('workerId', { description: 'The worker, as logs name it.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it began.' }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended; null while it lasts.',
    }),
    outcome: t.expose('outcome', {
      type: AttemptOutcomeEnum,
      nullable: true,
      description: 'How it ended; null while it lasts.',
    }),
    failure: t.field({
      type: RunFailureType,
      nullable: true,
      description: 'Why it failed, or was handed back; null when there is nothing to tell.',
      resolve: (attempt) => toRunFailure(attempt.runId, attempt),
    }),
  }),
})
