/** An `http` source over a stand-in, and readings of it as runs do them. */

import { expect } from 'vitest'
import type { OpenGate } from '../../src/connectors/call-gate.ts'
import type { ReadResult, SourceReader } from '../../src/connectors/source.ts'
import { createHttpSource } from '../../src/connectors/sources/http/http-source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { createLocalClient } from './local-client.ts'
import { openConnection } from './open-connection.ts'
import { type PagedApi, type PagedApiOptions, startPagedApi } from './paged-api.ts'

export const BY_TOKEN: JsonObject = {
  ...{ paging: 'CURSOR', nextPath: 'paging.next', cursorParameter: 'cursor' },
  ...{ recordsPath: 'items', identityField: 'id' },
}
export const BY_NUMBER: JsonObject = {
  ...{ paging: 'PAGE', pageParameter: 'page', recordsPath: 'items', identityField: 'id' },
}
export const BY_LINK: JsonObject = { paging: 'LINK', identityField: 'id' }
export const SINCE: JsonObject = { watermarkField: 'at', watermarkParameter: 'since' }

export interface HttpStream {
  readonly api: PagedApi
  open(options: JsonObject, given?: { credentials?: JsonObject }): Promise<SourceReader>
  /** Identities that one run reads, and where it ends. */
  run(
    options: JsonObject,
    from?: string | null,
  ): Promise<{ readonly read: readonly string[]; readonly reached: string | null }>
  close(): Promise<void>
}

export async function startHttpStream(
  served: PagedApiOptions,
  parts: { readonly clock?: Clock; readonly openGate?: OpenGate } = {},
): Promise<HttpStream> {
  const client = createLocalClient()
  const source = createHttpSource({ client, ...parts })
  const api = await startPagedApi(served)
  const open: HttpStream['open'] = (options, { credentials = {} } = {}) =>
    source.open({
      ...openConnection({ config: { baseUrl: api.baseUrl }, credentials }),
      stream: '/people',
      options: source.streamOptions.parse(options),
    })
  return {
    api,
    open,
    run: async (options, from = null) => {
      const reader = await open(options)
      const read: string[] = []
      let reached = from
      for (let page = await readOn(reader, reached); page; page = await readOn(reader, reached)) {
        read.push(...page.records.map(({ identity }) => identity))
        reached = page.to
      }
      await reader.close()
      return { read, reached }
    },
    close: async () => {
      client.close()
      await api.close()
    },
  }
}

export async function readOn(
  reader: SourceReader,
  from: string | null,
  limit = 100,
): Promise<Extract<ReadResult, { kind: 'page' }> | null> {
  const { signal } = new AbortController()
  const result = await reader.readPage({ from, to: null, limit, signal })
  expect(result.kind).not.toBe('gone')
  return result.kind === 'page' ? result : null
}
