/** docs/invariants.md, the code and the tests name the same invariants. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DOCUMENT = readFileSync(join(ROOT, 'docs/invariants.md'), 'utf8')

interface Invariant {
  readonly id: string
  readonly keptBy: readonly string[]
  readonly attackedBy: readonly string[]
}

const invariants: readonly Invariant[] = [
  ...DOCUMENT.matchAll(/^\| (I\d+) +\| .+? \| (.+?) \| (.+?) \|$/gm),
].map(([, id = '', keptBy = '', attackedBy = '']) => ({
  id,
  keptBy: readLinks(keptBy),
  attackedBy: readLinks(attackedBy),
}))
const ids = invariants.map(({ id }) => id)

describe('docs/invariants.md', () => {
  it('numbers its invariants without a gap', () => {
    expect(ids.length).toBeGreaterThan(7)
    expect(ids).toEqual(ids.map((_, index) => `I${index + 1}`))
  })

  it.each(invariants)(
    '$id is kept by code that cites it, and attacked by a test that does',
    ({ id, keptBy, attackedBy }) => {
      expect(keptBy.length > 0 && keptBy.every((path) => path.startsWith('src/'))).toBe(true)
      expect(attackedBy.length > 0 && attackedBy.every((path) => path.startsWith('test/'))).toBe(
        true,
      )
      expect([...keptBy, ...attackedBy].filter((path) => !cites(path, id))).toEqual([])
    },
  )

  it('holds every invariant that is cited anywhere', () => {
    const cited = ['src', 'test'].flatMap(listFiles).flatMap(citationsOf)
    expect([...new Set(cited)].filter((id) => !ids.includes(id))).toEqual([])
  })
})

function readLinks(cell: string): readonly string[] {
  return [...cell.matchAll(/\]\(\.\.\/([^)]+)\)/g)].map(([, path = '']) => path)
}

function cites(path: string, id: string): boolean {
  return existsSync(join(ROOT, path)) && citationsOf(path).includes(id)
}

/** `(I1)`, and `(I1, I2)` where a sentence tells of two. */
function citationsOf(path: string): readonly string[] {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return [...text.matchAll(/\((I\d+(?:, I\d+)*)\)/g)].flatMap(([, list = '']) => list.split(', '))
}

function listFiles(directory: string): readonly string[] {
  return readdirSync(join(ROOT, directory), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|js)$/.test(path))
    .map((path) => join(directory, path))
}
