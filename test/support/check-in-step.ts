/**
 * `npm run check:steps`: what is generated and committed is what would be generated now.
 *
 * Four things follow the sources: migrations (the tables), schema.graphql (the types of the API), the
 * typed client (schema.graphql and its documents) and docs/failures.md (the failure catalogue). Everything is generated aside and compared; the
 * working tree is left as it is. Prints one line a mismatch, with the command that mends it.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const GENERATE_DEADLINE_MS = 60_000

const CHECKS = {
  'The tables of src/store/schema*.ts differ from the migrations in drizzle/: run npm run generate:migration.':
    areMigrationsInStep,
  'schema.graphql differs from the types in src/graphql/: run npm run generate:schema.':
    isSchemaInStep,
  'src/client/gql differs from what schema.graphql and the documents give: run npm run generate:client.':
    isClientInStep,
  'docs/failures.md differs from the catalogue in src/domain/failure.ts: run npm run generate:failures.':
    isFailurePageInStep,
}

for (const [line, isInStep] of Object.entries(CHECKS)) {
  try {
    if (!(await isInStep())) {
      report(line)
    }
  } catch (error) {
    report(`${line} Generating failed: ${firstLine(error)}`)
  }
}

function report(line: string): void {
  process.stderr.write(`${line}\n`)
  process.exitCode = 1
}

/** `drizzle-kit check` does not see a table that changed without a migration; generating does. */
function areMigrationsInStep(): boolean {
  const aside = mkdtempSync(join(tmpdir(), 'tajo-check-'))
  try {
    const copy = join(aside, 'drizzle')
    cpSync(join(ROOT, 'drizzle'), copy, { recursive: true })
    const before = readFiles(copy)
    const output = execFileSync(
      process.execPath,
      [
        join(ROOT, 'node_modules/drizzle-kit/bin.cjs'),
        'generate',
        ...['--dialect', 'postgresql', '--schema', './src/store/schema*.ts'],
        // It puts a `./` in front of whatever it is given.
        ...['--out', relative(ROOT, copy)],
      ],
      {
        cwd: ROOT,
        // Without a terminal its question (was this renamed?) is an error instead of a wait.
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: GENERATE_DEADLINE_MS,
        encoding: 'utf8',
      },
    )
    // It exits with 0 also when it failed: only its word that there is nothing to do counts.
    return output.includes('No schema changes') && isSame(before, readFiles(copy))
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

async function isSchemaInStep(): Promise<boolean> {
  const { printApiSchema } = await import('../../src/graphql/print-schema.ts')
  const path = join(ROOT, 'schema.graphql')
  return existsSync(path) && readFileSync(path, 'utf8') === printApiSchema()
}

async function isFailurePageInStep(): Promise<boolean> {
  const { describeCatalogue } = await import('../../src/domain/failure-page.ts')
  const path = join(ROOT, 'docs/failures.md')
  return existsSync(path) && readFileSync(path, 'utf8') === describeCatalogue()
}

async function isClientInStep(): Promise<boolean> {
  const { generate, loadContext } = await import('@graphql-codegen/cli')
  const context = await loadContext(join(ROOT, 'codegen.ts'))
  context.updateConfig({ silent: true })
  const generated: readonly GeneratedFile[] = await generate(context, false)
  const expected = new Map(generated.map((file) => [resolve(ROOT, file.filename), file.content]))
  const directory = join(ROOT, 'src/client/gql')
  return expected.size > 0 && existsSync(directory) && isSame(expected, readFiles(directory))
}

interface GeneratedFile {
  readonly filename: string
  readonly content: string
}

/** Content by absolute path. */
function readFiles(directory: string): Map<string, string> {
  return new Map(
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path, readFileSync(path, 'utf8')]),
  )
}

function isSame(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([path, content]) => b.get(path) === content)
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.split('\n')[0] ?? ''
}
