/** Placeholder signature file: replaced in this change. */
import type { JsonObject, JsonValue } from './json.ts'

export interface MappingProblem {
  readonly field: string
  readonly reason: string
}
export type MapResult =
  | { readonly kind: 'mapped'; readonly fields: JsonObject }
  | { readonly kind: 'rejected'; readonly field: string; readonly reason: string }
export interface CompiledMapping {
  readonly sourceFields: readonly string[]
  map(record: JsonObject): MapResult
}
export type CompileResult =
  | { readonly kind: 'compiled'; readonly mapping: CompiledMapping }
  | { readonly kind: 'invalid'; readonly problems: readonly MappingProblem[] }
export declare function compileMapping(definition: JsonValue): CompileResult
