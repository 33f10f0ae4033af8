/** Who asks. */
import type { Role } from '../domain/role.ts'
import { findWorkspaceName } from '../store/history/syncs.ts'
import { builder } from './builder.ts'
import { getActor } from './context.ts'
import { RoleEnum } from './role.ts'

interface Viewer {
  readonly workspaceName: string
  readonly tokenName: string
  readonly role: Role
  readonly isTajo: boolean
}

export const ViewerType = builder.objectRef<Viewer>('Viewer').implement({
  description: 'Who asks: a token, and the workspace that it opens.',
  fields: (t) => ({
    workspaceName: t.exposeString('workspaceName', { description: 'The name of the workspace.' }),
    tokenName: t.exposeString('tokenName', {
      description: 'The name of the token. What it does is audited under this name.',
    }),
    role: t.expose('role', { type: RoleEnum, description: 'What it may do.' }),
    isTajo: t.exposeBoolean('isTajo', {
      description:
        "Whether the token is of Tajo's operators: then it sees the alerts for them, of all workspaces.",
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
      return { workspaceName: workspaceName ?? '', tokenName, role, isTajo }
    },
  }),
)
