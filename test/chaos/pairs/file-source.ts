/** The `file` source of a pair: a CSV file that grows. A row that changes comes again, further down. */
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { emailOf, type PairSource, type PairSurroundings, type Row } from './pair.ts'

const STREAM = 'rows.csv'

export async function openFileEnd({ directory }: PairSurroundings): Promise<PairSource> {
  const append = (text: string) => appendFile(join(directory, STREAM), text)
  await append('row,id,email,version\n')
  let rows = 0
  return {
    connection: { type: 'file', config: {} },
    stream: STREAM,
    streamOptions: { identityField: 'row' },
    fields: {
      id: { $number: { value: { $path: 'id' } } },
      email: { $path: 'email' },
      version: { $number: { value: { $path: 'version' } } },
    },
    put: (changed) => append(changed.map((row) => toLine(row, ++rows)).join('')),
    remove: null,
    close: () => Promise.resolve(),
  }
}

function toLine({ id, version }: Row, row: number): string {
  return `${row},${id},${emailOf(id)},${version}\n`
}
