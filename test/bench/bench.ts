/**
 * `npm run bench -- ledger`, `delivery`, `rows`, `history`, `subscriptions` or `wake`: ratios of ours to a bare floor, or what
 * clients get, measured in one run.
 *
 * Exit code 1 when a figure misses its bar.
 */
import { benchDelivery } from './delivery.ts'
import { benchHistory } from './history.ts'
import { benchLedger } from './ledger.ts'
import { benchRows } from './rows.ts'
import { benchSubscriptions } from './subscriptions.ts'
import { benchWake } from './wake.ts'

const BENCHES: Readonly<Record<string, () => Promise<boolean>>> = {
  ledger: benchLedger,
  delivery: benchDelivery,
  rows: benchRows,
  history: benchHistory,
  subscriptions: benchSubscriptions,
  wake: benchWake,
}

const name = process.argv[2] ?? ''
const bench = BENCHES[name]
if (!bench) {
  console.error(`Usage: npm run bench -- ${Object.keys(BENCHES).join(' | ')}`)
  process.exit(2)
}
process.exit((await bench()) ? 0 : 1)
