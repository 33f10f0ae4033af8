/** What a stream sends while it has nothing to tell. */
import type { Instant } from '../runtime/clock.ts'
import { builder } from './builder.ts'

export const KeepAliveType = builder.objectRef<{ readonly at: Instant }>('KeepAlive').implement({
  description: 'Nothing has changed. Comes at least every 15 seconds while nothing else does.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When it was sent.' }),
  }),
})
