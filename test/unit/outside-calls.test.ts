/** Calls that a person waits for: so many at once, and none for longer than it was given. */
import { describe, expect, it } from 'vitest'
import { OutOfTime, OutsideCalls } from '../../src/commands/outside-calls.ts'
import { Busy } from '../../src/commands/refusals.ts'
import { createHandClock } from '../support/hand-clock.ts'
import { createSignal } from '../support/signal.ts'

const LIMITS = { workspaceId: 'a', atMostMs: 15_000 }
const never = () => new Promise<never>(() => undefined)
const heeding = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
const errorOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: unknown) => error,
  )

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
    const settled = Array.from({ length: 5 }, () => errorOf(calls.within(LIMITS, heeding)))
    clock.advance(15_000)
    const errors = await Promise.all(settled)
    expect(errors.map((error) => error instanceof Busy)).toEqual([false, false, false, false, true])
    const made = await calls.within(LIMITS, () => Promise.resolve('made'))
    expect(made).toBe('made')
  })

  it('counts until it ends, also where whoever asked has been answered', async () => {
    const clock = createHandClock()
    const calls = new OutsideCalls(clock)
    const ended = createSignal()
    const settled = Array.from({ length: 4 }, () =>
      errorOf(calls.within(LIMITS, () => ended.reached)),
    )
    clock.advance(15_000)
    for (const error of await Promise.all(settled)) {
      expect(error).toBeInstanceOf(OutOfTime)
    }
    const make = () => calls.within(LIMITS, () => Promise.resolve('made'))
    const fifth = errorOf(make())
    clock.advance(15_000)
    expect(await fifth).toBeInstanceOf(Busy)
    const sixth = make()
    ended.reach()
    expect(await sixth).toBe('made')
  })

  it('is refused at once where its workspace has enough that wait, and takes no place from others', async () => {
    const calls = new OutsideCalls(createHandClock())
    const answered = createSignal()
    const wait = (workspaceId: string) =>
      errorOf(calls.within({ ...LIMITS, workspaceId }, () => answered.reached))
    // Four are under way, and a hundred wait; of the process's places, all are taken.
    const own = Array.from({ length: 500 }, () => wait('a'))
    const others = ['b', 'c', 'd'].flatMap((id) => Array.from({ length: 4 }, () => wait(id)))
    const late = wait('e')
    answered.reach()
    const refused = (await Promise.all(own)).filter((error) => error instanceof Busy)
    expect(refused).toHaveLength(500 - 104)
    expect(new Set([...(await Promise.all(others)), await late])).toEqual(new Set([null]))
  })
})
