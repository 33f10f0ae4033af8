/**
 * The auditor: what must be true of a sync once nothing runs any more, told from its file.
 *
 * An independent model. It uses nothing of the product: it parses the file and maps its rows by itself, and
 * compares that with what the destination did and with what the database says. Delivery keys are taken as
 * the 32 bytes that they are documented to be: page digest, position, record digest.
 *
 * What may be missing at the destination is only what somebody can see: a held record, one that was refused and set
 * aside, a record in doubt (an open intent names it, or one that it shares its identity with), or one that was
 * refused and overtaken by a later record of the same contact.
 */
import type { Evidence, MappedRecord, StoredPage, StoredRun } from './evidence.ts'
import { canonical, groupBy, type ModelRow, RowModel, readCursor } from './row-model.ts'

export type FindingKind =
  | 'doubled'
  | 'lost'
  | 'invented'
  | 'stale'
  | 'ledger'
  | 'checkpoint'
  | 'held'
  | 'intent'
  | 'books'
  | 'history'

export interface Finding {
  readonly kind: FindingKind
  readonly sync: string
  readonly detail: string
}

export interface Audit {
  readonly findings: readonly Finding[]
  readonly records: number
  readonly effects: number
  readonly doubled: number
  readonly lost: number
  readonly held: number
  readonly setAside: number
  readonly inDoubt: number
}

/** Findings of one kind that are told in full; the rest are counted. */
const MAX_TOLD = 5

export function audit(evidence: Evidence): Audit {
  const model = new RowModel(evidence)
  const checks = new Checks(evidence, model)
  const findings = [
    ...checks.checkDoubled(),
    ...checks.checkMissing(),
    ...checks.checkLedger(),
    ...checks.checkOrder(),
    ...checks.checkReached(),
    ...checks.checkSavedCursor(),
    ...checks.checkOpenPages(),
    ...checks.checkHeld(),
    ...checks.checkIntents(),
    ...checkRuns(evidence),
    ...checks.checkLastRun(),
    ...checkAttempts(evidence),
  ].map(([kind, detail]): Finding => ({ kind, sync: evidence.name, detail }))
  const count = (kind: FindingKind) => findings.filter((finding) => finding.kind === kind).length
  return {
    findings: limit(findings),
    records: model.rows.length,
    effects: evidence.effects.length,
    doubled: count('doubled'),
    lost: count('lost'),
    held: evidence.held.length,
    setAside: evidence.setAside,
    inDoubt: model.rows.filter((row) => row.state === 'in_doubt').length,
  }
}

/** What every ledger of the syncs together must not hold: a key that no destination ever applied. */
export function auditLedger(
  ledgerKeys: Iterable<string>,
  appliedKeys: ReadonlySet<string>,
): Finding[] {
  const unapplied = [...ledgerKeys].filter((key) => !appliedKeys.has(key))
  return limit(
    unapplied.map((key) => ({
      kind: 'ledger',
      sync: '(all)',
      detail: `The ledger has the key ${key} as delivered; no destination ever applied it.`,
    })),
  )
}

export type Told = readonly [FindingKind, string]

class Checks {
  readonly #evidence: Evidence
  readonly #model: RowModel

  constructor(evidence: Evidence, model: RowModel) {
    this.#evidence = evidence
    this.#model = model
  }

  *checkDoubled(): Iterable<Told> {
    for (const [key, effects] of groupBy(this.#evidence.effects, (effect) => effect.key)) {
      if (effects.length > 1) {
        yield ['doubled', `The key ${key} took effect ${effects.length} times.`]
      }
    }
    for (const [content, effects] of this.#model.effectsOf) {
      const rows = this.#model.rowsOf.get(content) ?? []
      const keys = new Set(effects.map((effect) => effect.key)).size
      if (rows.length === 0) {
        yield ['invented', `${content} was written and is not in the file.`]
      } else if (keys > rows.length) {
        const where = `${keys} keys, ${rows.length} rows, first row ${rows[0]?.index}`
        yield [
          'doubled',
          `The same record took effect under more keys than it has rows (${where}).`,
        ]
      }
    }
  }

  *checkMissing(): Iterable<Told> {
    for (const row of this.#model.rows) {
      if (row.state === 'missing') {
        const isThere = this.#model.effectsOf.has(row.content)
        const what = isThere ? 'is at the destination, unknown to the ledger' : 'was never written'
        yield ['lost', `Row ${row.index} ${what}; it is neither held, set aside nor in doubt.`]
      }
    }
  }

  /** The ledger and the destination tell the same, but for what is in doubt. */
  *checkLedger(): Iterable<Told> {
    const reserved = new Set(this.#evidence.intents.flatMap((intent) => intent.keys))
    for (const key of this.#model.contentOfKey.keys()) {
      if (!this.#evidence.ledgerKeys.has(key) && !reserved.has(key)) {
        yield ['ledger', `The key ${key} took effect; neither ledger nor an intent knows of it.`]
      }
    }
    for (const key of reserved) {
      if (this.#evidence.ledgerKeys.has(key)) {
        yield ['ledger', `The key ${key} is completed and still reserved.`]
      }
    }
    for (const [content, rows] of this.#model.rowsOf) {
      const held = rows.filter((row) => row.state === 'held').length
      const completed = this.#model.completedOf.get(content) ?? 0
      if (completed + held > rows.length) {
        yield ['ledger', `Row ${rows[0]?.index} is delivered, and held as well.`]
      }
    }
  }

  /** The destination's last value of a contact is the last one of the file that could be delivered. */
  *checkOrder(): Iterable<Told> {
    const last = new Map<string, string>()
    for (const effect of this.#evidence.effects) {
      last.set(this.#model.nameOf(effect.record as MappedRecord), canonical(effect.record))
    }
    for (const [name, rows] of groupBy(this.#model.rows, (row) => this.#model.nameOf(row.record))) {
      if (rows.some((row) => row.state === 'in_doubt')) {
        continue
      }
      const expected = rows.findLast((row) => row.state === 'delivered')
      if (expected && last.get(name) !== expected.content) {
        const found = rows.findLast((row) => row.content === last.get(name))
        yield [
          'stale',
          `${name} ends as row ${found?.index ?? '?'}, its last value is row ${expected.index}.`,
        ]
      }
    }
  }

  *checkReached(): Iterable<Told> {
    const { fence, fileText } = this.#evidence
    const { rows } = this.#model
    const end = Buffer.byteLength(fileText)
    const reached = readCursor(fence.reached)
    if (rows.length > 0 && (reached.offset !== end || reached.record !== rows.length)) {
      yield [
        'checkpoint',
        `Delivery reached record ${reached.record}, byte ${reached.offset}; the file has ${rows.length} records, ${end} bytes.`,
      ]
    }
  }

  *checkSavedCursor(): Iterable<Told> {
    const { fence, openPages } = this.#evidence
    const [front] = openPages
    const expected = front ? front.fromCursor : fence.reached
    const saved = readCursor(fence.savedCursor).record
    if (fence.savedCursor !== expected) {
      const why = front ? 'the oldest open page begins' : 'no page is open, delivery ended'
      const at = readCursor(expected).record
      yield ['checkpoint', `The saved cursor is at record ${saved}; ${why} at ${at}.`]
    }
    for (const row of this.#model.rows) {
      if (row.index < saved && !HAS_LEFT.has(row.state)) {
        yield ['checkpoint', `Row ${row.index} (${row.state}) lies before the saved cursor.`]
      }
    }
  }

  *checkOpenPages(): Iterable<Told> {
    for (const page of this.#evidence.openPages) {
      const at = readCursor(page.fromCursor).record
      if (!page.isPassed) {
        yield ['checkpoint', `The page at ${at} was never passed.`]
      }
      if (!this.#isKeptFor(page)) {
        yield ['checkpoint', `The page at ${at} is open, and nothing in it is held or in doubt.`]
      }
    }
  }

  /** Held is only what the destination refused: nobody is rejected for a neighbour. */
  *checkHeld(): Iterable<Told> {
    for (const row of this.#model.rows) {
      if (row.state === 'held' && !this.#evidence.wasRefused(row.record)) {
        yield ['held', `Row ${row.index} is held; the destination never refused it.`]
      }
    }
    const rows = this.#model.rows.filter((row) => row.state === 'set_aside').length
    if (rows < this.#evidence.setAside) {
      const all = this.#evidence.setAside
      yield ['held', `The list has ${all} records set aside; that can be true of ${rows} rows.`]
    }
  }

  *checkIntents(): Iterable<Told> {
    const { intents, deliveryClass, openPages, fence } = this.#evidence
    const pages = new Set(openPages.map((page) => page.pageDigest))
    for (const intent of intents) {
      const where = `for positions ${intent.positions.join(', ')} of page ${intent.pageDigest}`
      if (deliveryClass !== 'NONE') {
        yield ['intent', `An intent is left ${where}, which nobody has to settle.`]
      }
      if (!pages.has(intent.pageDigest)) {
        yield ['intent', `An intent is left ${where}, which is closed: nobody will ever settle it.`]
      }
      if (intent.epoch > fence.epoch) {
        yield ['intent', `An intent ${where} is of epoch ${intent.epoch}, past ${fence.epoch}.`]
      }
    }
  }

  /** The last run tells what is still not delivered, no more and no less. */
  *checkLastRun(): Iterable<Told> {
    const last = this.#evidence.runs.at(-1)
    if (!last || (last.status !== 'succeeded' && last.status !== 'partial')) {
      yield ['history', `The last run ended as ${last?.status ?? 'none'}.`]
      return
    }
    const count = (state: ModelRow['state']) =>
      this.#model.rows.filter((r) => r.state === state).length
    // A held record that was overtaken, or that has come into doubt since, was rejected by this run or before.
    const held = this.#model.rows.filter((row) => row.state === 'held')
    const doubtful = held.filter((row) => this.#model.isDoubtful(row)).length
    const surely = held.filter((r) => !this.#model.isOvertaken(r) && !this.#model.isDoubtful(r))
    if (last.rejected < surely.length || last.rejected > held.length) {
      yield ['books', `The last run counts ${last.rejected} rejected; ${held.length} are held.`]
    }
    const inDoubt = count('in_doubt')
    if (last.inDoubt < inDoubt || last.inDoubt > inDoubt + doubtful) {
      yield ['books', `The last run counts ${last.inDoubt} in doubt; ${inDoubt} records are.`]
    }
    const sum = (of: (run: StoredRun) => number) =>
      this.#evidence.runs.reduce((total, run) => total + of(run), 0)
    const delivered = this.#evidence.ledgerKeys.size
    if (sum((run) => run.written) > delivered) {
      const written = sum((run) => run.written)
      yield ['books', `The runs wrote ${written} records; the ledger has ${delivered}.`]
    }
    if (sum((run) => run.written + run.replayed) < delivered) {
      const told = sum((run) => run.written + run.replayed)
      yield ['books', `The runs wrote or replayed ${told} records; the ledger has ${delivered}.`]
    }
  }

  #isKeptFor(page: StoredPage): boolean {
    const { held, intents } = this.#evidence
    const from = readCursor(page.fromCursor).record
    const to = readCursor(page.toCursor).record
    return (
      held.some((record) => record.pageDigest === page.pageDigest) ||
      intents.some((intent) => intent.pageDigest === page.pageDigest) ||
      this.#model.rows.some(
        (row) => row.state === 'in_doubt' && row.index >= from && row.index < to,
      )
    )
  }
}

/** What keeps no page open. */
const HAS_LEFT: ReadonlySet<ModelRow['state']> = new Set(['delivered', 'overtaken', 'set_aside'])

export function* checkRuns({ runs }: Pick<Evidence, 'runs'>): Iterable<Told> {
  for (const run of runs) {
    const sum =
      run.written + run.replayed + run.rejected + run.inDoubt + run.quarantined + run.skipped
    if (run.read !== sum) {
      yield ['books', `The run ${run.id} read ${run.read} records and tells of ${sum}.`]
    }
    if (run.status === 'succeeded' && run.rejected + run.inDoubt + run.quarantined > 0) {
      yield ['books', `The run ${run.id} succeeded with records rejected, set aside or in doubt.`]
    }
    if (run.status === 'queued' || run.status === 'running') {
      yield ['history', `The run ${run.id} is still ${run.status}.`]
    }
  }
}

export function* checkAttempts({
  runs,
  attempts,
  fence,
}: Pick<Evidence, 'runs' | 'attempts' | 'fence'>): Iterable<Told> {
  let before = 0
  const inOrder = [...attempts].sort((a, b) => a.epoch - b.epoch)
  for (const attempt of inOrder) {
    if (attempt.epoch <= before) {
      yield ['history', `Two attempts of the sync have the epoch ${attempt.epoch}.`]
    }
    before = attempt.epoch
    if (!attempt.isClosed) {
      yield ['history', `Attempt ${attempt.number} of run ${attempt.runId} was never closed.`]
    }
  }
  for (const run of runs) {
    const own = attempts.filter((attempt) => attempt.runId === run.id)
    const sorted = [...own].sort((a, b) => a.number - b.number)
    if (sorted.some((attempt, n) => attempt.number !== n + 1)) {
      yield ['history', `The attempts of run ${run.id} are not numbered one by one.`]
    }
    if (sorted.some((attempt, n) => n > 0 && attempt.epoch <= (sorted[n - 1]?.epoch ?? 0))) {
      yield ['history', `The epochs of run ${run.id} do not rise from attempt to attempt.`]
    }
    if (sorted.some((attempt) => attempt.epoch > run.epoch)) {
      yield ['history', `An attempt of run ${run.id} has a later epoch than the run.`]
    }
  }
  if (before > fence.epoch) {
    yield ['history', `The fence stands at ${fence.epoch}, an attempt had ${before}.`]
  }
}

export function limit(findings: readonly Finding[]): Finding[] {
  const told = new Map<FindingKind, number>()
  return findings.filter(({ kind }) => {
    const count = (told.get(kind) ?? 0) + 1
    told.set(kind, count)
    return count <= MAX_TOLD
  })
}
