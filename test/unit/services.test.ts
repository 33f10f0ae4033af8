import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { HAS_REDIS } from '../support/redis.ts'
import { findExecutable } from '../support/service-binaries.ts'
import { startRedis } from '../support/services.ts'

const SERVICES = fileURLToPath(new URL('../support/services.ts', import.meta.url))
const STARTS_AND_STAYS = `
  import { startRedis } from ${JSON.stringify(SERVICES)}
  console.log((await startRedis({ isOwn: true })).pid)
  setInterval(() => {}, 1000)
`

describe.runIf(HAS_REDIS)('a server of the tests', () => {
  it.runIf(findExecutable('setpriv'))('dies with a process that is killed', async () => {
    const parameters = ['--import', 'tsx', '--input-type=module', '-e', STARTS_AND_STAYS]
    // Nobody is left to remove the files of a server whose owner was killed: here we are.
    const directory = await mkdtemp(join(tmpdir(), 'tajo-test-owner-'))
    const owner = spawn(process.execPath, parameters, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: directory },
    })
    const [chunk] = await once(owner.stdout, 'data')
    const pid = Number(String(chunk))
    expect(isAlive(pid)).toBe(true)
    owner.kill('SIGKILL')
    await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false)
    await rm(directory, { recursive: true })
  })

  it('comes back on the same address after it was killed', async () => {
    const server = await startRedis({ isOwn: true })
    const { pid, url } = server
    await server.kill('SIGKILL')
    await server.restart()
    expect(server.url).toBe(url)
    expect(server.pid).not.toBe(pid)
    await server.stop()
    expect(isAlive(server.pid ?? 0)).toBe(false)
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
