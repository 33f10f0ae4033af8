import { createRequire } from 'node:module'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.ts'

const require = createRequire(import.meta.url)

/** `npm run test:exhaustive` runs them, `npm test` does not: they take too long. */
const LEFT_OUT = [
  'test/chaos/interleavings.test.ts',
  'test/e2e/dashboard.test.ts',
  'test/e2e/demo-control.test.ts',
]
/** These `npm test` runs with compiled queries only. */
const BOTH_WAYS = ['test/e2e/api-*.test.ts']
/** Of these `npm test` runs a part. */
const SHORTENED = [
  'test/chaos/pairs/pairs.test.ts',
  'test/contract/store-pairs.test.ts',
  'test/e2e/api-hostile.test.ts',
  'test/e2e/api-stream-gaps.test.ts',
  'test/engine/brevo.test.ts',
  'test/engine/interruptions.test.ts',
  'test/property/shopify-changing-shop.test.ts',
  'test/property/changing-source.test.ts',
]

export default defineConfig(({ mode }) => ({
  // The runner would load graphql twice (as a module and through require), and it refuses to mix its copies.
  resolve: { alias: [{ find: /^graphql$/, replacement: require.resolve('graphql') }] },
  test: {
    include:
      mode === 'exhaustive' ? [...LEFT_OUT, ...SHORTENED, ...BOTH_WAYS] : ['test/**/*.test.ts'],
    exclude: ['test/bench/**', 'node_modules/**', ...(mode === 'exhaustive' ? [] : LEFT_OUT)],
    provide: { isExhaustive: mode === 'exhaustive' },
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './test/support/closing-line-reporter.ts'],
    pool: 'forks',
    // A worker loads what is tested once, and not for each file anew, which took a third of all the time. A test
    // changes nothing of its process that outlives it.
    isolate: false,
    // Most tests wait for processes and databases: two workers use less than one of two cores, three use both. More
    // need more memory, as each may have an embedded database open, which takes most of a gigabyte.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
}))
