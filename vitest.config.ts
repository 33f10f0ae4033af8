import { createRequire } from 'node:module'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.ts'

const require = createRequire(import.meta.url)

export default defineConfig({
  // The runner would load graphql twice (as a module and through require), and it refuses to mix its copies.
  resolve: { alias: [{ find: /^graphql$/, replacement: require.resolve('graphql') }] },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**', 'node_modules/**'],
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './test/support/closing-line-reporter.ts'],
    pool: 'forks',
    // Each worker may have an embedded database open, which takes most of a gigabyte.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
