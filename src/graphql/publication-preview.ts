/** What a publication would be refused for: as a refusal of the mutations, and told beforehand. */
import type { Preflight } from '../commands/preflight.ts'
import { previewPublication } from '../commands/preview-publication.ts'
import { SystemOutOfReach } from '../commands/refusals.ts'
import { builder } from './builder.ts'
import { getActor } from './context.ts'
import { InputProblemType, RefusalInterface } from './errors.ts'
import { readId } from './global-id.ts'

builder.objectType(SystemOutOfReach, {
  name: 'SystemOutOfReach',
  description:
    'A system of the sync could not be asked whether it would take the version. The same request may be done later, or now with `acceptsUnchecked`.',
  interfaces: [RefusalInterface],
  fields: (t) => ({
    unchecked: t.field({
      type: [InputProblemType],
      description: 'Which connection could not be asked, and why.',
      resolve: (refusal) => [...refusal.unchecked],
    }),
  }),
})

const PreviewType = builder.objectRef<Preflight>('PublicationPreview').implement({
  description: 'Whether the draft of a sync can be published as it is.',
  fields: (t) => ({
    isReady: t.boolean({
      description: 'Whether nothing is wrong with it, as far as could be asked.',
      resolve: ({ problems }) => problems.length === 0,
    }),
    problems: t.field({
      type: [InputProblemType],
      description: 'All that it would be refused for.',
      resolve: ({ problems }) => [...problems],
    }),
    unchecked: t.field({
      type: [InputProblemType],
      description:
        'Which connection could not be asked, and why: nothing is known of what it would say.',
      resolve: ({ unchecked }) => [...unchecked],
    }),
  }),
})

builder.queryField('publicationPreview', (t) =>
  t.field({
    type: PreviewType,
    nullable: true,
    description:
      'What publishSync and requestPublication would refuse the draft of a sync for; null when the workspace has none with this id. Both systems are asked, within 15 s. For an `OPERATOR` or more.',
    args: { syncId: t.arg.id({ required: true, description: 'The id of a sync.' }) },
    resolve: (_root, { syncId }, context) =>
      previewPublication(context.parts, getActor(context), readId('Sync', syncId, 'syncId')),
  }),
)

export const ACCEPTS_UNCHECKED =
  'Do it also where a system is out of reach, so that nobody can tell whether it would take the version. What is known to be wrong is refused all the same.'

/** Not given and false are the same request. */
export function readAcceptsUnchecked(given: boolean | null | undefined): {
  readonly acceptsUnchecked?: true
} {
  return given === true ? { acceptsUnchecked: true } : {}
}
