/** What a mutation did. */
import { builder } from './builder.ts'

export const CommandStatusEnum = builder.enumType('CommandStatus', {
  description: 'What a mutation did.',
  values: {
    DONE: { value: 'done', description: 'It did what it was asked.' },
    STARTED: { value: 'started', description: 'It queued a run.' },
    NOOP: { value: 'noop', description: 'It was so already: nothing was changed.' },
  } as const,
})
