/** docs/connectors.md lists the options that the connectors take, with their defaults. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createBrevoDestination } from '../../src/connectors/destinations/brevo/brevo-destination.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createPostgresDestination } from '../../src/connectors/destinations/postgres/postgres-destination.ts'
import { createFileSource } from '../../src/connectors/sources/file/file-source.ts'
import { createHttpSource } from '../../src/connectors/sources/http/http-source.ts'
import { createPostgresSource } from '../../src/connectors/sources/postgres/postgres-source.ts'
import { createShopifySource } from '../../src/connectors/sources/shopify/shopify-source.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLocalClient } from '../support/local-client.ts'

const text = readFileSync(new URL('../../docs/connectors.md', import.meta.url), 'utf8')
const file = createFileSource({ rootDirectory: '/' })
const client = createLocalClient()
const http = createHttpDestination({ client })
const httpSource = createHttpSource({ client })
const shopify = createShopifySource({ client, clock: systemClock })
const brevo = createBrevoDestination({ client })
const rows = createPostgresSource({ clock: systemClock })
const table = createPostgresDestination({ clock: systemClock })

describe('docs/connectors.md', () => {
  it.each([
    ['`file` (source)', 'streamOptions', file.streamOptions],
    ['`http` (source)', 'streamOptions', httpSource.streamOptions],
    ['`http` (destination)', 'config', http.connectionConfig],
    ['`http` (destination)', 'credentials', http.credentials],
    ['`http` (destination)', 'objectOptions', http.objectOptions],
    ['`shopify` (source)', 'config', shopify.connectionConfig],
    ['`shopify` (source)', 'credentials', shopify.credentials],
    ['`shopify` (source)', 'streamOptions', shopify.streamOptions],
    ['`brevo` (destination)', 'config', brevo.connectionConfig],
    ['`brevo` (destination)', 'credentials', brevo.credentials],
    ['`brevo` (destination)', 'objectOptions', brevo.objectOptions],
    ['`postgres` (source and destination)', 'config', table.connectionConfig],
    ['`postgres` (source and destination)', 'credentials', table.credentials],
    ['`postgres` (source and destination)', 'streamOptions', rows.streamOptions],
    ['`postgres` (source and destination)', 'objectOptions', table.objectOptions],
  ])('lists under %s the %s, each with its default', (section, title, schema) => {
    const expected = optionsOf(schema)
    expect(expected.length).toBeGreaterThan(0)
    expect(listed(section, title)).toEqual(expected)
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

/** The rows of the first table behind the line of a section that begins with `title`. */
function listed(section: string, title: string): (readonly [string, string])[] {
  const [, part = ''] = text.split(`\n## ${section}\n`)
  const [here = ''] = part.split(/^## /m)
  const [, behind = ''] = here.split(new RegExp(`^\`${title}\`.*:$`, 'm'))
  const table = /^\|[\s\S]*?(?=\n\n)/m.exec(behind)?.[0] ?? ''
  return [...table.matchAll(/^\| `(\w+)` +\| (\S+) +\|/gm)].map(([, name = '', fallback = '']) => [
    name,
    fallback.replaceAll('`', ''),
  ])
}
