/** What the file source makes of files that are not as they should be. */
import { chmod, mkdir, symlink } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFileSource } from '../../src/connectors/sources/file/file-source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { createTestDirectory, type TestDirectory } from '../support/files.ts'
import { openConnection } from '../support/open-connection.ts'

const NOBODY = 65_534
let directory: TestDirectory
let outside: TestDirectory
const { signal } = new AbortController()

beforeAll(async () => {
  directory = await createTestDirectory()
  outside = await createTestDirectory()
})
afterAll(async () => {
  await directory.remove()
  await outside.remove()
})

const source = () => createFileSource({ rootDirectory: directory.path })
const open = (stream: string, options: JsonObject = {}) =>
  source().open({ ...openConnection(), stream, options })

async function readAll(stream: string, options: JsonObject = {}, limit = 3) {
  const reader = await open(stream, options)
  const records = []
  try {
    for (let from: string | null = null; ; ) {
      const page = await reader.readPage({ from, to: null, limit, signal })
      if (page.kind !== 'page') {
        return records
      }
      records.push(...page.records)
      from = page.to
    }
  } finally {
    await reader.close()
  }
}

async function problemsOf(name: string, content: string | Uint8Array, options: JsonObject = {}) {
  await directory.write(name, content)
  return (await readAll(name, options)).map(({ problem }) => problem ?? null)
}

async function fieldsOf(name: string, content: string | Uint8Array, options: JsonObject = {}) {
  await directory.write(name, content)
  return (await readAll(name, options)).map(({ fields }) => fields)
}

describe('a stream that cannot be one', () => {
  const refused = async (stream: string, problem: string, options: JsonObject = {}) => {
    expect(await source().describeStreamProblem(stream, options)).toContain(problem)
    await expect(open(stream, options)).rejects.toMatchObject({
      name: 'ConnectorError',
      code: 'node_failed',
      message: expect.stringContaining(problem),
    })
  }

  it.each(['/etc/passwd', '../secret.csv', 'a/../../secret.csv', 'a\\..\\..\\secret.csv'])(
    'is refused outside of the root: %s',
    (stream) => refused(stream, 'lies outside of the directory that files are read from'),
  )

  it('is refused when a symbolic link leads outside', async () => {
    const secret = await outside.write('secret.csv', 'id\n1\n')
    await symlink(secret, `${directory.path}/link.csv`)
    await refused('link.csv', 'lies outside of the directory')
    await symlink(outside.path, `${directory.path}/linked`)
    await refused('linked/secret.csv', 'lies outside of the directory')
  })

  it('follows a symbolic link that stays inside', async () => {
    await directory.write('real.csv', 'id\n1\n')
    await symlink(`${directory.path}/real.csv`, `${directory.path}/alias.csv`)
    expect(await source().describeStreamProblem('alias.csv', {})).toBeNull()
  })

  it('is refused when it is missing, a directory, or has no name', async () => {
    await mkdir(`${directory.path}/folder.csv`)
    await refused('missing.csv', 'The stream "missing.csv" names a file that does not exist.')
    await refused('missing/people.csv', 'names a file that does not exist')
    await refused('folder.csv', 'The stream "folder.csv" is a directory.')
    await refused('.', 'lies outside')
    await refused('', 'The stream must be the path of a file')
    await refused('a\0.csv', 'contains a NUL character')
  })

  it('is refused when it may not be read', async () => {
    await chmod(directory.path, 0o755)
    await chmod(await directory.write('closed.csv', 'id\n'), 0)
    // Root may read everything, so the check is made as somebody else.
    const isRoot = process.geteuid?.() === 0
    try {
      if (isRoot) {
        process.seteuid?.(NOBODY)
      }
      await refused('closed.csv', 'The stream "closed.csv" names a file that may not be read.')
    } finally {
      if (isRoot) {
        process.seteuid?.(0)
      }
    }
  })

  it('is refused when its header cannot be read', async () => {
    await directory.write('empty.csv', '')
    await refused('empty.csv', 'The file has no header line.')
    await directory.write('blank.csv', '\uFEFF\r\n\n')
    await refused('blank.csv', 'The file has no header line.')
    await directory.write('twice.csv', 'id,email, email \n')
    await refused('twice.csv', 'The header has the column "email" twice; rename one of them.')
    await directory.write('unnamed.csv', 'id,,email\n')
    await refused('unnamed.csv', 'The header has no name for column 2.')
    await directory.write('open.csv', 'id,"email\n1,2\n')
    await refused('open.csv', 'line 1: the header has a quote that is never closed.')
    await directory.write('mac.csv', 'id,email\r1,a\r2,b\r')
    await refused('mac.csv', 'contains a carriage return')
    await directory.write('wide.csv', Buffer.from('\uFEFFid\n1\n', 'utf16le'))
    await refused('wide.csv', 'The file is in UTF-16; save it as UTF-8.')
    await directory.write('proto.csv', 'id,__proto__\n')
    await refused('proto.csv', 'may not be the name of a column')
    await directory.write('long.csv', `id,${'x'.repeat(1_100_000)}\n1,2\n`)
    await refused('long.csv', 'line 1: the header line is longer than 1 MiB.')
  })

  it('is refused when its options do not fit it', async () => {
    await directory.write('people.csv', 'id;email\n1;a\n')
    await directory.write('people.dat', 'id\n')
    await refused('people.csv', 'its columns are "id;email"', { identityField: 'id' })
    await directory.write('headless.csv', 'Ada Lovelace,ada@example.com\n')
    await refused('headless.csv', 'does not have; its first line looks like a row', {
      identityField: 'id',
    })
    await refused('people.dat', 'set format to CSV or JSONL')
    expect(
      await source().describeStreamProblem('people.csv', { identityField: 'id', delimiter: ';' }),
    ).toBeNull()
  })

  it('may be an empty JSON Lines file', async () => {
    expect(await fieldsOf('empty.jsonl', '')).toEqual([])
    expect(await source().describeStreamProblem('empty.jsonl', {})).toBeNull()
  })
})

describe('stream options', () => {
  const messages = (options: unknown) =>
    source()
      .streamOptions.safeParse(options)
      .error?.issues.map(({ message }) => message)

  it('name the field and what it takes', () => {
    expect(messages({ delimiter: ':' })).toEqual(['delimiter must be one of ",", ";", "\\t", "|".'])
    expect(messages({ format: 'XML' })).toEqual(['format must be one of "CSV", "JSONL".'])
    expect(messages({ identityField: '' })).toEqual([
      'identityField must be a text of 1 to 200 characters.',
    ])
    expect(messages({ seperator: ';' })).toEqual([
      'Unknown field seperator. It takes format, identityField, delimiter, compression, encoding.',
    ])
    expect(messages('CSV')?.[0]).toContain('The settings must be an object.')
    expect(source().streamOptions.parse({ format: 'CSV' })).toEqual({ format: 'CSV' })
  })
})

describe('a CSV row that is no record', () => {
  it('is reported with its line, and the rows behind it still come', async () => {
    const content = [
      'id,name,city',
      '1,Ann,Oslo',
      '2,Ben',
      '3,"Cleo\r\nMarie",Rome',
      '',
      '4,Dan,Bonn,x,y',
      '5,E"ve,Kiel',
      '6,"Finn"n,Ulm',
      '7,G\0us,Jena',
      '8,"O""Hara ""the great""",Wien',
      'x',
    ].join('\n')
    expect(await problemsOf('broken.csv', content)).toEqual([
      null,
      'line 3: has 2 columns, the header has 3',
      null,
      'line 7: has 5 columns, the header has 3',
      'line 8: has a quote inside of a value that is not quoted',
      'line 9: has text behind a closing quote',
      'line 10: name contains a NUL character',
      null,
      'line 12: has 1 column, the header has 3',
    ])
    expect((await readAll('broken.csv'))[2]?.fields).toEqual({
      id: '3',
      name: 'Cleo\r\nMarie',
      city: 'Rome',
    })
  })

  it('has the same line and identity when the reading starts at a cursor', async () => {
    await directory.write('resumed.csv', 'id,name\n1,Ann\n\n\n"2","a\nb"\n3\n3\n')
    const whole = await readAll('resumed.csv', { identityField: 'id' }, 10)
    expect(whole.map(({ problem }) => problem)).toEqual([
      undefined,
      undefined,
      'line 7: has 1 column, the header has 2',
      'line 8: has 1 column, the header has 2',
    ])
    expect(new Set(whole.map(({ identity }) => identity)).size).toBe(4)
    let from: string | null = null
    for (const record of whole) {
      const reader = await open('resumed.csv', { identityField: 'id' })
      const page = await reader.readPage({ from, to: null, limit: 1, signal })
      await reader.close()
      expect(page.kind === 'page' && page.records[0]?.problem).toBe(
        record.problem === undefined ? undefined : record.problem,
      )
      from = page.kind === 'page' ? page.to : from
    }
  })

  it('is one without a value in the identity field', async () => {
    const content = 'id,name\n1,Ann\n,Ben\n1,Cleo\n'
    expect(await problemsOf('nameless.csv', content, { identityField: 'id' })).toEqual([
      null,
      'line 3: has no value for id, the identity field',
      null,
    ])
    const records = await readAll('nameless.csv', { identityField: 'id' })
    expect(records.map(({ identity }) => identity).filter((id) => id === '1')).toHaveLength(2)
  })

  it('is one that is too large, or not in the encoding it is said to be in', async () => {
    const large = `id,name\n1,${'x'.repeat(1_100_000)}\n2,b\n`
    expect(await problemsOf('large.csv', large)).toEqual(['line 2: is larger than 1 MiB', null])
    const latin = Buffer.from('id,name\n1,J\u00fcrgen\n2,Ann \u0080\n3,\u00d0\n', 'latin1')
    expect(await problemsOf('latin.csv', latin)).toEqual([
      'line 2: name is not valid UTF-8; set the encoding of the file',
      'line 3: name is not valid UTF-8; set the encoding of the file',
      'line 4: name is not valid UTF-8; set the encoding of the file',
    ])
    expect(await fieldsOf('latin.csv', latin, { encoding: 'windows-1252' })).toEqual([
      { id: '1', name: 'Jürgen' },
      { id: '2', name: 'Ann €' },
      { id: '3', name: 'Ð' },
    ])
    expect(await fieldsOf('sign.csv', 'id,name\n1,\uFFFD\n')).toEqual([{ id: '1', name: '\uFFFD' }])
  })
})

describe('a CSV whose structure breaks', () => {
  it.each([
    ['never closed', '3,"Cleo\n4,Dan\n', 'line 4: the row has a quote that is never closed.'],
    [
      'never closed, and long',
      `3,"${'x\n'.repeat(2_200_000)}`,
      'line 4: the row does not end within 4 MiB',
    ],
  ])('gives what lies before, then fails with the line: a quote %s', async (_, tail, message) => {
    await directory.write('torn.csv', `id,name\n1,Ann\n2,Ben\n${tail}`)
    const reader = await open('torn.csv')
    const page = await reader.readPage({ from: null, to: null, limit: 500, signal })
    expect(page.kind === 'page' && page.records).toHaveLength(2)
    const from = page.kind === 'page' ? page.to : null
    for (let times = 0; times < 2; times += 1) {
      await expect(reader.readPage({ from, to: null, limit: 500, signal })).rejects.toMatchObject({
        code: 'node_failed',
        message: expect.stringContaining(message),
      })
    }
    await reader.close()
  })
})

describe('CSV details', () => {
  it.each([
    ['a byte order mark in front of the header', '\uFEFFid,name\n1,Ann\n', {}],
    ['a byte order mark in front of a quoted header', '\uFEFF"id","name"\n1,Ann\n', {}],
    ['CRLF and no line end at the end', 'id,name\r\n1,Ann', {}],
    ['semicolons', 'id;name\n1;Ann\n', { delimiter: ';' }],
    ['spaces around the names of columns', ' id , name \n1,Ann\n', {}],
    ['blank lines anywhere', '\n\nid,name\n\n1,Ann\n\r\n\n', {}],
  ])('understands %s', async (_, content, options) => {
    expect(await fieldsOf('detail.csv', content, options)).toEqual([{ id: '1', name: 'Ann' }])
  })

  it('takes a tab for the delimiter of a .tsv', async () => {
    expect(await fieldsOf('detail.tsv', 'id\tname\n1\tAnn\n')).toEqual([{ id: '1', name: 'Ann' }])
  })

  it('keeps texts as they are: empty, with spaces, with leading zeros', async () => {
    expect(await fieldsOf('text.csv', 'a,b,c\n, x ,007\n')).toEqual([{ a: '', b: ' x ', c: '007' }])
  })
})

describe('a JSON line', () => {
  it('that is no record is reported with its line, and the lines behind it still come', async () => {
    const deep = `${'['.repeat(80)}${']'.repeat(80)}`
    const lines = [
      '{"id":1}',
      '',
      '{"id":2',
      '[1]',
      'null',
      `{"id":3,"deep":${deep}}`,
      '{"id":4,"name":"a\\u0000b"}',
      '{"id":5,"tags":[{"x":"\\ud800"}]}',
      '{"id":6,"__proto__":{"x":1}}',
      '{"name":"no id"}',
      `{"id":7,"name":"${'x'.repeat(1_100_000)}"}`,
      '{"id":8}',
    ]
    expect(await problemsOf('broken.jsonl', lines.join('\n'), { identityField: 'id' })).toEqual([
      null,
      'line 3: is not valid JSON',
      'line 4: is not a JSON object',
      'line 5: is not a JSON object',
      'line 6: is nested more than 64 levels deep',
      'line 7: name contains a NUL character',
      'line 8: tags has a member that cannot be stored',
      'line 9: has a member named __proto__, which may not be the name of a field',
      'line 10: has no value for id, the identity field',
      'line 11: is larger than 1 MiB',
      null,
    ])
  })

  it('keeps every digit: a number that would be rounded arrives as text', async () => {
    const lines = [
      '{"a":9007199254740991,"b":9007199254740993,"c":-12345678901234567890}',
      '{"a":0.1,"b":0.12345678901234567890,"c":1e3,"d":1e400,"e":"12345678901234567890"}',
      '{"a":{"b":[12345678901234567890]},"a2":1.50}',
    ]
    expect(await fieldsOf('digits.jsonl', lines.join('\n'))).toEqual([
      { a: 9007199254740991, b: '9007199254740993', c: '-12345678901234567890' },
      { a: 0.1, b: '0.12345678901234567890', c: 1000, d: '1e400', e: '12345678901234567890' },
      { a: { b: ['12345678901234567890'] }, a2: 1.5 },
    ])
  })

  it('may hold U+2028, end in CRLF, and name a member twice: the last one counts', async () => {
    expect(
      await fieldsOf('odd.jsonl', '\uFEFF{"a":"x\u2028y"}\r\n{"a":1,"a":2}\r\n{"a":1e0,"a":3e0}'),
    ).toEqual([{ a: 'x\u2028y' }, { a: 2 }, { a: 3 }])
  })
})

describe('the number of records', () => {
  it.each([
    ['plain.csv', 'id\n1\n\n2\r\n3', 3],
    ['quoted.csv', 'id,t\n1,"a\nb"\n2,c\n', 2],
    ['lines.jsonl', '{"t":"\\""}\n\n{}\n', 2],
    ['none.csv', 'id', 0],
  ])('is told for %s', async (name, content, expected) => {
    await directory.write(name, content)
    const reader = await open(name)
    expect(reader.totalRecords).toBe(expected)
    await reader.close()
  })

  it('is not told for a large CSV with quotes', async () => {
    await directory.write('much.csv', `id,t\n${'1,"a"\n'.repeat(200_000)}`)
    const reader = await open('much.csv')
    expect(reader.totalRecords).toBeNull()
    await reader.close()
  })
})
