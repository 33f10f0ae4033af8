/** The shipped sample files, read by the file source and mapped as the demo does it. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { SourceReader } from '../../src/connectors/source.ts'
import { createFileSource } from '../../src/connectors/sources/file/file-source.ts'
import { canonicalJson, type JsonObject } from '../../src/domain/json.ts'
import {
  type CompiledMapping,
  compileMapping,
  findUnknownFields,
} from '../../src/domain/mapping.ts'
import { MAX_PAGE_RECORDS, type SourceRecord } from '../../src/domain/page.ts'
import { BROKEN_LINES, COLUMNS, EDGE_CUSTOMERS } from '../support/edge-customers.ts'
import { makeBrokenFile, makeCustomersFile, SEEDED_CUSTOMERS } from '../support/make-customers.ts'
import { openConnection } from '../support/open-connection.ts'

const folder = fileURLToPath(new URL('../../src/demo/data/', import.meta.url))
const text = (name: string) => readFileSync(`${folder}${name}`, 'utf8')

describe('the committed sample files', () => {
  it('are what their generator makes', () => {
    expect(text('customers.csv') === makeCustomersFile()).toBe(true)
    expect(text('broken.csv')).toBe(makeBrokenFile())
  })

  it('stay small enough to be cloned by everybody', () => {
    expect(Buffer.byteLength(text('customers.csv'))).toBeLessThan(400_000)
  })
})

describe('customers.csv', () => {
  it('has 2,000 seeded customers in 10 locales and the hand-written ones, each with an id of its own', async () => {
    const customers = await readFields('customers.csv')
    const seeded = customers.filter(({ customer_id: id }) => String(id).startsWith('7000'))
    expect(seeded).toHaveLength(SEEDED_CUSTOMERS)
    expect(customers).toHaveLength(SEEDED_CUSTOMERS + EDGE_CUSTOMERS.length)
    expect(new Set(seeded.map(({ locale }) => locale)).size).toBe(10)
    expect(new Set(customers.map(({ customer_id: id }) => id)).size).toBe(customers.length)
  })

  it('gives every hand-written customer back as it was written', async () => {
    const customers = await readFields('customers.csv')
    for (const edge of EDGE_CUSTOMERS) {
      expect(customers).toContainEqual(edge)
    }
  })

  it('holds nobody’s address: all end in domains that are reserved for examples and tests', async () => {
    const customers = await readFields('customers.csv')
    const addresses = customers.map(({ email }) => String(email).trim()).filter((one) => one !== '')
    expect(addresses.length).toBeGreaterThan(SEEDED_CUSTOMERS)
    expect(addresses.filter((one) => !/@(.+\.)?(example\.(com|org|net)|test)$/i.test(one))).toEqual(
      [],
    )
  })
})

describe('mapping.json', () => {
  it('reads only columns that the file has', () => {
    expect(findUnknownFields(demoMapping(), COLUMNS)).toEqual([])
  })

  it('maps every customer, each to a record of its own', async () => {
    const mapping = demoMapping()
    const results = (await readFields('customers.csv')).map((fields) => mapping.map(fields))
    expect(results.filter(({ kind }) => kind === 'rejected')).toEqual([])
    const records = new Set(
      results.map((one) => one.kind === 'mapped' && canonicalJson(one.fields)),
    )
    expect(records.size).toBe(results.length)
  })

  it('makes of the first customer what the demo shows', async () => {
    const [first = {}] = await readFields('customers.csv')
    expect(demoMapping().map(first)).toMatchObject({
      kind: 'mapped',
      fields: {
        id: '7000000001',
        language: 'en',
        source: 'shop',
        updatedAt: expect.any(Number),
        totalSpent: expect.any(Number),
        birthday: expect.stringMatching(/^\d\d\/\d\d\/\d{4}$/),
      },
    })
  })

  it('leaves out what is empty, and names a customer without a name', async () => {
    const customers = await readFields('customers.csv')
    const empty = customers.find(({ email }) => email === 'empty.cells@example.com') ?? {}
    const result = demoMapping().map(empty)
    expect(result).toEqual({
      kind: 'mapped',
      fields: {
        id: empty['customer_id'],
        address: { city: '', country: '', street: '' },
        email: 'empty.cells@example.com',
        language: 'en',
        name: `Customer ${empty['customer_id']}`,
        source: 'shop',
        updatedAt: 1777622400000,
      },
    })
  })
})

describe('broken.csv', () => {
  it('has the rows and the problems that its table lists', async () => {
    const rows = BROKEN_LINES.slice(0, -1)
    const records = await readRecords('broken.csv')
    expect(records.map(({ problem }) => problem ?? null)).toEqual(
      rows.map(({ problem }, index) =>
        problem === null ? null : expect.stringMatching(`^line ${index + 2}\\b.*${problem}`),
      ),
    )
  })

  it('ends in a row that cannot be read, nor anything behind it', async () => {
    const reader = await openReader('broken.csv')
    const { signal } = new AbortController()
    const page = await reader.readPage({ from: null, limit: MAX_PAGE_RECORDS, to: null, signal })
    const from = page.kind === 'page' ? page.to : null
    await expect(
      reader.readPage({ from, limit: MAX_PAGE_RECORDS, to: null, signal }),
    ).rejects.toThrow(BROKEN_LINES.at(-1)?.problem ?? '')
    await reader.close()
  })
})

function demoMapping(): CompiledMapping {
  const result = compileMapping(JSON.parse(text('mapping.json')))
  if (result.kind === 'invalid') {
    throw new Error(JSON.stringify(result.problems))
  }
  return result.mapping
}

async function readFields(name: string): Promise<JsonObject[]> {
  return (await readRecords(name)).map((record) => {
    if (record.fields === undefined) {
      throw new Error(record.problem)
    }
    return record.fields
  })
}

async function readRecords(name: string): Promise<readonly SourceRecord[]> {
  const reader = await openReader(name)
  const { signal } = new AbortController()
  const page = await reader.readPage({ from: null, limit: MAX_PAGE_RECORDS, to: null, signal })
  await reader.close()
  return page.kind === 'page' ? page.records : []
}

function openReader(stream: string): Promise<SourceReader> {
  const options = { identityField: 'customer_id' }
  return createFileSource({ rootDirectory: folder }).open({
    ...openConnection(),
    stream,
    options,
  })
}
