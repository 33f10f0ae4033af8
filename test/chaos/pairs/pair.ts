/**
 * A source and a destination that are run together while their workers are killed: what the storm asks of each end.
 *
 * The rows of the model are numbers: who it is, and which version of it. Everything that an end stores is derived from
 * these, so that what stands at the destination tells which version it came from.
 */
import type { JsonObject } from '../../../src/domain/json.ts'
import type { Chance } from '../seeded.ts'

export interface Row {
  /** From 0. */
  readonly id: number
  /** From 1; a row that changes gets the next one. */
  readonly version: number
}

export interface ConnectionInput {
  readonly type: string
  readonly config: JsonObject
  readonly credentials?: JsonObject
}

/** The values of a mapping that give a row's name, address and version. */
export interface RowFields {
  readonly id: JsonObject
  readonly email: JsonObject
  readonly version: JsonObject
}

export interface PairSource {
  readonly connection: ConnectionInput
  readonly stream: string
  readonly streamOptions: JsonObject
  readonly fields: RowFields
  /** These rows are there from now on, in these versions: one change. */
  put(rows: readonly Row[]): Promise<void>
  /** Null: rows cannot be taken away. */
  readonly remove: ((ids: readonly number[]) => Promise<void>) | null
  close(): Promise<void>
}

export interface PairDestination {
  readonly connection: ConnectionInput
  readonly object: string
  readonly objectOptions: JsonObject
  mapping(fields: RowFields): JsonObject
  /** Every write that took effect, in the order in which they did. */
  writes(): Promise<readonly Row[]>
  /** What is there now. */
  rows(): Promise<readonly Row[]>
  /** No write may take effect twice; else only the same version may, since it writes what is there. */
  readonly isExact: boolean
  /** Share of the calls that meet trouble. */
  setTrouble(share: number): void
  /** Whether it took a write with a key that begins so; null: it knows no keys. */
  readonly hasKey: ((prefix: string) => boolean) | null
  close(): Promise<void>
}

export interface PairSurroundings {
  readonly chance: Chance
  /** Where the file source reads. */
  readonly directory: string
  /**
   * Another server than the product's, for the databases of the ends: a transaction of the product's must not hold up
   * what a source may read.
   */
  openPostgres(): Promise<string>
}

export interface Pair {
  /** What workers need to know of its ends, on top of their environment. */
  readonly environment: Readonly<Record<string, string>>
  readonly source: PairSource
  readonly destination: PairDestination
  readonly pageSize: number
  /** Where nobody can die with this pair, such as in the middle of an import that it does not make. */
  readonly hasImports: boolean
}

export const emailOf = (id: number) => `u${id}@example.com`
