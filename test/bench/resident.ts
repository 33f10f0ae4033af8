/** How much memory a process has, as the kernel counts it. */
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'

export async function readResidentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}

/** The resident sizes until the signal, looked at ten times a second. */
export async function sampleResident(pid: number, signal: AbortSignal): Promise<readonly number[]> {
  const samples: number[] = []
  while (!signal.aborted) {
    samples.push(await readResidentMb(pid))
    await wait(100, undefined, { signal }).catch(() => undefined)
  }
  return samples
}
