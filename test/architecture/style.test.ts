import { readdirSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAX_LINES = 400
/** What is installed, built or generated, a person's own settings, and what is no text. */
const NOT_OURS =
  /^(node_modules|dist|coverage)(\/|$)|^\.(?!ci|dependency|docker|github|gitignore)|\/gql\/|\.(png|jpg|gif|ico|log)$/

const files = listFiles(ROOT)
const code = files.filter((path) => /^(src|test)\/.*\.(ts|tsx|js)$/.test(path))

describe('the style of the sources', () => {
  it('is looked at in more than 40 files', () => {
    expect(code.length).toBeGreaterThan(40)
  })

  it(`has no file of more than ${MAX_LINES} lines`, () => {
    const long = code.filter((path) => read(path).trimEnd().split('\n').length > MAX_LINES)
    expect(long).toEqual([])
  })

  it('names no file with a word that says nothing', () => {
    expect(code.filter(hasBannedName)).toEqual([])
  })

  it('leaves out no test and runs none alone', () => {
    const tests = code.filter((path) => path.startsWith('test/'))
    expect(tests.filter((path) => LEFT_OUT.test(read(path)))).toEqual([])
  })

  it('postpones nothing in a comment', () => {
    expect(code.filter((path) => POSTPONED.test(read(path)))).toEqual([])
  })
})

describe('what is committed', () => {
  it('names no directory of the machine it was made on', () => {
    const directories = [ROOT.replace(/\/$/, ''), homedir()].filter(isTelling)
    const naming = files.filter((path) => {
      const text = read(path)
      return HOME_DIRECTORY.test(text) || directories.some((directory) => text.includes(directory))
    })
    expect(naming).toEqual([])
  })

  it('locks packages by version and digest, not by the registry they came from', () => {
    expect(read('package-lock.json')).not.toContain('"resolved"')
  })
})

describe('the style checks themselves', () => {
  it.each(['src/engine/lease-manager.ts', 'src/store/index.ts', 'test/support/utils.ts'])(
    'refuse the name %s',
    (path) => expect(hasBannedName(path)).toBe(true),
  )

  it.each(['src/domain/delivery.ts', 'src/store/embedded/data-directory.ts'])(
    'accept the name %s',
    (path) => expect(hasBannedName(path)).toBe(false),
  )

  it.each(['skip', 'only', 'todo'])('find a test marked %s', (mark) => {
    expect(LEFT_OUT.test(`  it.${mark}('later', () => {})`)).toBe(true)
    expect(LEFT_OUT.test(`  describe.each(KINDS).${mark}('later', () => {})`)).toBe(true)
  })

  it('find a postponed piece of work and a home directory', () => {
    expect(POSTPONED.test(`// ${'TO'}${'DO'}: later`)).toBe(true)
    expect(HOME_DIRECTORY.test(`"path": "/home${'/somebody/'}project"`)).toBe(true)
  })
})

const BANNED_WORDS = new Set(
  'job jobs batch batches lock locks manager managers helper helpers util utils common data info misc index'.split(
    ' ',
  ),
)
/** The directory that DATA_DIR names is called so by everybody. */
const ACCEPTED_NAMES = new Set(['data-directory'])
const LEFT_OUT = /\.(skip|only|todo)(If)?\s*\(/
const POSTPONED = /\b(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b/
const HOME_DIRECTORY = /\/(home|Users)\/[a-z][\w.-]*\/|\/roo[t]\//

function hasBannedName(path: string): boolean {
  const name = basename(path).replace(/(\.test)?\.\w+$/, '')
  return !ACCEPTED_NAMES.has(name) && name.split(/[-.]/).some((word) => BANNED_WORDS.has(word))
}

/** `/app` or `/srv` tell nothing and stand in many a text; a deeper path is somebody's own. */
function isTelling(directory: string): boolean {
  return directory.split('/').length > 2
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function listFiles(directory: string): string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name)
    const fromRoot = relative(ROOT, path)
    if (NOT_OURS.test(fromRoot)) {
      return []
    }
    return statSync(path).isDirectory() ? listFiles(path) : [fromRoot]
  })
}
