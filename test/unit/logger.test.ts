import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { DrizzleQueryError } from 'drizzle-orm/errors'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { describeError } from '../../src/runtime/logger.ts'

const SECRET = 'ada@example.com'

describe('what is logged of an error', () => {
  it('is its chain of causes with their codes, and its frames', () => {
    const cause = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' })
    const bindings = describeError(new TypeError('Redis is out of reach.', { cause }))
    expect(bindings['errorChain']).toBe(
      'TypeError: Redis is out of reach. <- Error ECONNREFUSED: connect refused',
    )
    expect(bindings['errorStack']).toMatch(/^at .*logger\.test\.ts/)
  })

  it('repeats no parameter of a failed query', () => {
    const refusal = new postgres.PostgresError(`duplicate key (${SECRET})`)
    Object.assign(refusal, { code: '23505' })
    const failed = new DrizzleQueryError('insert into person values ($1)', [SECRET], refusal)
    const logged = JSON.stringify(describeError(new Error('Storing failed.', { cause: failed })))
    expect(logged).toContain('Storing failed.')
    expect(logged).toContain('23505')
    expect(logged).not.toContain(SECRET)
    expect(JSON.stringify(describeError(failed))).not.toContain(SECRET)
  })

  it('takes no line of a message for a frame', () => {
    const failed = new DrizzleQueryError('select $1', [`\n    at ${SECRET}`])
    expect(JSON.stringify(describeError(failed))).not.toContain(SECRET)
  })

  it('is bounded, even when the causes go round in a circle', () => {
    const error = new Error('x'.repeat(10_000))
    error.cause = error
    const { errorChain } = describeError(error)
    expect(String(errorChain).split(' <- ')).toHaveLength(5)
    expect(String(errorChain).length).toBeLessThan(3_000)
  })

  it('is the type of what is no error, and nothing of nothing', () => {
    expect(describeError(SECRET)).toEqual({ errorChain: 'string', errorStack: '' })
    expect(describeError(undefined)).toEqual({})
  })
})

describe('the logger', () => {
  it('writes one JSON line an event, from its level upwards', () => {
    const module = new URL('../../src/runtime/logger.ts', import.meta.url).href
    const script = `
      const { createLogger } = await import(${JSON.stringify(module)})
      const logger = createLogger('info')
      logger.debug('run.unseen')
      logger.info('run.claimed', { runId: 'r1', attempt: 2 })
      logger.error('run.failed', { runId: 'r1' }, new Error('Gone.'))`
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', script],
      { encoding: 'utf8', cwd: fileURLToPath(new URL('../..', import.meta.url)) },
    )
    expect(stderr).toBe('')
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toMatchObject([
      { event: 'run.claimed', runId: 'r1', attempt: 2 },
      { event: 'run.failed', runId: 'r1', errorChain: 'Error: Gone.' },
    ])
    expect(lines[0].time).toMatch(/^\d{4}-\d\d-\d\dT/)
  })
})
