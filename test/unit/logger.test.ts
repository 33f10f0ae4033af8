/** What the log has of an error: it names nobody and opens no door (I20). */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { DrizzleQueryError } from 'drizzle-orm/errors'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { scrub } from '../../src/domain/scrub.ts'
import * as logging from '../../src/runtime/logger.ts'
import { WordedError } from '../../src/runtime/worded-error.ts'

const SECRET = 'ada@example.com'

const describeError = (error: unknown) => logging.describeError(error, scrub)

describe('what is logged of an error', () => {
  it('is its chain of causes with their codes, and its frames', () => {
    const cause = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' })
    const bindings = describeError(new WordedError('Redis is out of reach.', { cause }))
    expect(bindings['errorChain']).toBe('Error: Redis is out of reach. <- Error ECONNREFUSED')
    expect(bindings['errorStack']).toMatch(/^at .*logger\.test\.ts/)
  })

  it('repeats no parameter of a failed query', () => {
    const refusal = new postgres.PostgresError(`duplicate key (${SECRET})`)
    Object.assign(refusal, { code: '23505' })
    const failed = new DrizzleQueryError('insert into person values ($1)', [SECRET], refusal)
    const logged = JSON.stringify(
      describeError(new WordedError('Storing failed.', { cause: failed })),
    )
    expect(logged).toContain('Storing failed.')
    expect(logged).toContain('23505')
    expect(logged).not.toContain(SECRET)
    expect(JSON.stringify(describeError(failed))).not.toContain(SECRET)
  })

  it('is no word of a library, which may repeat what it was given', () => {
    const thrown = [
      new Error('Ada Lovelace is no number', { cause: new TypeError('Ada Lovelace') }),
      attemptTo(() => JSON.parse('Ada Lovelace')),
      attemptTo(() => Buffer.from('', 'Ada Lovelace' as BufferEncoding)),
    ]
    for (const error of thrown) {
      const logged = JSON.stringify(describeError(error))
      expect(logged).toContain('logger.test.ts')
      expect(logged).not.toContain('Ada')
    }
  })

  it('is our own words without what they quote of a person or a secret', () => {
    const error = new WordedError(`GET https://x:y@api.example.com: ${SECRET} is no id`)
    expect(describeError(error)['errorChain']).toBe(
      'Error: GET https://[secret]@api.example.com: [e-mail] is no id',
    )
  })

  it('is also what libraries say where the process does not start', () => {
    const error = new Error(`WRONGPASS for redis://u:${SECRET}@redis:6379`)
    expect(logging.describeStartError(error, scrub)).toBe(
      'Error: WRONGPASS for redis://[secret]@redis:6379',
    )
  })

  it('takes no line of a message for a frame', () => {
    const failed = new DrizzleQueryError('select $1', [`\n    at ${SECRET}`])
    expect(JSON.stringify(describeError(failed))).not.toContain(SECRET)
  })

  it('is bounded, even when the causes go round in a circle', () => {
    const error = new WordedError('x'.repeat(10_000))
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

function attemptTo(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}

describe('the logger', () => {
  it('writes one JSON line an event, from its level upwards', () => {
    const module = new URL('../../src/runtime/logger.ts', import.meta.url).href
    const wordedError = new URL('../../src/runtime/worded-error.ts', import.meta.url).href
    const script = `
      const { createLogger } = await import(${JSON.stringify(module)})
      const { WordedError } = await import(${JSON.stringify(wordedError)})
      const logger = createLogger('info', (text) => text)
      logger.debug('run.unseen')
      logger.info('run.claimed', { runId: 'r1', attempt: 2 })
      logger.error('run.failed', { runId: 'r1' }, new WordedError('Gone.'))
      const cause = new Error('${SECRET}')
      logger.error('run.lost', { runId: 'r1' }, new Error('${SECRET}', { cause }))`
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
      { event: 'run.lost', runId: 'r1', errorChain: 'Error <- Error' },
    ])
    expect(stdout).not.toContain(SECRET)
    expect(lines[0].time).toMatch(/^\d{4}-\d\d-\d\dT/)
  })
})
