/** docs/connectors.md lists the options that the connectors take, with their defaults. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createFileSource } from '../../src/connectors/sources/file/file-source.ts'
import { createLocalClient } from '../support/local-client.ts'

const text = readFileSync(new URL('../../docs/connectors.md', import.meta.url), 'utf8')
const file = createFileSource({ rootDirectory: '/' })
const http = createHttpDestination({ client: createLocalClient() })

describe('docs/connectors.md', () => {
  it.each([
    ['streamOptions', file.streamOptions],
    ['config', http.connectionConfig],
    ['credentials', http.credentials],
    ['objectOptions', http.objectOptions],
  ])('lists the %s, each with its default', (title, schema) => {
    const expected = optionsOf(schema)
    expect(expected.length).toBeGreaterThan(0)
    expect(listed(title)).toEqual(expected)
  })
})

/** Option and default, – where there is none, in the order of the schema. */
function optionsOf(schema: z.ZodType): (readonly [string, string])[] {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return Object.entries(properties).map(([name, property]) => {
    const fallback = typeof property === 'object' ? property.default : undefined
    return [name, fallback === undefined ? '–' : String(fallback)]
  })
}

/** The rows of the first table behind the line that begins with `title`. */
function listed(title: string): (readonly [string, string])[] {
  const [, behind = ''] = text.split(new RegExp(`^\`${title}\`.*:$`, 'm'))
  const table = /^\|[\s\S]*?(?=\n\n)/m.exec(behind)?.[0] ?? ''
  return [...table.matchAll(/^\| `(\w+)` +\| (\S+) +\|/gm)].map(([, name = '', fallback = '']) => [
    name,
    fallback.replaceAll('`', ''),
  ])
}
