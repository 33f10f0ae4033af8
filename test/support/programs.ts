/**
 * The programs that tests start, each built into one file, once for all tests.
 *
 * From its sources (`node --import tsx`) a process compiles and finds more than a thousand files before it serves,
 * which takes 3 s of a core; built, less than 1 s. Invariants: what is built are these sources and the installed
 * packages, with nothing put in anyone's place; the sources are where they say they are (`import.meta.url`), so that
 * migrations and threads are found. The commands that people type are started as they type them: `npm run demo`, and
 * `npm start` by start.test.ts; `npm run build` and what it makes are started by .ci/run.
 * Knows nothing of the test runner.
 */
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin, stop } from 'esbuild'

export const PROGRAMS = ['src/main.ts', 'test/chaos/entry.ts'] as const

/**
 * Packages that a process loads when they are asked for: nine megabytes of GraphiQL's page, and one that is optional,
 * without which the programs are built as well.
 */
export const ON_DEMAND = ['@graphql-yoga/render-graphiql', '@sentry/core'] as const

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SOURCES = /\/(src|test)\/.*\.ts$/
/** Where they are, for this process and those that it forks. */
const VARIABLE = 'TEST_PROGRAMS'

export interface BuiltPrograms {
  /** After the sources were changed. */
  renew(): Promise<void>
  remove(): Promise<void>
}

/** From now on {@link findBuilt} finds them. */
export async function buildPrograms(): Promise<BuiltPrograms> {
  const directory = await mkdtemp(join(tmpdir(), 'tajo-test-programs-'))
  const renew = async () => {
    await build({
      absWorkingDir: ROOT,
      entryPoints: [...PROGRAMS],
      outdir: directory,
      outbase: ROOT,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      external: [...ON_DEMAND],
      format: 'esm',
      platform: 'node',
      target: 'node20',
      sourcemap: 'linked',
      sourcesContent: false,
      // Packages that are no modules themselves ask for others in this way.
      banner: {
        js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`,
      },
      plugins: [keepPlaces],
      logLevel: 'warning',
    })
    await stop()
  }
  await renew()
  // Where what is left out of them is found.
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  process.env[VARIABLE] = directory
  return {
    renew,
    remove: async () => {
      delete process.env[VARIABLE]
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** The program as it was built, or its source, where nothing was built. */
export function findBuilt(source: (typeof PROGRAMS)[number]): string {
  const directory = process.env[VARIABLE]
  return directory === undefined ? source : join(directory, source.replace(/ts$/, 'mjs'))
}

const keepPlaces: Plugin = {
  name: 'keep-places',
  setup: ({ onLoad }) => {
    onLoad({ filter: SOURCES }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const place = JSON.stringify(pathToFileURL(path).href)
      return { contents: text.replaceAll('import.meta.url', place), loader: 'ts' }
    })
  },
}
