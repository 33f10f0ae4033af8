/** The place of the embedded database's socket is known to its data directory, and nothing else is touched. */
import { access, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { makeSocketDirectory } from '../../src/store/embedded/socket-directory.ts'
import { createTestDirectory, type TestDirectory } from '../support/files.ts'

const NOTE_FILE = 'socket-directory'

describe('the directory of a socket', () => {
  let directory: TestDirectory
  beforeEach(async () => {
    directory = await createTestDirectory()
  })
  afterEach(() => directory.remove())

  it('goes with its owner, and nothing in the data directory names it any more', async () => {
    const made = await makeSocketDirectory(directory.path)
    await writeFile(made.socketPath, '')
    await made.remove()
    expect(await exists(dirname(made.socketPath))).toBe(false)
    expect(await readdir(directory.path)).toEqual([])
  })

  it('of an owner that was killed goes with the next start', async () => {
    const killed = await makeSocketDirectory(directory.path)
    await writeFile(killed.socketPath, '')
    const next = await makeSocketDirectory(directory.path)
    expect(await exists(dirname(killed.socketPath))).toBe(false)
    expect(await exists(dirname(next.socketPath))).toBe(true)
    await next.remove()
  })

  it('is named before it is made', async () => {
    // As if killed in between: there is no such temporary directory.
    vi.stubEnv('TMPDIR', join(directory.path, 'nowhere'))
    await expect(makeSocketDirectory(directory.path)).rejects.toThrow('ENOENT')
    vi.unstubAllEnvs()
    const named = await readFile(join(directory.path, NOTE_FILE), 'utf8')
    expect(dirname(named)).toBe(join(directory.path, 'nowhere'))
    await (await makeSocketDirectory(directory.path)).remove()
  })

  it.each(['somewhere', 'tajo-socket-0123456789abcdef'])(
    'that holds what is not ours, as %s does, is left alone',
    async (name) => {
      const foreign = join(directory.path, name)
      await mkdir(foreign)
      await directory.write(join(name, 'precious'), '')
      await directory.write(NOTE_FILE, foreign)
      await (await makeSocketDirectory(directory.path)).remove()
      expect(await readdir(foreign)).toEqual(['precious'])
    },
  )
})

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}
