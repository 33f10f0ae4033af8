/** What a mutation did. */
import { builder } from './builder.ts'

export const CommandStatusEnum = builder.enumType('CommandStatus', {
  description: 'What a mutation did.',
  values: {
    DONE: { value: 'done', description: 'It did what it was asked.' },
    STARTED: { value: 'started', description: 'It queued a run.' },
    WILL_STOP_BY: {
      value: 'will_stop_by',
      description:
        'It asked a running run to stop, which it does by the time that is given beside.',
    },
    NOOP: { value: 'noop', description: 'It was so already: nothing was changed.' },
  } as const,
})
