import { describe, expect, it } from 'vitest'
import { ToldAlerts } from '../../src/graphql/follow-alerts.ts'
import type { MovingAlert } from '../../src/store/history/alerts.ts'

const NOW = new Date()

function alert(id: string, given: Partial<MovingAlert> = {}): MovingAlert {
  const isOver = given.isRecentlyClosed !== undefined
  return {
    id,
    workspaceId: '0198c0de-0000-7000-8000-000000000001',
    workspaceName: 'Acme',
    audience: 'workspace',
    severity: 'critical',
    kind: 'workspace_silent',
    syncId: null,
    runId: null,
    title: 'Silence',
    message: 'Nothing succeeds.',
    facts: {},
    openedAt: NOW,
    closedAt: isOver ? NOW : null,
    closing: isOver ? 'A run has succeeded.' : null,
    acknowledgedAt: null,
    acknowledgedBy: null,
    isRecentlyClosed: false,
    ...given,
  }
}

const ACKNOWLEDGED = { acknowledgedAt: NOW, acknowledgedBy: 'me' }
const RECENTLY = { isRecentlyClosed: true }
const LONG_AGO = { isRecentlyClosed: false }

/** The events of each look, keep-alives as dots. */
function follow(...looks: readonly (readonly MovingAlert[])[]): string[] {
  const told = new ToldAlerts()
  return looks.map((alerts) =>
    told
      .compare(alerts)
      .map((event) => (event.kind === 'alert' ? `${event.alert.id} ${event.change}` : '.'))
      .join(', '),
  )
}

describe('what is told of alerts', () => {
  it.each<[string, MovingAlert[][], string[]]>([
    ['nothing at all', [[], []], ['.', '.']],
    ['one that is open at the beginning', [[alert('a')], [alert('a')]], ['a open, .', '.']],
    [
      'one that was over at the beginning',
      [[alert('a', RECENTLY)], [alert('a', RECENTLY)]],
      ['.', '.'],
    ],
    ['one that opens', [[], [alert('a')], [alert('a')]], ['.', 'a opened', '.']],
    [
      'one that closes, and is read for a while after',
      [[alert('a')], [alert('a', RECENTLY)], [alert('a', RECENTLY)], []],
      ['a open, .', 'a closed', '.', '.'],
    ],
    [
      'one that opens and closes between two looks',
      [[], [alert('a', RECENTLY)]],
      ['.', 'a closed'],
    ],
    [
      'one that is acknowledged and closes between two looks',
      [[alert('a')], [alert('a', { ...RECENTLY, ...ACKNOWLEDGED })]],
      ['a open, .', 'a acknowledged, a closed'],
    ],
    [
      'one that is acknowledged long after it was over',
      [[], [alert('a', { ...LONG_AGO, ...ACKNOWLEDGED })], []],
      ['.', 'a acknowledged', '.'],
    ],
    [
      'one that opens a second time, as another one',
      [[alert('a')], [alert('a', RECENTLY), alert('b')]],
      ['a open, .', 'a closed, b opened'],
    ],
  ])('%s', (_, looks, events) => {
    expect(follow(...looks)).toEqual(events)
  })
})
