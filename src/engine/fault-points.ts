/**
 * The named places of a run where a crash hurts most. Tests kill, stop or delay a worker exactly there;
 * production passes through.
 */

export const FAULT_POINTS = [
  'afterClaim',
  'afterLease',
  'afterReadPage',
  'afterReserve',
  'afterSend',
  'afterAccept',
  'afterComplete',
  'beforeCheckpoint',
  'afterCheckpoint',
  'beforeFinish',
] as const
export type FaultPoint = (typeof FAULT_POINTS)[number]

/** Reached with the run's id; whatever it does (wait, throw, end the process) happens there. */
export type FaultHook = (point: FaultPoint, runId: string) => Promise<void> | void

export const noFaults: FaultHook = () => undefined
