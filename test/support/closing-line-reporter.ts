/**
 * Ends a test run with the line `N passed, N failed, N skipped`.
 *
 * Invariants: it is the last line of the output, so it is written when the process ends; a run that
 * does not exit with 0 has at least one failure, whatever it was that failed (a file that does not
 * load, a hook, an unhandled error, the setup).
 */
import type { SerializedError } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'

interface Counts {
  passed: number
  failed: number
  skipped: number
}

export default class ClosingLineReporter implements Reporter {
  /** Null until a run has ended; a process that ends before has failed. */
  #counts: Counts | null = null

  onInit(): void {
    process.once('exit', (code) => {
      const counts = this.#counts ?? { passed: 0, failed: 0, skipped: 0 }
      if (counts.failed === 0 && (code !== 0 || this.#counts === null)) {
        counts.failed = 1
      }
      if (counts.failed > 0 && code === 0) {
        process.exitCode = 1
      }
      process.stdout.write(
        `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`,
      )
    })
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      countModule(module, counts)
    }
    this.#counts = counts
  }
}

function countModule(module: TestModule, counts: Counts): void {
  counts.failed += module.errors().length
  // What failed in a suite itself is its hooks; the failures of tests are the tests'.
  for (const suite of module.children.allSuites()) {
    counts.failed += suite.errors().length
  }
  for (const test of module.children.allTests()) {
    const { state } = test.result()
    // A test that never came to its end (its process died) is pending: it did not pass.
    counts[state === 'pending' ? 'failed' : state] += 1
  }
}
