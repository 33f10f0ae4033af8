/** A directory of its own for the files of one test. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TestDirectory {
  readonly path: string
  /** Writes a file below it and returns its path. */
  write(name: string, content: string | Uint8Array): Promise<string>
  remove(): Promise<void>
}

export async function createTestDirectory(): Promise<TestDirectory> {
  const path = await mkdtemp(join(tmpdir(), 'tajo-files-'))
  return {
    path,
    write: async (name, content) => {
      const file = join(path, name)
      await writeFile(file, content)
      return file
    },
    remove: () => rm(path, { recursive: true }),
  }
}
