/** docs/failures.md: the catalogue that the API serves, for people. `npm run generate:failures` writes it. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describeCatalogue } from '../domain/failure-page.ts'

writeFileSync(
  fileURLToPath(new URL('../../docs/failures.md', import.meta.url)),
  describeCatalogue(),
)
