/**
 * A database whose connections end at a named statement: its backend is terminated before it runs, or when
 * it is committed and its answer is under way. Of a transaction each statement can be cut, before and after it,
 * and the transaction itself by its name: before it begins, and when it is committed. Nothing is pretended: the
 * connection is the caller's own, the error is the driver's.
 */
import { sql } from 'drizzle-orm'
import type { Database, Handle } from '../../src/store/database.ts'
import { nameOf } from './statement-name.ts'

export interface Cut {
  /** `file.function`, as the statement calls itself. */
  readonly name: string
  readonly when: 'before' | 'after'
  /** The first such statement that is cut, counted from 1, the default. */
  readonly from?: number
  /** How many are cut from there on. Default 1. */
  readonly times?: number
}

export interface CutDatabase {
  readonly database: Database
  /** Every name that was asked for, whether it was cut or not. */
  readonly names: ReadonlySet<string>
  /** How many connections were ended. */
  readonly cuts: () => number
  cut(...cuts: readonly Cut[]): void
}

export function createCutDatabase(database: Database): CutDatabase {
  const names = new Set<string>()
  const wanted: Cut[] = []
  const asked = new Map<Cut, number>()
  let cuts = 0
  /** Ends a connection, if that is wanted where a statement of the name is. */
  const endConnection = async (name: string | null, when: Cut['when'], on: Handle = database) => {
    for (const cut of wanted.filter((one) => one.name === name && one.when === when)) {
      const nth = (asked.get(cut) ?? 0) + 1
      asked.set(cut, nth)
      const { from = 1, times = 1 } = cut
      if (nth >= from && nth < from + times) {
        cuts += 1
        await on.rows(sql`select pg_terminate_backend(pg_backend_pid())`)
      }
    }
  }
  const rowsOn =
    (handle: Handle): Handle['rows'] =>
    async (statement) => {
      const name = nameOf(statement)
      names.add(name ?? '')
      await endConnection(name, 'before', handle)
      const rows = await handle.rows(statement)
      await endConnection(name, 'after', handle)
      return rows as never
    }
  return {
    names,
    cuts: () => cuts,
    cut: (...cutsToCome) => {
      wanted.push(...cutsToCome)
    },
    database: {
      ...database,
      rows: rowsOn(database),
      transaction: async (name, work) => {
        names.add(name)
        await endConnection(name, 'before')
        const result = await database.transaction(name, (tx) => work({ ...tx, rows: rowsOn(tx) }))
        await endConnection(name, 'after')
        return result
      },
    },
  }
}
