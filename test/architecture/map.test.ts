/** src/README.md maps the rooms that there are, and its table says what dependency-cruiser enforces. */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const map = readFileSync(join(ROOT, 'src/README.md'), 'utf8')
const entries = readdirSync(join(ROOT, 'src'), { withFileTypes: true })
const rooms = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)

const Rules = z.object({ forbidden: z.array(z.object({ name: z.string() })) })

describe('src/README.md', () => {
  it('maps every room and every file of the root', () => {
    const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
    const mapped = [...map.matchAll(/^([a-z-]+(?:\/|\.ts)) +\S/gm)].map(([, name]) => name)
    const expected = [...rooms.map((room) => `${room}/`), ...files.filter((f) => f !== 'README.md')]
    expect([...mapped].sort()).toEqual(expected.sort())
  })

  it('has a row of the import table for every room, equal to the rule', () => {
    const { forbidden } = Rules.parse(
      createRequire(import.meta.url)(join(ROOT, '.dependency-cruiser.cjs')),
    )
    // Such as store-imports-only-store+domain+runtime.
    const enforced = forbidden.flatMap(({ name }): [string, string[]][] => {
      const [, room, list] = /^(\w+)-imports-only-(.+)$/.exec(name) ?? []
      return room && list ? [[room, list.split('+').filter((one) => one !== room)]] : []
    })
    const told = new Map(
      [...map.matchAll(/^\| `(\w+)` +\| (.+?) +\|$/gm)].map(([, room = '', cell = '']) => [
        room,
        cell.startsWith('nothing') ? [] : [...cell.matchAll(/`(\w+)`/g)].map(([, one]) => one),
      ]),
    )
    expect([...told.keys()].sort()).toEqual([...rooms].sort())
    expect(enforced.length).toBeGreaterThan(7)
    const existing = enforced.filter(([room]) => rooms.includes(room))
    expect(existing.map(([room]) => [room, told.get(room)])).toEqual(existing)
  })
})
