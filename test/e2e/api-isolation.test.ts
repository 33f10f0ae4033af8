/**
 * What belongs to another workspace does not exist, for every field of the schema (I13). The operations are made from the
 * schema: a field that is added is asked without being named here.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { encodeGlobalId, type IdType, parseGlobalId } from '../../src/graphql/global-id.ts'
import { post } from '../support/api-client.ts'
import { useApi } from '../support/app.ts'
import { type MarkedWorld, makeMarkedWorld, readWorld } from '../support/marked-world.ts'
import {
  type Example,
  type IdPlace,
  listAllFields,
  listIdPlaces,
  listRootFields,
  makeArguments,
  plainExample,
  type RootField,
  writeOperation,
} from '../support/schema-walk.ts'

/** The operations select everything, so they are larger than what a person writes. */
const api = useApi({
  limits: {
    maxTokens: 100_000,
    maxDepth: 100,
    maxAliases: 100_000,
    maxCost: 1e12,
    maxSubscriptions: 5,
  },
})

const LEVELS = 2
const ID_TYPES = [
  'AccessToken',
  'Alert',
  'Connection',
  'Intent',
  'Publication',
  'PublicationRequest',
  'Record',
  'Run',
  'Sync',
  'Workspace',
] as const satisfies readonly IdType[]

/** Which ids a place takes. Throws for one that nobody has told it of. */
function typesAt({ field, path }: Pick<IdPlace, 'field' | 'path'>): readonly IdType[] {
  const name = path.at(-1) ?? ''
  const types: Readonly<Record<string, readonly IdType[]>> = {
    alertId: ['Alert'],
    connectionId: ['Connection'],
    destinationConnectionId: ['Connection'],
    intentId: ['Intent'],
    recordId: ['Record'],
    recordIds: ['Record'],
    requestId: ['PublicationRequest'],
    runId: ['Run'],
    runIds: ['Run'],
    sourceConnectionId: ['Connection'],
    subjectId: ID_TYPES,
    syncId: ['Sync'],
    tokenId: ['AccessToken'],
  }
  const ofObject: Readonly<Record<string, readonly IdType[]>> = {
    node: ID_TYPES,
    publicationRequest: ['PublicationRequest'],
    run: ['Run'],
    sync: ['Sync'],
  }
  const found = name === 'id' ? ofObject[field.name] : types[name]
  if (!found) {
    throw new Error(`Of which type is the id that ${field.name} takes as ${path.join('.')}?`)
  }
  return found
}

const ID_PLACES = listIdPlaces()
const nameOf = ({ field, path }: IdPlace) => `${field.name}(${path.join('.')})`

/** Every place with every type of id that it takes. */
const PLACES = ID_PLACES.flatMap((place) =>
  typesAt(place).map((type) => ({ place, type, name: nameOf(place) })),
)

/** Ids of the asking workspace itself, where others than the one in question are needed. */
function exampleOf(world: MarkedWorld): Example {
  return (type, name, root) =>
    type.name === 'ID'
      ? world.ids[typesAt({ field: root.field, path: [name] })[0] ?? 'Sync']
      : name === 'type'
        ? 'http'
        : name === 'key'
          ? world.deliveryKey
          : plainExample(type)
}

function putAt(given: Record<string, unknown>, place: IdPlace, id: string): object {
  const [last = '', ...way] = [...place.path].reverse()
  const parent = way
    .reverse()
    .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], given) as Record<
    string,
    unknown
  >
  parent[last] = place.isList ? [id] : id
  return given
}

/** Asks as the world's own token. The answer as text; of a stream its first event. */
async function ask(world: MarkedWorld, root: RootField, variables: object): Promise<string> {
  const query = writeOperation(root, LEVELS)
  const authorization = `Bearer ${world.workspace.token}`
  if (root.operation !== 'subscription') {
    const { status, body } = await post(api().address, query, { authorization, variables })
    return JSON.stringify({ status, ...body })
  }
  const response = await fetch(`${api().address}/graphql`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ query, variables }),
  })
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    text += Buffer.from(value ?? []).toString()
    const [, event] = /^data: (.+)$/m.exec(text) ?? []
    if (done || event !== undefined) {
      await reader.cancel()
      return event ?? text
    }
  }
}

async function askAt(world: MarkedWorld, place: IdPlace, id: string): Promise<string> {
  const given = makeArguments(place, place.path, exampleOf(world))
  return await ask(world, place, putAt(given, place, id))
}

const missing = (type: IdType) => encodeGlobalId(type, api().parts.ids.next())
/** The id that was given is no news to whoever gave it; what is new each time says nothing. */
const without = (text: string, id: string) =>
  text.replaceAll(parseGlobalId(id)?.id ?? id, 'GIVEN').replace(/"at":"[^"]+"/g, '"at"')

/** A time and a new id differ from one answer to the next. */
function withoutChance(text: string): unknown {
  return JSON.parse(
    text
      .replace(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, 'TIME')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID'),
  )
}

/** Whether the place tells something of such an id in its own workspace. */
function isAnswered({ type, place }: (typeof PLACES)[number]): boolean {
  const { name } = place.field
  if (name === 'auditEntries') {
    return ['AccessToken', 'Connection', 'Sync'].includes(type)
  }
  return name !== 'node' || !['Intent', 'Record', 'Workspace'].includes(type)
}

/** What can be read without an id. */
const UNBIDDEN = listRootFields()
  .filter(({ operation }) => operation !== 'mutation')
  .filter((root) => {
    const needed = makeArguments(root, [], ({ name }) => (name === 'ID' ? 'NEEDED' : name))
    return !JSON.stringify(needed).includes('NEEDED')
  })
  .map((root) => ({ root, name: `${root.operation} ${root.field.name}` }))
/** Fields that tell nothing of a workspace. */
const TELLS_OF_ITSELF: Readonly<Record<string, RegExp>> = {
  failureCatalogue: /FailureCatalogueEntry/,
  schedulePreview: /INVALID_INPUT/,
  // They tell of all workspaces, to Tajo's operators only.
  queue: /FORBIDDEN/,
  workers: /FORBIDDEN/,
  workspaces: /FORBIDDEN/,
}

describe('an id of another workspace', () => {
  let [owner, stranger]: (MarkedWorld | undefined)[] = []
  const worlds = () => {
    if (!(owner && stranger)) {
      throw new Error('The worlds are there only while the tests run.')
    }
    return { owner, stranger }
  }
  beforeAll(async () => {
    owner = await makeMarkedWorld(api())
    stranger = await makeMarkedWorld(api())
  })

  it('is taken in more than 30 places of the schema', () => {
    expect(PLACES.length).toBeGreaterThan(30)
  })

  it.each(PLACES)(
    'is answered for like one that does not exist, and stays as it was: $name, $type',
    async ({ place, type }) => {
      const { owner, stranger } = worlds()
      const before = await readWorld(api(), owner)
      const [foreign, unknown] = [owner.ids[type], missing(type)]
      const expected = without(await askAt(stranger, place, unknown), unknown)
      const answer = without(await askAt(stranger, place, foreign), foreign)
      expect(withoutChance(answer)).toEqual(withoutChance(expected))
      for (const secret of owner.secrets) {
        expect(answer).not.toContain(secret)
      }
      expect(await readWorld(api(), owner)).toEqual(before)
    },
  )

  // The control of the test above: a place that ignores its id would pass there.
  it.each(PLACES.filter(isAnswered))(
    'is answered for in its own workspace: $name, $type',
    async ({ place, type }) => {
      const own = place.operation === 'mutation' ? await makeMarkedWorld(api()) : worlds().owner
      const unknown = missing(type)
      const expected = without(await askAt(own, place, unknown), unknown)
      const answer = without(await askAt(own, place, own.ids[type]), own.ids[type])
      expect(withoutChance(answer)).not.toEqual(withoutChance(expected))
    },
  )

  it.each(UNBIDDEN)('is told by no field that needs none: $name', async ({ root }) => {
    const { owner, stranger } = worlds()
    const answer = await ask(stranger, root, makeArguments(root, [], exampleOf(stranger)))
    for (const secret of owner.secrets) {
      expect(answer).not.toContain(secret)
    }
    // It tells what is there: the stranger's own.
    expect(answer).toMatch(TELLS_OF_ITSELF[root.field.name] ?? stranger.mark)
  })
})

describe('a delivery key of another workspace', () => {
  it('is answered for like one that does not exist, and in its own workspace with its receipt', async () => {
    const [owner, stranger] = [await makeMarkedWorld(api()), await makeMarkedWorld(api())]
    const root = listRootFields().find(({ field }) => field.name === 'delivery')
    const askFor = (world: MarkedWorld, key: string) => root && ask(world, root, { key })
    const missingKey = await askFor(stranger, 'ab'.repeat(32))
    expect(await askFor(stranger, owner.deliveryKey)).toEqual(missingKey)
    expect(await askFor(owner, owner.deliveryKey)).toContain(owner.mark)
  })
})

describe('a malformed id', () => {
  let world: MarkedWorld | null = null
  beforeAll(async () => {
    world = await makeMarkedWorld(api())
  })
  const uuid = '0198c0de-0000-7000-8000-000000000000'
  const MALFORMED = ['', 'nonsense', uuid, 'sync_', `sync_${uuid}0`, `SYNC_${uuid}`, `user_${uuid}`]

  it.each(ID_PLACES.map((place) => ({ place, name: nameOf(place) })))(
    'is refused, naming where it stands: $name',
    async ({ place }) => {
      if (!world) {
        throw new Error('The world is there only while the tests run.')
      }
      for (const id of [...MALFORMED, 'sync_\u0000', '\ud800', 'run_'.repeat(10_000)]) {
        const answer = await askAt(world, place, id)
        const field = place.path.filter((name) => name !== 'input').join('.')
        expect([id, answer]).toEqual([id, expect.stringMatching(/InvalidInput|INVALID_INPUT/)])
        expect([id, answer]).toEqual([id, expect.stringContaining(`field":"${field}`)])
      }
    },
  )
})

describe('the operations', () => {
  it('select every field of every type', () => {
    const selected = new Set<string>()
    for (const root of listRootFields()) {
      writeOperation(root, LEVELS, selected)
    }
    expect(listAllFields().filter((name) => !selected.has(name))).toEqual([])
  })
})
