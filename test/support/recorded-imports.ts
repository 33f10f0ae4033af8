/** The imports of a recording destination: taken in at once, carried out when they are due. */
import { randomUUID } from 'node:crypto'

export interface ImportedWrite {
  readonly key: string
  readonly record: unknown
}

/** What becomes of one record: as in the answer to a page; null: nothing is said of it. */
export type ImportResult = Readonly<Record<string, unknown>> | null

interface RecordedImport {
  readonly id: string
  readonly path: string
  readonly tag: string
  readonly writes: readonly ImportedWrite[]
  readonly of: (write: ImportedWrite) => ImportResult
  results: readonly unknown[] | null
}

export class RecordedImports {
  /** Most imports that were open at once. */
  mostOpen = 0
  /** How long an import takes, in milliseconds; null: until the test finishes it. */
  takesMs: number | null = 0
  /** Forgotten: the API does not know them any more. */
  readonly forgotten = new Set<string>()
  readonly #all: RecordedImport[] = []
  readonly #apply: (write: ImportedWrite, path: string) => void

  constructor(apply: (write: ImportedWrite, path: string) => void) {
    this.#apply = apply
  }

  get ids(): readonly string[] {
    return this.#all.map(({ id }) => id)
  }

  /** `path`: of the request that brought it. */
  take(
    { tag, path }: { readonly tag: string; readonly path: string },
    writes: readonly ImportedWrite[],
    of: (write: ImportedWrite) => ImportResult,
  ): string {
    const one: RecordedImport = { id: randomUUID(), path, tag, writes, of, results: null }
    this.#all.push(one)
    const open = this.#all.filter(({ results }) => results === null).length
    this.mostOpen = Math.max(this.mostOpen, open)
    if (this.takesMs !== null) {
      setTimeout(() => this.finish(one.id), this.takesMs).unref()
    }
    return one.id
  }

  /** Carries the import out: now, however late that is. */
  finish(id: string): void {
    const one = this.#all.find((known) => known.id === id)
    if (!one || one.results !== null) {
      return
    }
    const told = one.writes.map((write) => ({ write, result: one.of(write) }))
    for (const { write, result } of told) {
      if (result?.['status'] === 'written') {
        this.#apply(write, one.path)
      }
    }
    one.results = told.flatMap(({ write: { key }, result }) => (result ? [{ key, ...result }] : []))
  }

  /** As the API answers `GET /imports/<id>`; null: not known. */
  state(id: string): Readonly<Record<string, unknown>> | null {
    const one = this.#all.find((known) => known.id === id && !this.forgotten.has(id))
    if (!one) {
      return null
    }
    return one.results === null
      ? { status: 'running' }
      : { status: 'finished', results: one.results }
  }

  /** As the API answers `GET /imports?tag=<tag>`, newest first. */
  list(tag: string): Readonly<Record<string, unknown>> {
    const found = this.#all
      .filter(({ id, tag: own }) => own === tag && !this.forgotten.has(id))
      .reverse()
    return { imports: found.map(({ id }) => ({ id })) }
  }
}
