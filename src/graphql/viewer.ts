/** Who asks. */
import { findWorkspaceName } from '../store/history/syncs.ts'
import { builder } from './builder.ts'
import { getActor } from './context.ts'

interface Viewer {
  readonly workspaceName: string
  readonly tokenName: string
}

const ViewerType = builder.objectRef<Viewer>('Viewer').implement({
  description: 'Who asks: a token, and the workspace that it opens.',
  fields: (t) => ({
    workspaceName: t.exposeString('workspaceName', { description: 'The name of the workspace.' }),
    tokenName: t.exposeString('tokenName', {
      description: 'The name of the token. What it does is audited under this name.',
    }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: ViewerType,
    description: 'Who asks.',
    resolve: async (_root, _args, context) => {
      const { workspaceId, tokenName } = getActor(context)
      const workspaceName = await findWorkspaceName(context.parts.database, workspaceId)
      return { workspaceName: workspaceName ?? '', tokenName }
    },
  }),
)
