/**
 * docs/guarantees.md promises nothing that no test shows: every sentence of its lists names tests, and each
 * of them is in the source by that title. A test that is renamed, moved or removed turns this one red.
 */
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGE = readFileSync(join(ROOT, 'docs/guarantees.md'), 'utf8')

/** What a footnote names: a test of a file and, of one that is run for many cases, one of them. */
interface NamedTest {
  readonly label: string
  readonly path: string
  readonly title: string
  readonly example: string | null
}

interface Footnotes {
  readonly body: string
  readonly notes: ReadonlyMap<string, string>
}

const { body, notes } = splitFootnotes(PAGE)
const sentences = listItems(body).flatMap(splitSentences)

describe('docs/guarantees.md', () => {
  it('has a list of promises and one of limits', () => {
    const headings = [...body.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(expect.arrayContaining(['Nothing is lost', 'Where it ends']))
    expect(sentences.length).toBeGreaterThan(50)
  })

  it('names tests for each sentence of its lists', () => {
    expect(sentences.filter(({ marks }) => marks.length === 0).map(({ text }) => text)).toEqual([])
  })

  it('has a footnote for every mark, and a mark for every footnote', () => {
    const marked = sentences.flatMap(({ marks }) => marks)
    expect(new Set(marked)).toEqual(new Set(notes.keys()))
    expect([...body.matchAll(/\[\^/g)]).toHaveLength(marked.length)
  })

  it.each([...notes])('names in [^%s] nothing but tests that exist', (_, note) => {
    const named = readNote(note)
    expect(named.length).toBeGreaterThan(0)
    for (const test of named) {
      expect(test.label).toBe(basename(test.path))
      expect(test.path).toMatch(/^test\/.+\.test\.ts$/)
      expect(existsSync(join(ROOT, test.path))).toBe(true)
      expect(titlesIn(test.path)).toContain(test.title)
      if (test.example !== null) {
        expect(textsAround(test.path)).toContain(test.example)
      }
    }
  })
})

describe('the reading of docs/guarantees.md', () => {
  it('finds the sentence without a mark, wherever it stands', () => {
    const found = (item: string) => splitSentences(item).map(({ marks }) => marks.length)
    expect(found('One holds.[^a] Two holds.[^b]')).toEqual([1, 1])
    expect(found('One holds. Two holds.[^b]')).toEqual([0, 1])
    expect(found('**A name.** One `a.b` holds.[^a] Two do.')).toEqual([1, 0])
  })

  it('takes only whole footnotes: file, title and, where there is one, the case', () => {
    const link = '[a.test.ts](../test/a.test.ts)'
    expect(readNote(`${link} "b"; ${link} "c %s" for "d"`)).toMatchObject([
      { title: 'b', example: null },
      { title: 'c %s', example: 'd' },
    ])
    expect(() => readNote(`${link}`)).toThrow(/names no test/)
    expect(() => readNote(`${link} "b", and some more`)).toThrow(/names no test/)
  })

  it('knows the titles of tests and not of their suites', () => {
    const titles = titlesIn('test/unit/guarantees.test.ts')
    expect(titles).toContain('names tests for each sentence of its lists')
    expect(titles).toContain('names in [^%s] nothing but tests that exist')
    expect(titles).not.toContain('docs/guarantees.md')
  })
})

/** The text in front of the footnotes, and these by their marks; a line that is indented goes on with one. */
function splitFootnotes(page: string): Footnotes {
  const found = new Map<string, string>()
  const rest: string[] = []
  let mark: string | null = null
  for (const line of page.split('\n')) {
    const [, begun, text = ''] = /^\[\^([\w-]+)\]: (.+)$/.exec(line) ?? []
    if (begun !== undefined) {
      if (found.has(begun)) {
        throw new Error(`The page has two footnotes ${begun}.`)
      }
      mark = begun
      found.set(mark, text)
    } else if (mark !== null && /^ {4}\S/.test(line)) {
      found.set(mark, `${found.get(mark)} ${line.trim()}`)
    } else {
      mark = null
      rest.push(line)
    }
  }
  return { body: rest.join('\n'), notes: found }
}

/** The items of the lists, each in one line. */
function listItems(text: string): string[] {
  return [...text.matchAll(/^- .+(?:\n {2}\S.*)*/gm)].map(([item]) =>
    item.slice(2).replace(/\s*\n\s+/g, ' '),
  )
}

/** Sentences with their marks. What is bold at the beginning of an item is its name. */
function splitSentences(item: string): { text: string; marks: string[] }[] {
  const parts = item.replace(/^\*\*.+?\*\* /, '').split(/(?<=[.!?](?:\[\^[\w-]+\])*) (?=\p{Lu})/u)
  return parts.map((part) => ({
    text: part.replace(/\[\^[\w-]+\]/g, ''),
    marks: [...part.matchAll(/\[\^([\w-]+)\]/g)].map(([, mark = '']) => mark),
  }))
}

function readNote(note: string): readonly NamedTest[] {
  return note.split(/; (?=\[)/).map((part) => {
    const [whole, label = '', path = '', title = '', example = null] =
      /^\[([^\]]+)\]\(\.\.\/([^)]+)\) "([^"]+)"(?: for "([^"]+)")?$/.exec(part.trim()) ?? []
    if (whole === undefined) {
      throw new Error(`This names no test: ${part}`)
    }
    return { label, path, title, example }
  })
}

/** The titles that tests of the file are given, as they stand in the source: with `%s`, and `${…}` of a template. */
function titlesIn(path: string): readonly string[] {
  const titles: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && calledName(node.expression) === 'it') {
      titles.push(...node.arguments.slice(0, 1).flatMap(textOf))
    }
    ts.forEachChild(node, visit)
  }
  visit(parse(path))
  return titles
}

/** `it` of `it(…)`, `it.each(…)(…)` and the like; other calls are other names. */
function calledName(expression: ts.Expression): string | null {
  if (ts.isIdentifier(expression)) {
    return expression.text
  }
  return ts.isPropertyAccessExpression(expression) || ts.isCallExpression(expression)
    ? calledName(expression.expression)
    : null
}

/** The texts in a test file and in those beside it that it imports, among which are the cases of its tests. */
function textsAround(path: string): ReadonlySet<string> {
  const file = parse(path)
  const imported = file.statements
    .filter(ts.isImportDeclaration)
    .flatMap(({ moduleSpecifier }) => textOf(moduleSpecifier))
    .filter((from) => from.startsWith('./'))
    .map((from) => parse(join(dirname(path), from)))
  const texts = new Set<string>()
  const visit = (node: ts.Node): void => {
    for (const text of textOf(node)) {
      texts.add(text)
    }
    ts.forEachChild(node, visit)
  }
  for (const source of [file, ...imported]) {
    visit(source)
  }
  return texts
}

function textOf(node: ts.Node): string[] {
  if (ts.isStringLiteralLike(node)) {
    return [node.text]
  }
  return ts.isTemplateExpression(node) ? [node.getText().slice(1, -1)] : []
}

function parse(path: string): ts.SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
}
