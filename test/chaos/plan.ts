/**
 * What a chaos run is made of: syncs with their files, drawn from a seed.
 *
 * The mapping is stated twice on purpose: here as the product is told it, and in the auditor as a function
 * of its own. Rows that the destination refuses carry a word in their note, so that the destination, the
 * plan and the auditor need no list between them.
 */
import type { Chance } from './seeded.ts'

/** Refused for ever. */
export const REFUSED = 'refused-always'
/** Refused until the destination is mended. */
export const REFUSED_FIRST = 'refused-first'

export const MAPPING = {
  id: { $path: 'id' },
  contact: { $path: 'contact' },
  email: { $case: { value: { $path: 'email' }, to: 'LOWER' } },
  label: { $template: '{{first}} {{last}}' },
  note: { $path: 'note' },
  origin: { $const: 'chaos' },
}

export interface SyncPlan {
  readonly name: string
  /** Which of the workspaces it belongs to. */
  readonly workspace: number
  /** What the file holds at first, and what is appended before the sync runs again. */
  readonly fileText: string
  readonly appendedText: string
  readonly deliveryClass: 'IDEMPOTENT' | 'LOOKUP' | 'NONE'
  readonly onRejected: 'HOLD' | 'QUARANTINE'
  readonly path: 'RECORD' | 'PAGE'
  /** Calls are taken in and carried out later; only with the path PAGE. */
  readonly isImported: boolean
  /** Of the first and of the later run: another page size must not send anything again. */
  readonly pageSizes: readonly [number, number]
  readonly maxRecordsPerCall: number
  readonly concurrency: number
  /** The source names its rows by `id`; else they are known by their content. */
  readonly isSourceNamed: boolean
  /** The destination knows records by `contact`, of which there may be several; else by the source's name. */
  readonly isContactKnown: boolean
  /** A page with a refused record is refused as a whole, and has to be split. */
  readonly isRefusedWhole: boolean
  readonly requestDeadlineMs: number
  /** Share of the calls that meet trouble. */
  readonly trouble: number
}

export interface PlanOptions {
  readonly name: string
  readonly workspaces: number
  readonly maxRows: number
  /** Whether the destination may refuse records. */
  readonly hasRefusals: boolean
}

const FIRST_NAMES = ['Ada', 'José', 'Łucja', '愛', "D'Arcy", 'Zoë'] as const
const NOTES = ['plain', 'with, comma', 'with "quotes"', 'with\nline feed', 'ünïcödé ✓'] as const

export function drawSync(chance: Chance, options: PlanOptions): SyncPlan {
  const path = chance.pick<SyncPlan['path']>(['RECORD', 'PAGE'])
  const deliveryClass = chance.pick<SyncPlan['deliveryClass']>(['IDEMPOTENT', 'LOOKUP', 'NONE'])
  const isContactKnown = chance.isTrue(0.5)
  const isSourceNamed = chance.isTrue(0.7)
  const rows = drawRows(chance, options.maxRows)
  const draw = { isContactKnown, isSourceNamed, hasRefusals: options.hasRefusals }
  const lines = drawLines(chance, { ...draw, from: 0, rows })
  const appended = chance.isTrue(0.7) ? chance.whole(1, 40) : 0
  return {
    name: options.name,
    workspace: chance.whole(0, options.workspaces - 1),
    fileText: `id,contact,email,first,last,note\n${lines}`,
    appendedText: drawLines(chance, { ...draw, from: rows, rows: appended }),
    deliveryClass,
    path,
    isImported: path === 'PAGE' && chance.isTrue(0.4),
    pageSizes: [drawPageSize(chance, rows), drawPageSize(chance, rows)],
    maxRecordsPerCall: chance.pick([500, 10, 25]),
    concurrency: path === 'RECORD' ? chance.whole(1, 8) : chance.whole(1, 3),
    isSourceNamed,
    isContactKnown,
    isRefusedWhole: chance.isTrue(0.4),
    requestDeadlineMs: 1_000,
    // What was left without an answer has to wait for its quiet time before it can be looked up.
    trouble: chance.pick([0, 0.01, 0.03]) / (deliveryClass === 'LOOKUP' ? 10 : 1),
    onRejected: chance.pick<SyncPlan['onRejected']>(['HOLD', 'QUARANTINE']),
  }
}

let drawn = 0

/** A sync that meets no trouble of its own: many small calls, so that a fault finds it under way. */
export function drawQuietSync(
  given: Partial<SyncPlan> & Pick<SyncPlan, 'name' | 'deliveryClass'>,
): SyncPlan {
  drawn += 1
  const rows = Array.from(
    { length: 400 },
    (_, n) => `r${n},c${n},u${n}@example.com,Ada,${n},plain ${n}`,
  )
  return {
    workspace: 0,
    fileText: `id,contact,email,first,last,note\n${rows.join('\n')}\n`,
    appendedText: '',
    path: 'PAGE',
    isImported: false,
    pageSizes: [10, 10],
    maxRecordsPerCall: 5,
    concurrency: 2,
    isSourceNamed: true,
    isContactKnown: true,
    isRefusedWhole: false,
    requestDeadlineMs: 2_000,
    trouble: 0,
    onRejected: 'HOLD',
    ...given,
    name: `${given.name}-${drawn}`,
  }
}

/** Mostly some hundred; also none, one, and the most. */
function drawRows(chance: Chance, most: number): number {
  const sizes = [0, 1, chance.whole(2, 60), most, chance.whole(60, most), chance.whole(60, most)]
  return Math.min(most, sizes[chance.whole(0, sizes.length - 1)] ?? most)
}

/** Never so small that a run has more than about a hundred pages: then checkpoints are all it does. */
function drawPageSize(chance: Chance, rows: number): number {
  const least = Math.max(1, Math.ceil(rows / 100))
  return Math.max(least, chance.pick([3, 7, 10, 25, 50, 100, 500]))
}

interface LinesToDraw {
  readonly from: number
  readonly rows: number
  readonly isContactKnown: boolean
  readonly isSourceNamed: boolean
  readonly hasRefusals: boolean
}

function drawLines(chance: Chance, draw: LinesToDraw): string {
  let text = ''
  for (let n = draw.from; n < draw.from + draw.rows; n += 1) {
    text += drawLine(chance, draw, n)
  }
  return text
}

function drawLine(chance: Chance, draw: LinesToDraw, n: number): string {
  // A row that comes twice, to the letter: only where nothing names the rows.
  const isTwin = !draw.isSourceNamed && n > 0 && chance.isTrue(0.03)
  const id = isTwin ? 'twin' : `r${n}`
  const contact =
    isTwin || (draw.isContactKnown && n > 0 && chance.isTrue(0.08))
      ? `c${isTwin ? 'twin' : chance.whole(0, n)}`
      : `c${n}`
  const isRefused = draw.hasRefusals && !isTwin && chance.isTrue(0.01)
  const note = isTwin ? 'twin' : `${chance.pick(NOTES)} ${n}`
  const word = isRefused ? ` ${chance.pick([REFUSED, REFUSED_FIRST])}` : ''
  const first = isTwin ? 'Ada' : chance.pick(FIRST_NAMES)
  const cells = [id, contact, `User.${id}@Example.COM`, first, `No ${id}`, `${note}${word}`]
  return `${cells.map(quote).join(',')}\n`
}

function quote(cell: string): string {
  return /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
