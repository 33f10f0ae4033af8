/** The programs that tests start, as they were built before the tests: what holds for them as for their sources. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { startScript } from '../support/processes.ts'
import { findBuilt, ON_DEMAND, PROGRAMS } from '../support/programs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAIN = findBuilt('src/main.ts')
const BUILT = dirname(dirname(MAIN))

/** What was built, each file with its text; not what is installed. */
const built = readdirSync(BUILT, { withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.mjs'))
  .map(({ name }) => readFileSync(join(BUILT, name), 'utf8'))

/** What a source map says it was made of, by name. */
const sources = readdirSync(BUILT)
  .filter((name) => name.endsWith('.map'))
  .flatMap((name) => JSON.parse(readFileSync(join(BUILT, name), 'utf8')).sources as string[])

describe('a program that tests start', () => {
  it.each(PROGRAMS)('(%s) is built, and is not its source', (source) => {
    expect(findBuilt(source)).toMatch(/\.mjs$/)
  })

  it('names sources and their lines in the trace of an error', async () => {
    const program = startScript(findBuilt('test/chaos/entry.ts'), { CHAOS_KILL: 'nowhere:1' })
    expect(await program.exited).toBe(1)
    const thrown = lineOf('test/chaos/entry.ts', 'is not point:n')
    expect(program.output()).toContain(`readArmed (${join(ROOT, 'test/chaos/entry.ts')}:${thrown}:`)
  })

  it.each(ON_DEMAND)('asks for %s when it needs it, and has nothing of it in itself', (name) => {
    expect(built.some((text) => text.includes(`import("${name}")`))).toBe(true)
    expect(sources.length).toBeGreaterThan(500)
    expect(sources.filter((source) => source.includes(`/node_modules/${name}/`))).toEqual([])
  })

  it('says where its sources are, not where it is', () => {
    const drizzle = built.filter((text) => text.includes(`file://${ROOT}src/store/`))
    expect(drizzle.length).toBeGreaterThan(0)
  })
})

/** Counted from 1. */
function lineOf(path: string, text: string): number {
  const lines = readFileSync(join(ROOT, path), 'utf8').split('\n')
  return lines.findIndex((line) => line.includes(text)) + 1
}
