/**
 * Which file a stream is.
 *
 * Invariant: nothing outside the root directory is ever opened, also not through a symbolic link. An
 * absolute path or one with `..` is refused without a look at the disk, so that it tells nothing of it.
 */
import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import type { FailureCode } from '../../../domain/failure.ts'
import { ConnectorError } from '../../connector.ts'

export type ResolvedStream =
  | { readonly path: string; readonly problem?: undefined }
  | { readonly problem: string; readonly failure: FailureCode; readonly path?: undefined }

const MAX_STREAM_LENGTH = 1_000

/**
 * The real path of the file, or what is wrong with the stream, as one sentence. Throws ConnectorError where the
 * directory of all files is not there, which nobody who names a stream can mend.
 */
export async function resolveStream(
  rootDirectory: string,
  stream: string,
): Promise<ResolvedStream> {
  const named = quoteStream(stream)
  const problem = describeNameProblem(stream)
  if (problem) {
    return { problem, failure: 'node_failed' }
  }
  const root = await realpath(rootDirectory).catch((cause: unknown) => {
    const reason = `The directory that files are read from cannot be read (${codeOf(cause)}).`
    throw new ConnectorError('unclassified_exception', reason, { cause })
  })
  try {
    const path = await realpath(join(root, stream))
    if (!isInside(root, path)) {
      return { problem: outside(named), failure: 'node_failed' }
    }
    const found = await stat(path)
    if (!found.isFile()) {
      return {
        problem: `The stream ${named} is ${found.isDirectory() ? 'a directory' : 'not a file'}.`,
        failure: 'node_failed',
      }
    }
    return { path }
  } catch (error) {
    return { problem: describeSystemError(stream, error), failure: failureOfSystem(error) }
  }
}

function describeNameProblem(stream: string): string | null {
  if (stream.length === 0 || stream.length > MAX_STREAM_LENGTH) {
    return `The stream must be the path of a file, 1 to ${MAX_STREAM_LENGTH} characters long.`
  }
  if (stream.includes('\0')) {
    return 'The stream contains a NUL character.'
  }
  const steps = stream.split(/[\\/]/)
  return isAbsolute(stream) || steps.includes('..') ? outside(quoteStream(stream)) : null
}

function isInside(root: string, path: string): boolean {
  const step = relative(root, path)
  return step !== '' && step !== '..' && !step.startsWith(`..${sep}`) && !isAbsolute(step)
}

function outside(named: string): string {
  return `The stream ${named} lies outside of the directory that files are read from; name a path below it.`
}

/** Why the system does not let us have the file, as one sentence. */
export function describeSystemError(stream: string, error: unknown): string {
  const named = quoteStream(stream)
  const code = codeOf(error)
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return `The stream ${named} names a file that does not exist.`
    case 'EACCES':
    case 'EPERM':
      return `The stream ${named} names a file that may not be read.`
    case 'ENAMETOOLONG':
      return `The stream ${named} is too long for the name of a file.`
    case 'ELOOP':
      return `The stream ${named} is a symbolic link that leads in a circle.`
    default:
      return `The stream ${named} cannot be read (${code}).`
  }
}

/** What is wrong with the file is for whoever put it there; a disk or a process that has no more to give is ours. */
export function failureOfSystem(error: unknown): FailureCode {
  return CODES_OF_FILES.has(codeOf(error)) ? 'node_failed' : 'unclassified_exception'
}

const CODES_OF_FILES: ReadonlySet<string> = new Set([
  ...['EACCES', 'EISDIR', 'ELOOP', 'ENAMETOOLONG', 'ENOENT', 'ENOTDIR', 'ENXIO', 'EPERM', 'ESTALE'],
])

/** The system's name of an error. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'unknown cause'
}

/** The stream's name in quotation marks, on one line. */
export function quoteStream(stream: string): string {
  return JSON.stringify(stream.slice(0, 200))
}
