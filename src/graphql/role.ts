/** What tokens may do. */
import type { Role } from '../domain/role.ts'
import { builder } from './builder.ts'

export const RoleEnum = builder.enumType('Role', {
  description: 'What a token may do in its workspace. Each may do what those before it may.',
  values: {
    VIEWER: { value: 'viewer', description: 'Reads everything and watches runs and alerts.' },
    OPERATOR: {
      value: 'operator',
      description:
        'Keeps syncs running: retries, runs, pauses, cancels, brings back or gives up what was set aside, settles what is in doubt, acknowledges alerts.',
    },
    PUBLISHER: {
      value: 'publisher',
      description:
        'Changes what syncs do: connections, configurations, what is published, where reading begins.',
    },
    ADMIN: { value: 'admin', description: 'Makes and revokes tokens.' },
  } as const satisfies Record<string, { value: Role; description: string }>,
})
