/**
 * The order of the test files: those that take long come first, so that none of them is left for the end, when
 * there is nothing to run beside it.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const LONGEST = [/chaos\/short/, /e2e\//, /chaos\//, /engine\//]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.sort((a, b) => rankOf(a) - rankOf(b))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONGEST.findIndex((pattern) => pattern.test(moduleId))
  return rank < 0 ? LONGEST.length : rank
}
