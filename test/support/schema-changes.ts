/** What of the API changed since a release so that its clients break. */
import { buildSchema, findBreakingChanges } from 'graphql'

/** First line of the released schema: `# 1.2.3`. */
const RELEASE = /^# (\d+)\.(\d+)\.(\d+)\n/
const VERSION = /^(\d+)\.(\d+)\.(\d+)$/

/**
 * One sentence a change; none where nothing breaks, or where the version says that something does: another major
 * version than that of the release, or below 1.0.0 another minor one. Throws for a release without its version.
 */
export function describeBreakingChanges(given: {
  /** The schema as it was released, with its version in the first line. */
  readonly released: string
  readonly current: string
  /** Of package.json. */
  readonly version: string
}): readonly string[] {
  const { released, current, version } = given
  const releasedParts = RELEASE.exec(released)
  const parts = VERSION.exec(version)
  if (!releasedParts || !parts) {
    throw new Error(
      'The released schema begins with its version (# 1.2.3), and package.json has one.',
    )
  }
  if (toPromise(releasedParts) !== toPromise(parts)) {
    return []
  }
  return findBreakingChanges(buildSchema(released), buildSchema(current)).map(
    ({ description }) => description,
  )
}

/** Versions with the same one promise that the clients of either work with both. */
function toPromise([, major, minor]: RegExpExecArray): string {
  return major === '0' ? `0.${minor}` : `${major}`
}
