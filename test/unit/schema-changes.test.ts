import { describe, expect, it } from 'vitest'
import { describeBreakingChanges } from '../support/schema-changes.ts'

const TYPES = `type Query { run(id: ID!, first: Int): Run }
  type Run { id: ID! rank: Int status: Status! note: String }
  enum Status { QUEUED FAILED }
  union Result = Run
`

function changed(
  from: string,
  to: string,
  versions: readonly [string, string] = ['1.2.0', '1.3.0'],
) {
  const [release, version] = versions
  const current = TYPES.replace(from, to)
  expect(current === TYPES).toBe(from === to)
  return describeBreakingChanges({ released: `# ${release}\n${TYPES}`, current, version })
}

describe('a change of the schema', () => {
  it.each([
    ['a field that is gone', ' note: String', '', 'Run.note was removed.'],
    [
      'a field of another type',
      'note: String',
      'note: Int',
      'Run.note changed type from String to Int.',
    ],
    [
      'a field that can be null now',
      'status: Status!',
      'status: Status',
      'Run.status changed type from Status! to Status.',
    ],
    ['a status that is gone', 'QUEUED ', '', 'QUEUED was removed from enum type Status.'],
    ['an argument that is gone', ', first: Int', '', 'Query.run arg first was removed.'],
    [
      'an argument that is needed',
      'first: Int',
      'first: Int!',
      'Query.run arg first has changed type from Int to Int!.',
    ],
  ])('breaks clients: %s', (_, from, to, told) => {
    expect(changed(from, to)).toEqual([told])
  })

  it.each([
    ['another field', 'note: String', 'note: String by: String'],
    ['another status', 'QUEUED', 'QUEUED RUNNING'],
    ['another argument that may be left out', 'first: Int', 'first: Int, last: Int'],
    ['nothing', '', ''],
  ])('breaks none: %s', (_, from, to) => {
    expect(changed(from, to)).toEqual([])
  })

  it.each([
    ['0.1.0', '0.1.5', 1],
    ['0.1.0', '0.2.0', 0],
    ['1.2.0', '1.9.9', 1],
    ['1.2.0', '2.0.0', 0],
  ])('from %s to %s may break clients or not', (release, version, expected) => {
    expect(changed(' note: String', '', [release, version])).toHaveLength(expected)
  })

  it('cannot be judged against a release that does not say its version', () => {
    const given = { released: TYPES, current: TYPES, version: '1.0.0' }
    expect(() => describeBreakingChanges(given)).toThrow('begins with its version')
  })
})
