/** docs/connectors.md lists the options that the connectors take, with their defaults. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createPostgresDestination } from '../../src/connectors/destinations/postgres/postgres-destination.ts'
import { createHttpClient } from '../../src/connectors/http-client.ts'
import { createFileSource } from '../../src/connectors/sources/file/file-source.ts'
import { createPostgresSource } from '../../src/connectors/sources/postgres/postgres-source.ts'
import { systemClock } from '../../src/runtime/clock.ts'

const text = readFileSync(new URL('../../docs/connectors.md', import.meta.url), 'utf8')
const file = createFileSource({ rootDirectory: '/' })
const rows = createPostgresSource({ clock: systemClock })
const table = createPostgresDestination({ clock: systemClock })
const http = createHttpDestination({ client: createHttpClient({ clock: systemClock }) })

describe('docs/connectors.md', () => {
  it.each([
    ['file', 'streamOptions', file.streamOptions],
    ['http', 'config', http.connectionConfig],
    ['http', 'credentials', http.credentials],
    ['http', 'objectOptions', http.objectOptions],
    ['postgres', 'config', table.connectionConfig],
    ['postgres', 'credentials', table.credentials],
    ['postgres', 'streamOptions', rows.streamOptions],
    ['postgres', 'objectOptions', table.objectOptions],
  ])('lists for %s the %s, each with its default', (type, title, schema) => {
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

/** The rows of the first table behind the line of the type's section that begins with `title`. */
function listed(type: string, title: string): (readonly [string, string])[] {
  const [, section = ''] = text.split(new RegExp(`^## \`${type}\`.*$`, 'm'))
  const [, behind = ''] = section.split(new RegExp(`^\`${title}\`.*:$`, 'm'))
  const table = /^\|[\s\S]*?(?=\n\n)/m.exec(behind)?.[0] ?? ''
  return [...table.matchAll(/^\| `(\w+)` +\| (\S+) +\|/gm)].map(([, name = '', fallback = '']) => [
    name,
    fallback.replaceAll('`', ''),
  ])
}
