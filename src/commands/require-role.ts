/** Who may do what. Every command that somebody calls begins with it. */
import { includesRole, type Role } from '../domain/role.ts'
import type { Actor } from './context.ts'
import { Forbidden, ForTajoOnly } from './refusals.ts'

/** Throws {@link Forbidden}, before anything else is said about what was asked for. */
export function requireRole(actor: Actor, needed: Role): void {
  if (!includesRole(actor.role, needed)) {
    throw new Forbidden({ tokenName: actor.tokenName, role: actor.role, needed })
  }
}

/** Throws {@link ForTajoOnly}: it is about all workspaces. */
export function requireTajo(actor: Actor): void {
  if (!actor.isTajo) {
    throw new ForTajoOnly()
  }
}
