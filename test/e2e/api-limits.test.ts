import { request } from 'node:http'
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { ConnectionsQuery, RunsQuery } from '../../src/client/list-documents.ts'
import { scrub } from '../../src/domain/scrub.ts'
import { DEFAULT_LIMITS } from '../../src/http/limits.ts'
import { describeError } from '../../src/runtime/logger.ts'
import { post } from '../support/api-client.ts'
import { type TestApi, useApi } from '../support/app.ts'

const api = useApi()
const MAX_BODY_BYTES = DEFAULT_LIMITS.maxBodyBytes

describe('a request body', () => {
  it('of more than a MiB is refused with 413', async () => {
    const { token } = await api().makeWorkspace()
    const query = `{ viewer { tokenName } } # ${'x'.repeat(MAX_BODY_BYTES)}`
    const answer = await post(api().address, query, { authorization: `Bearer ${token}` })
    expect(answer.status).toBe(413)
    expect(answer.body.errors).toEqual([
      {
        message: `The request's body must not have more than ${MAX_BODY_BYTES} bytes.`,
        extensions: { code: 'REQUEST_TOO_LARGE' },
      },
    ])
  })

  it('that does not tell its length is counted as it comes', async () => {
    const { token } = await api().makeWorkspace()
    const answer = await postInChunks(api(), token, MAX_BODY_BYTES + 1)
    expect(answer).toMatchObject({ status: 413 })
    expect(answer.text).toContain('REQUEST_TOO_LARGE')
  })

  it('in chunks is accepted below the limit', async () => {
    const { token } = await api().makeWorkspace()
    const answer = await postInChunks(api(), token, 1_000)
    expect(answer).toEqual({ status: 200, text: '{"data":{"viewer":{"tokenName":"test"}}}' })
  })

  it('that is not JSON is refused with 400', async () => {
    const { token } = await api().makeWorkspace()
    const response = await fetch(`${api().address}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{ "query": ',
    })
    expect(response.status).toBe(400)
  })
})

describe('a page of a list', () => {
  it.each([
    [{ first: 0 }, 'first', 'It must be from 1 to 200, and 0 was given.'],
    [{ first: 201 }, 'first', 'It must be from 1 to 200, and 201 was given.'],
    [{ first: -1 }, 'first', 'It must be from 1 to 200, and -1 was given.'],
    [{ last: 201 }, 'last', 'It must be from 1 to 200, and 201 was given.'],
    [{ first: 1, last: 1 }, 'last', 'It cannot be given together with first.'],
    [{ after: 'nonsense' }, 'after', 'It is not a cursor of this list.'],
    [{ before: '' }, 'before', 'It is not a cursor of this list.'],
  ])('with %j is refused, naming the argument', async (args, field, reason) => {
    const { client } = await api().makeWorkspace()
    const refusal = {
      message: `${field}: ${reason}`,
      code: 'INVALID_INPUT',
      errors: [{ extensions: { problems: [{ field, reason }] } }],
    }
    await expect(client.request(RunsQuery, args)).rejects.toMatchObject(refusal)
    await expect(client.request(ConnectionsQuery, args)).rejects.toMatchObject(refusal)
  })
})

describe('an error that nobody expected', () => {
  it('is logged under an id, and only the id is shown', async () => {
    const { client } = await api().makeWorkspace()
    await api().database.rows(sql`alter table connection rename to mislaid`)
    try {
      const refused = await client.request(ConnectionsQuery, {}).catch((error: unknown) => error)
      const [logged] = api().logger.events.filter(({ event }) => event === 'api.failed')
      const errorId = logged?.bindings['errorId']
      expect(refused).toMatchObject({
        message: `Something went wrong on our side; send us this id: ${errorId}.`,
        code: 'INTERNAL_SERVER_ERROR',
        errors: [{ extensions: { errorId } }],
      })
      expect(JSON.stringify(refused)).not.toMatch(/select|mislaid|relation/)
      expect(logged?.cause).toBeInstanceOf(Error)
      expect(JSON.stringify(describeError(logged?.cause, scrub))).not.toMatch(/select|mislaid/)
    } finally {
      await api().database.rows(sql`alter table mislaid rename to connection`)
    }
  })
})

function postInChunks(
  { address }: TestApi,
  token: string,
  padding: number,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${address}/graphql`,
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json',
        },
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      },
    )
    sent.on('error', reject)
    const query = `{ viewer { tokenName } } # ${'x'.repeat(padding)}`
    const body = JSON.stringify({ query })
    sent.write(body.slice(0, 10))
    sent.end(body.slice(10))
  })
}
