import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
const REPORTER = fileURLToPath(new URL('../support/closing-line-reporter.ts', import.meta.url))

/** Each is a suite of its own that the runner is started on; `test` is a global there. */
const SUITES = {
  'passing.test.js': `test('one', () => {}); test('two', () => {})`,
  'mixed.test.js': `test('fails', () => { throw new Error('no') }); test.${'skip'}('not now', () => {})`,
  'not-loading.test.js': `test('never', () => {}); throw new Error('does not load')`,
  'hook.test.js': `describe('suite', () => { beforeAll(() => { throw new Error('hook') }); test('after it', () => {}) })`,
  'unhandled.test.js': `test('rejects elsewhere', async () => { Promise.reject(new Error('nobody listens')); await new Promise(setImmediate) })`,
}

describe('the closing line of a test run', () => {
  let directory = ''
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tajo-test-closing-'))
    for (const [name, code] of Object.entries(SUITES)) {
      await writeFile(join(directory, name), code)
    }
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  it.each([
    ['passing', '2 passed, 0 failed, 0 skipped', 0],
    ['mixed', '0 passed, 1 failed, 1 skipped', 1],
    ['not-loading', '0 passed, 1 failed, 0 skipped', 1],
    ['hook', '0 passed, 1 failed, 1 skipped', 1],
    ['unhandled', '1 passed, 1 failed, 0 skipped', 1],
    ['no-such-file', '0 passed, 1 failed, 0 skipped', 1],
  ])('of %s is "%s", and it exits with %i', async (filter, line, code) => {
    const run = await runVitest(directory, filter)
    expect(run.output.trimEnd().split('\n').at(-1)).toBe(line)
    expect(run.code).toBe(code)
  })
})

function runVitest(directory: string, filter: string): Promise<{ output: string; code: number }> {
  const parameters = [VITEST, 'run', filter, '--root', directory, '--globals']
  const reporters = ['--reporter=default', `--reporter=${REPORTER}`]
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...parameters, ...reporters], (_error, stdout) => {
      resolve({ output: stdout, code: child.exitCode ?? -1 })
    })
  })
}
