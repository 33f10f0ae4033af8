/** schema.graphql: the API in GraphQL's own language. `npm run generate:schema` writes it. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { lexicographicSortSchema, printSchema } from 'graphql'
import { apiSchema } from './schema.ts'

export function printApiSchema(): string {
  return `${printSchema(lexicographicSortSchema(apiSchema))}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('../../schema.graphql', import.meta.url), printApiSchema())
}
