/** Who asks. */
import type { Role } from '../domain/role.ts'
import { findWorkspaceName } from '../store/history/syncs.ts'
import { builder } from './builder.ts'
import { getActor } from './context.ts'
import { encodeGlobalId } from './global-id.ts'
import { RoleEnum } from './role.ts'

interface Viewer {
  readonly workspaceId: string
  readonly workspaceName: string
  readonly tokenName: string
  readonly role: Role
  readonly isTajo: boolean
}

export const ViewerType = builder.objectRef<Viewer>('Viewer').implement({
  description: 'Who asks: a token, and the workspace that it opens.',
  fields: (t) => ({
    workspaceId: t.id({
      description: 'The id of the workspace.',
      resolve: ({ workspaceId }) => encodeGlobalId('Workspace', workspaceId),
    }),
    workspaceName: t.exposeString('workspaceName', { description: 'The name of the workspace.' }),
    tokenName: t.exposeString('tokenName', {
      description:
        'The name of the token. What it does is audited under this name; in another workspace than its own it begins with `tajo: `.',
    }),
    role: t.expose('role', { type: RoleEnum, description: 'What it may do.' }),
    isTajo: t.exposeBoolean('isTajo', {
      description:
        "Whether the token is of Tajo's operators: then it sees what concerns them of all workspaces, and may act in another one by the header `Tajo-Workspace`.",
    }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: ViewerType,
    description: 'Who asks.',
    resolve: async (_root, _args, context) => {
      const { workspaceId, tokenName, role, isTajo } = getActor(context)
      const workspaceName = await findWorkspaceName(context.parts.database, workspaceId)
      return { workspaceId, workspaceName: workspaceName ?? '', tokenName, role, isTajo }
    },
  }),
)
