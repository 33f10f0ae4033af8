/** What a run and its progress events have in common: status and counters. */
import type { Counters } from '../domain/delivery.ts'
import { builder } from './builder.ts'

export const RunStatusEnum = builder.enumType('RunStatus', {
  description: 'Where a run stands. Statuses may be added: rely on `isTerminal` and `outcome`.',
  values: {
    QUEUED: { value: 'queued', description: 'Waiting for a worker, or for its next attempt.' },
    RUNNING: { value: 'running', description: 'A worker has it.' },
    SUCCEEDED: { value: 'succeeded', description: 'Every record is where it belongs.' },
    PARTIAL: { value: 'partial', description: 'Some records were not delivered.' },
    FAILED: { value: 'failed', description: 'It ended with a failure.' },
    CANCELED: { value: 'canceled', description: 'A person ended it.' },
  } as const,
})

/** Counts are floats: they may pass the 2³¹ of an Int. */
export const CountersType = builder.objectRef<Counters>('Counters').implement({
  description: 'What became of the records that were read. `read` is always the sum of the others.',
  fields: (t) => ({
    read: t.exposeFloat('read', { description: 'Records read from the source.' }),
    written: t.exposeFloat('written', { description: 'Written to the destination in this run.' }),
    replayed: t.exposeFloat('replayed', {
      description: 'Delivered before, so not sent again.',
    }),
    rejected: t.exposeFloat('rejected', {
      description: 'Refused by the destination, or unreadable.',
    }),
    inDoubt: t.exposeFloat('inDoubt', {
      description: 'Sent, and nobody knows whether they arrived.',
    }),
    quarantined: t.exposeFloat('quarantined', {
      description: 'Set aside in this run, after having been rejected in several runs.',
    }),
    skipped: t.exposeFloat('skipped', {
      description: 'Moved on in the source, superseded by a later record, or set aside before.',
    }),
  }),
})
