/** A request that is repeated with its client key after the sealing key was changed is answered as the first time (I21). */
import { describe, expect, it } from 'vitest'
import { systemRandom } from '../../src/runtime/random.ts'
import { createSealer } from '../../src/runtime/seal.ts'
import { post } from '../support/api-client.ts'
import { openApi, type TestApi } from '../support/app.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'

const [old, fresh] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const CREATE = `mutation ($input: CreateConnectionInput!) {
  createConnection(input: $input) {
    ... on CreateConnectionPayload { connection { id } }
    ... on InvalidInput { problems { field } }
  }
}`

describe('a client key of before', () => {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')

  async function withKeys<T>(
    sealer: TestApi['parts']['sealer'],
    work: (api: TestApi) => Promise<T>,
  ) {
    const api = await openApi(database(), { sealer })
    try {
      return await work(api)
    } finally {
      await api.stop()
    }
  }

  it('is known by whoever has the old key as well, and by nobody else', async () => {
    const { token } = await withKeys(createSealer(old, systemRandom), (api) => api.makeWorkspace())
    const create = (sealer: TestApi['parts']['sealer']) =>
      withKeys(sealer, async ({ address }) => {
        const input = {
          ...{ name: 'CRM', type: 'http', config: { baseUrl: 'https://crm.example.com' } },
          ...{ credentials: { bearerToken: 'secret' }, clientKey: 'the key' },
        }
        const { body } = await post(address, CREATE, {
          ...{ authorization: `Bearer ${token}`, variables: { input } },
        })
        return body.data
      })
    const first = await create(createSealer(old, systemRandom))
    expect(first).toMatchObject({ createConnection: { connection: { id: expect.any(String) } } })
    expect(await create(createSealer(fresh, systemRandom, [old]))).toEqual(first)
    // The control: with the new key alone it is taken for another request.
    expect(await create(createSealer(fresh, systemRandom))).toEqual({
      createConnection: { problems: [{ field: 'clientKey' }] },
    })
  })
})
