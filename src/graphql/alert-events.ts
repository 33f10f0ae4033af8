/** The subscription that tells of alerts. */
import { GraphQLError } from 'graphql'
import { listMovingAlerts, type MovingAlert } from '../store/history/alerts.ts'
import { builder } from './builder.ts'
import { type ApiContext, assertStillAuthenticated, getActor } from './context.ts'
import { type AlertChange, type AlertStreamEvent, followAlerts } from './follow-alerts.ts'
import { KeepAliveType } from './keep-alive.ts'
import { AlertType } from './nodes.ts'

const AlertChangeEnum = builder.enumType('AlertChange', {
  description: 'What became of an alert.',
  values: {
    OPEN: { value: 'open', description: 'It was open when the stream began.' },
    OPENED: { value: 'opened', description: 'It was raised.' },
    ACKNOWLEDGED: { value: 'acknowledged', description: 'Somebody looks after it.' },
    CLOSED: {
      value: 'closed',
      description:
        'Its incident is over. Of one that was over as soon as it was raised, this is the only event.',
    },
  } as const,
})

const AlertUpdateType = builder
  .objectRef<{ readonly change: AlertChange; readonly alert: MovingAlert }>('AlertUpdate')
  .implement({
    description: 'That an alert is there, or has changed.',
    fields: (t) => ({
      change: t.expose('change', { type: AlertChangeEnum, description: 'What became of it.' }),
      alert: t.field({
        type: AlertType,
        description: 'The alert, as it stands now.',
        resolve: ({ alert }) => alert,
      }),
    }),
  })

const AlertEvent = builder.unionType('AlertEvent', {
  description: 'What is sent while alerts are watched.',
  types: [AlertUpdateType, KeepAliveType],
  resolveType: (event) => ('at' in event ? KeepAliveType : AlertUpdateType),
})

builder.subscriptionField('alerts', (t) =>
  t.field({
    type: AlertEvent,
    description:
      'Watches the alerts that are meant for who asks: first those that are open, oldest first, then a keep-alive, then each change. A stream that broke is opened again: it begins with what is open then.',
    subscribe: (_root, _args, context) => subscribe(context),
    resolve: (event: AlertStreamEvent, _args, { parts }) =>
      event.kind === 'alert' ? event : { at: parts.clock.now() },
  }),
)

function subscribe(context: ApiContext): AsyncIterableIterator<AlertStreamEvent> {
  const { bus, clock } = context.parts
  return followAlerts({
    bus,
    clock,
    keepAliveMs: context.settings.keepAliveMs,
    read: (withinMs) => readAll(context, withinMs),
    assertAllowed: () => assertStillAuthenticated(context),
  })
}

const READ_AT_ONCE = 500
/** Each stream keeps what it has told of, and reads all of it at each change. */
const MAX_WATCHED = 5_000

/** Throws TOO_MANY_ALERTS: to tell of some only would be to lose the others. */
async function readAll(context: ApiContext, withinMs: number): Promise<readonly MovingAlert[]> {
  const { database } = context.parts
  const alerts: MovingAlert[] = []
  for (;;) {
    const after = alerts.at(-1)?.id ?? null
    const page = { withinMs, after, limit: READ_AT_ONCE }
    const read = await listMovingAlerts(database, getActor(context), page)
    alerts.push(...read)
    if (read.length < READ_AT_ONCE) {
      return alerts
    }
    if (alerts.length >= MAX_WATCHED) {
      throw new GraphQLError(
        `${MAX_WATCHED.toLocaleString('en')} alerts or more are open or have just changed: list them with the query "alerts", and watch them again when there are fewer.`,
        { extensions: { code: 'TOO_MANY_ALERTS' } },
      )
    }
  }
}
