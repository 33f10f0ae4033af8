/** The README's settings and links are those that exist. Its GraphQL is run in test/e2e/readme.test.ts. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ENVIRONMENT } from '../../src/config.ts'
import { FAULT_POINTS } from '../../src/engine/fault-points.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')

/** Variable and default, – where there is none. */
const settings = [...readme.matchAll(/^\| `([A-Z_]+)` +\| (\S+) +\| .+ \|$/gm)].map(
  ([, variable = '', fallback = '']) => [variable, fallback.replaceAll('`', '')],
)

describe('README.md', () => {
  it('lists every setting with its default, and no other', () => {
    const { properties = {} } = z.toJSONSchema(ENVIRONMENT, { io: 'input', unrepresentable: 'any' })
    const expected = Object.entries(properties).map(([variable, schema]) => {
      const fallback = typeof schema === 'object' ? schema.default : undefined
      return [variable, fallback === undefined ? '–' : String(fallback)]
    })
    expect(expected.length).toBeGreaterThan(15)
    expect([...settings].sort()).toEqual([...expected].sort())
  })

  it('draws every room of the app', () => {
    const picture = /^```mermaid\n([\s\S]*?)^```$/m.exec(readme)?.[1] ?? ''
    const rooms = readdirSync(join(ROOT, 'src')).filter(
      (name) => statSync(join(ROOT, 'src', name)).isDirectory() && !OUTSIDE_THE_APP.has(name),
    )
    expect(rooms.length).toBeGreaterThan(5)
    expect(rooms.filter((room) => !new RegExp(`\\b${room}\\b`).test(picture))).toEqual([])
  })
})

describe('the documents', () => {
  it.each(['README.md', 'CHANGELOG.md', 'src/README.md', 'src/engine/README.md', ...listDocs()])(
    '%s links to files that exist',
    (path) => {
      const text = readFileSync(join(ROOT, path), 'utf8')
      const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link)
      const broken = links.filter((link) => !existsSync(join(ROOT, dirname(path), link)))
      expect(broken).toEqual([])
    },
  )

  it('tell of every fault point what a crash there leaves behind', () => {
    const text = readFileSync(join(ROOT, 'src/engine/README.md'), 'utf8')
    const told = [...text.matchAll(/^\| `(\w+)` +\|/gm)].map(([, point]) => point)
    expect(told).toEqual([...FAULT_POINTS])
  })
})

const OUTSIDE_THE_APP = new Set(['client', 'demo'])

function listDocs(): string[] {
  return readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path))
}
