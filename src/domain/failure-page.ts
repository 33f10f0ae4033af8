/** The page of docs/failures.md, made of the catalogue: what a person reads is what the code says. */
import {
  describeFailure,
  FAILURE_CATALOGUE,
  FAILURE_CODES,
  type FailureCode,
  type FailureOwner,
  type FailureRetry,
  failure,
  type NextMutation,
} from './failure.ts'

const OWNERS = {
  CUSTOMER: 'you: whoever owns the sync and its connections',
  TAJO: 'Tajo; you need not mend anything',
} as const satisfies Record<FailureOwner, string>

const FOLLOWS = {
  yes: 'another attempt of the same run, while it has any left (5 in all; a retry has one)',
  new_run: 'a new run in its place, if the sync is scheduled and active',
  no: 'no other attempt of this run',
} as const satisfies Record<FailureRetry, string>

const MUTATIONS = {
  retry: '`retryRun`',
  reconnect: '`reconnectConnection`, then `retryRun`',
  publish: '`publishSync`',
  resume: '`resumeSync`; after a pause by the failure circuit breaker `publishSync`',
} as const satisfies Record<NextMutation, string>

const HEAD = `# Failures

<!-- Made of the catalogue in src/domain/failure.ts by \`npm run generate:failures\`: change it there. -->

Every run that failed says which of these happened: in the API as \`failure\` of the run and of each of its attempts, with
\`whatHappened\`, \`whatToDo\`, its \`owner\`, the \`nextMutation\`, the step at which it happened, the run's id and a technical
\`detail\`. The detail holds no personal data and no secrets: what was taken out of it stands there as \`[e-mail]\`, \`[number]\`,
\`[token]\`, \`[secret]\` or \`[value]\`. Failed and partial runs are listed by \`failures\`, and leave that list when a retry of them
succeeds. This table is \`failureCatalogue\` in the API ([api.md](api.md)).

A run that is \`PARTIAL\` has no failure: some of its records were rejected, which is for you to mend, or are in doubt only, which
is for Tajo to look into.
`

export function describeCatalogue(): string {
  const rows = FAILURE_CODES.map((code) => {
    const { owner, retried, next } = FAILURE_CATALOGUE[code]
    const mutation = next === null ? '–' : MUTATIONS[next].replace(/[;,].*/, '')
    return `| [\`${code}\`](#${code}) | ${sentenceOf(code)} | ${owner} | ${RETRIED[retried]} | ${mutation} |`
  })
  const table = [
    '| failure | what happened | owner | tried again | mutation |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
  return [HEAD, `${table}\n`, ...FAILURE_CODES.map(describeEntry)].join('\n')
}

const RETRIED = { yes: 'yes', new_run: 'by a new run', no: 'no' } as const satisfies Record<
  FailureRetry,
  string
>

function describeEntry(code: FailureCode): string {
  const { todo, owner, retried, next, causes } = FAILURE_CATALOGUE[code]
  return `## ${code}

**${sentenceOf(code)}**

${causes}

- What to do: ${todo}
- Who: ${OWNERS[owner]}.
- What follows by itself: ${FOLLOWS[retried]}.
- Mutation: ${next === null ? 'none' : MUTATIONS[next]}.
`
}

/** With an end, and with a word in the place of the tool or step. */
function sentenceOf(code: FailureCode): string {
  const subject = SUBJECTS[code]
  const sentence = describeFailure(failure(code, subject === undefined ? {} : { subject }))
  return sentence.endsWith('.') ? sentence : `${sentence}.`
}

const SUBJECTS: Readonly<Partial<Record<FailureCode, string>>> = {
  connection_missing: 'named',
  node_failed: 'reading, mapping or writing',
}
