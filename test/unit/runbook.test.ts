/** docs/runbook.md has a section for every kind of alert, and tells of every silence. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ALERT_KINDS } from '../../src/domain/alert.ts'
import { SILENCES } from '../../src/domain/dead-man.ts'

const RUNBOOK = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8')

/** The headings of a level, in order, with the text below each. */
function sectionsOf(text: string, level: '##' | '###'): ReadonlyMap<string, string> {
  const parts = text.split(new RegExp(`^${level} `, 'm')).slice(1)
  return new Map(
    parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n'))]),
  )
}

describe('docs/runbook.md', () => {
  const kinds = sectionsOf(RUNBOOK, '##')

  it('has a section for every kind of alert, and no other', () => {
    expect([...kinds.keys()].sort()).toEqual([...ALERT_KINDS].sort())
  })

  it.each([...ALERT_KINDS])(
    'tells of %s what it means, what to look at, what to do and how it closes',
    (kind) => {
      const section = kinds.get(kind) ?? ''
      for (const part of [/\*\*Means\.\*\*/, /\*\*Look at\.\*\*/, /\*\*Do\.\*\*/, /closes/i]) {
        expect(section).toMatch(part)
      }
    },
  )

  it('tells of every silence, and of no other', () => {
    const silences = sectionsOf(kinds.get('workspace_silent') ?? '', '###')
    expect([...silences.keys()].sort()).toEqual([...SILENCES].sort())
  })
})
