/**
 * The contract of a source: somebody else's records, read page by page from a cursor.
 *
 * Invariants: a cursor is opaque to everybody but its source, and stable: reading the range between
 * two cursors again returns the records that lie there now. A page of an end is never returned for a
 * read that did not finish: what cannot be read throws ConnectorError.
 */
import type { z } from 'zod'
import type { JsonObject } from '../domain/json.ts'
import type { SourceRecord } from '../domain/page.ts'
import type { Connector, OpenConnection } from './connector.ts'

export interface ReadRequest {
  /** Where to read from; null: the beginning. */
  readonly from: string | null
  /** At most so many records (1 to 10,000). Ignored where `to` is given: then the whole range is read. */
  readonly limit: number
  /** The end of a page that was read before: nothing past it is returned. Null: as far as `limit` allows. */
  readonly to: string | null
  readonly signal: AbortSignal
}

export type ReadResult =
  /**
   * `from` is the cursor of the page as the source resolves it: never null, and another one than was
   * asked for when the source had to start over (a file that was replaced).
   */
  | {
      readonly kind: 'page'
      readonly from: string
      readonly to: string
      readonly records: readonly SourceRecord[]
    }
  /** Nothing lies behind `from`. A success with nothing to read. */
  | { readonly kind: 'end' }
  /** The range `from`–`to` does not exist any more (only where `to` was given). */
  | { readonly kind: 'gone'; readonly reason: string }

export interface SourceReader {
  readPage(request: ReadRequest): Promise<ReadResult>
  /** Records in the whole stream, where the source can tell cheaply. */
  readonly totalRecords: number | null
  /** The names of the fields that the stream's records have; null: the source cannot tell. Throws {@link ConnectorError}. */
  listFields(): Promise<readonly string[] | null>
  close(): Promise<void>
}

export interface OpenSource extends OpenConnection {
  readonly stream: string
  /** As validated by `streamOptions`. */
  readonly options: JsonObject
}

export interface SourceConnector extends Connector {
  readonly streamOptions: z.ZodType<JsonObject>
  /**
   * What is wrong with the stream, as one sentence, or null. Called when a sync is saved. `options`:
   * as validated by `streamOptions`; without them a source cannot tell what the stream consists of.
   */
  describeStreamProblem(stream: string, options: JsonObject): Promise<string | null>
  /**
   * The names of the fields that the stream's records have, so that a mapping that reads another one is
   * refused when it is saved; null: the source cannot tell without asking somebody, and then its reader can. Asked
   * after no problem was found.
   */
  listFields(stream: string, options: JsonObject): Promise<readonly string[] | null>
  open(request: OpenSource): Promise<SourceReader>
}
