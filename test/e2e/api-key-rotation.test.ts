/**
 * The sealing key is changed: a request that is repeated with its client key is answered as the first time (I21), and
 * a process that only serves the API is known to seal with its own.
 */
import { describe, expect, it } from 'vitest'
import { systemRandom } from '../../src/runtime/random.ts'
import { createSealer } from '../../src/runtime/seal.ts'
import { hasOtherSealers } from '../../src/store/sealed-texts.ts'
import { post } from '../support/api-client.ts'
import { openApi, type TestApi } from '../support/app.ts'
import { createTestDatabase, DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createDeployment } from '../support/deployment.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'

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

describe.runIf(HAS_REDIS)('a process that only serves the API', { timeout: 90_000 }, () => {
  it('is seen to seal with its key from its start to its end', async () => {
    const test = await createTestDatabase()
    const database = await test.open()
    const deployment = await createDeployment({
      ...{ databaseUrl: test.url, redisUrl: redisUrl() },
      settings: { CREDENTIALS_KEY: old.toString('base64') },
    })
    const { keyId } = createSealer(fresh, systemRandom)
    try {
      const app = await deployment.start({ ROLE: 'api' })
      expect(await hasOtherSealers(database, keyId)).toBe(true)
      expect(await hasOtherSealers(database, createSealer(old, systemRandom).keyId)).toBe(false)
      expect(await deployment.stop(app, 'SIGTERM')).toBe(0)
      expect(await hasOtherSealers(database, keyId)).toBe(false)
    } finally {
      await deployment.close()
      await test.drop()
    }
  })
})
