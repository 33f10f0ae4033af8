import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Fewer modules than this, and the rules looked at next to nothing: on an empty graph they all hold. */
const FEWEST_MODULES = 40

const Report = z.object({
  modules: z.array(z.object({ source: z.string() })),
  summary: z.object({
    violations: z.array(
      z.object({ from: z.string(), to: z.string(), rule: z.object({ name: z.string() }) }),
    ),
  }),
})

describe('the rooms of src', () => {
  it('import only what the table in src/README.md allows', async () => {
    const { modules, violations } = await cruise(ROOT)
    expect(violations).toEqual([])
    expect(modules.length).toBeGreaterThan(FEWEST_MODULES)
  }, 120_000)
})

describe('the rules, on a tree with planted violations', () => {
  const planted = {
    'src/domain/pure.ts': `import { table } from '../store/table.ts'\nimport 'node:fs'\nexport const pure = table\n`,
    'src/store/table.ts': `export const table = 'sync'\n`,
    'src/engine/engine.ts': `import { client } from '../coordination/redis/client.ts'\nexport const engine = client\n`,
    'src/coordination/redis/client.ts': `export const client = 1\n`,
    'src/graphql/type.ts': `import { table } from '../store/table.ts'\nimport 'postgres'\nexport const type = table\n`,
    'src/runtime/cycle-a.ts': `import { b } from './cycle-b.ts'\nexport const a = () => b\n`,
    'src/runtime/cycle-b.ts': `import { a } from './cycle-a.ts'\nexport const b = () => a\n`,
    'src/watch/orphan.ts': `export const orphan = 1\n`,
  }
  let directory = ''
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tajo-test-rooms-'))
    for (const name of ['.dependency-cruiser.cjs', 'tsconfig.json', 'package.json']) {
      await cp(join(ROOT, name), join(directory, name))
    }
    await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
    for (const [path, code] of Object.entries(planted)) {
      await mkdir(dirname(join(directory, path)), { recursive: true })
      await writeFile(join(directory, path), code)
    }
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  it('find every one of them', async () => {
    const { violations } = await cruise(directory)
    expect(violations).toEqual(
      expect.arrayContaining([
        'domain-imports-only-domain: src/domain/pure.ts → src/store/table.ts',
        'domain-is-pure: src/domain/pure.ts → fs',
        'coordination-by-contract: src/engine/engine.ts → src/coordination/redis/client.ts',
        'graphql-reads-history-only: src/graphql/type.ts → src/store/table.ts',
        expect.stringMatching(
          /^postgresql-only-in-store-and-its-connector: src\/graphql\/type\.ts → .*postgres/,
        ),
        'no-cycles: src/runtime/cycle-a.ts → src/runtime/cycle-b.ts',
        'no-orphans: src/watch/orphan.ts → src/watch/orphan.ts',
      ]),
    )
  }, 120_000)
})

/** Modules of src (without the packages they import), and violations as `rule: from → to`. */
async function cruise(
  directory: string,
): Promise<{ modules: readonly string[]; violations: readonly string[] }> {
  const program = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs')
  const parameters = ['src', '--config', '.dependency-cruiser.cjs', '--output-type', 'json']
  const output = await new Promise<string>((resolve) => {
    // It exits with the number of violations, which is no error here.
    execFile(
      process.execPath,
      [program, ...parameters],
      { cwd: directory, maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout) => resolve(stdout),
    )
  })
  const { modules, summary } = Report.parse(JSON.parse(output))
  return {
    modules: modules.map((module) => module.source).filter((path) => path.startsWith('src/')),
    violations: summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`),
  }
}
