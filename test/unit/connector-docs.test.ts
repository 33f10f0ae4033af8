/** docs/connectors.md lists the options that the connectors take, with their defaults. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createHttpClient } from '../../src/connectors/http-client.ts'
import { createFileSource } from '../../src/connectors/sources/file/file-source.ts'
import { createShopifySource } from '../../src/connectors/sources/shopify/shopify-source.ts'
import { systemClock } from '../../src/runtime/clock.ts'

const text = readFileSync(new URL('../../docs/connectors.md', import.meta.url), 'utf8')
const file = createFileSource({ rootDirectory: '/' })
const client = createHttpClient({ clock: systemClock })
const shopify = createShopifySource({ client, clock: systemClock })
const http = createHttpDestination({ client })

describe('docs/connectors.md', () => {
  it.each([
    ['file', 'streamOptions', file.streamOptions],
    ['shopify', 'config', shopify.connectionConfig],
    ['shopify', 'credentials', shopify.credentials],
    ['shopify', 'streamOptions', shopify.streamOptions],
    ['http', 'config', http.connectionConfig],
    ['http', 'credentials', http.credentials],
    ['http', 'objectOptions', http.objectOptions],
  ])('lists of %s the %s, each with its default', (type, title, schema) => {
    const expected = optionsOf(schema)
    expect(expected.length).toBeGreaterThan(0)
    expect(listed(type, title)).toEqual(expected)
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

/** The rows of the first table behind the line that begins with `title`, in the section of a type. */
function listed(type: string, title: string): (readonly [string, string])[] {
  const [, section = ''] = text.split(new RegExp(`^## \`${type}\` .*$`, 'm'))
  const [, behind = ''] = section.split(new RegExp(`^\`${title}\`.*:$`, 'm'))
  const table = /^\|[\s\S]*?(?=\n\n)/m.exec(behind)?.[0] ?? ''
  return [...table.matchAll(/^\| `(\w+)` +\| (\S+) +\|/gm)].map(([, name = '', fallback = '']) => [
    name,
    fallback.replaceAll('`', ''),
  ])
}
