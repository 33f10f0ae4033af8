/** Calls that a person waits for: so many at once, and none for longer than it was given. */
import { describe, expect, it } from 'vitest'
import { OutOfTime, OutsideCalls } from '../../src/commands/outside-calls.ts'
import { Busy } from '../../src/commands/refusals.ts'
import { createHandClock } from '../support/hand-clock.ts'
import { createSignal } from '../support/signal.ts'

const LIMITS = { workspaceId: 'a', atMostMs: 15_000 }
const never = () => new Promise<never>(() => undefined)

describe('a call of another system', () => {
  it('is given up after its time, also where nobody heeds the signal', async () => {
    const clock = createHandClock()
    const calls = new OutsideCalls(clock)
    const calling = calls.within(LIMITS, never)
    clock.advance(15_000)
    await expect(calling).rejects.toThrow(OutOfTime)
  })

  it('waits while its workspace has enough under way, and lets others pass', async () => {
    const calls = new OutsideCalls(createHandClock())
    const [answered, fifth] = [createSignal(), createSignal()]
    const begun: string[] = []
    const call = (workspaceId: string, name: string) =>
      calls.within({ ...LIMITS, workspaceId }, async () => {
        if (begun.push(name) === 5) {
          fifth.reach()
        }
        await answered.reached
      })
    const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1'].map((name) => call(name.slice(0, 1), name))
    await fifth.reached
    expect(begun).toEqual(['a1', 'a2', 'a3', 'a4', 'b1'])
    answered.reach()
    await Promise.all(all)
    expect(begun).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'a5'])
  })

  it('whose turn does not come in time was not made', async () => {
    const clock = createHandClock()
    const calls = new OutsideCalls(clock)
    const settled = Array.from({ length: 5 }, () => calls.within(LIMITS, never)).map((call) =>
      call.then(
        () => null,
        (error: unknown) => error,
      ),
    )
    clock.advance(15_000)
    const errors = await Promise.all(settled)
    expect(errors.map((error) => error instanceof Busy)).toEqual([false, false, false, false, true])
    const made = await calls.within(LIMITS, () => Promise.resolve('made'))
    expect(made).toBe('made')
  })
})
