/**
 * `npm run check:breaking`: schema.graphql breaks no client of the last release.
 *
 * schema.released.graphql is the schema of the last release; `-- --release` writes it, with the version of
 * package.json. Before the first release there is none, and nothing can break. Prints one line a change.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describeBreakingChanges } from './schema-changes.ts'

const fileOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const RELEASED = fileOf('schema.released.graphql')

const current = readFileSync(fileOf('schema.graphql'), 'utf8')
const { version } = JSON.parse(readFileSync(fileOf('package.json'), 'utf8')) as { version: string }

if (process.argv.includes('--release')) {
  writeFileSync(RELEASED, `# ${version}\n${current}`)
} else if (existsSync(RELEASED)) {
  const changes = describeBreakingChanges({
    released: readFileSync(RELEASED, 'utf8'),
    ...{ current, version },
  })
  for (const change of changes) {
    process.stderr.write(`Breaks clients of the last release: ${change}\n`)
    process.exitCode = 1
  }
} else {
  process.stdout.write('Nothing was released yet, so no client can break.\n')
}
