/**
 * The lock on a data directory: a file that names the process that has it open.
 *
 * Created exclusively, so that of two starting processes one wins. A file whose process is gone (it was
 * killed) is moved away and taken over; a process is told from a later one with the same number by the
 * time it started.
 */
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { WordedError } from '../../runtime/worded-error.ts'

export class DataDirectoryInUseError extends WordedError {
  override readonly name = 'DataDirectoryInUseError'
}

const LOCK_FILE = 'process.lock'
const MAX_TRIES = 5

/** Returns the way to unlock. Throws {@link DataDirectoryInUseError} naming the directory and the process. */
export async function lockDataDirectory(directory: string): Promise<() => Promise<void>> {
  const path = join(directory, LOCK_FILE)
  const ours = `${process.pid} ${await findStartTime(process.pid)}`
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (await createExclusively(path, ours)) {
      return async () => {
        if ((await readLock(path)) === ours) {
          await rm(path)
        }
      }
    }
    const theirs = await readLock(path)
    if (theirs !== null && (await isAlive(theirs))) {
      const pid = theirs.split(' ')[0]
      throw new DataDirectoryInUseError(
        `The data directory ${directory} is in use by process ${pid}. Stop it, or set DATA_DIR to another directory.`,
      )
    }
    if (theirs !== null) {
      await moveAway(path, theirs)
    }
  }
  throw new DataDirectoryInUseError(`The lock of the data directory ${directory} keeps changing.`)
}

/** Linking a finished file, so that nobody ever reads a lock that is there but not yet written. */
async function createExclusively(path: string, text: string): Promise<boolean> {
  const draft = `${path}.draft.${process.pid}`
  await writeFile(draft, text, { mode: 0o600 })
  try {
    await link(draft, path)
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) {
      return false
    }
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** Null when there is no such file (any more). */
async function readLock(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) {
      return null
    }
    throw error
  }
}

/** Renaming is atomic: of two processes that find the same dead lock, one moves it and the other finds nothing. */
async function moveAway(path: string, expected: string): Promise<void> {
  const aside = `${path}.${process.pid}`
  try {
    await rename(path, aside)
  } catch (error) {
    if (isCode(error, 'ENOENT')) {
      return
    }
    throw error
  }
  const moved = await readLock(aside)
  if (moved === expected || moved === null) {
    await rm(aside, { force: true })
    return
  }
  // Between reading and renaming, another process had taken the directory: give its lock back.
  await rename(aside, path)
}

async function isAlive(lock: string): Promise<boolean> {
  const [pidText, startTime] = lock.split(' ')
  const pid = Number(pidText)
  if (!Number.isSafeInteger(pid) || pid <= 0 || pid === process.pid) {
    return false
  }
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (isCode(error, 'ESRCH')) {
      return false
    }
  }
  const current = await findStartTime(pid)
  return current === '-' || startTime === '-' || current === startTime
}

/** The process's start time in clock ticks since boot, from Linux's /proc; `-` where there is none. */
async function findStartTime(pid: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The command's name may hold spaces; the fields after it do not. Field 22 is the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[19] ?? '-'
  } catch {
    return '-'
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
