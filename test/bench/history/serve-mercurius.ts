/** Our schema served by Mercurius with its JIT, authenticated as ours is. */
import fastify from 'fastify'
import mercurius from 'mercurius'
import { authenticate } from '../../../src/commands/authenticate.ts'
import type { ApiContext } from '../../../src/graphql/context.ts'
import { apiSchema } from '../../../src/graphql/schema.ts'
import { openParts, SETTINGS } from './serve-ours.ts'

export async function serveMercurius(databaseUrl: string): Promise<string> {
  const parts = await openParts(databaseUrl)
  const server = fastify()
  await server.register(mercurius, {
    schema: apiSchema,
    jit: 1,
    context: async (request): Promise<ApiContext> => {
      const authorization = request.headers.authorization ?? null
      const answer = await authenticate(parts.database, {
        authorization,
        workspaceId: null,
      })
      return {
        parts,
        settings: SETTINGS,
        actor: answer.kind === 'authenticated' ? answer.actor : null,
        isStillAuthenticated: () => Promise.resolve(true),
      }
    },
  })
  return await server.listen({ host: '127.0.0.1', port: 0 })
}
