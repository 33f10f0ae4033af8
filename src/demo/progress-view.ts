/** How far a run has come: a bar on a terminal, a line now and then elsewhere. */
import { Presets, SingleBar } from 'cli-progress'

export interface ProgressView {
  show(records: number): void
  /** Leaves what is shown and lets other lines follow. */
  pause(): void
}

/** Percent between two lines where there is no terminal. */
const LINE_EVERY_PERCENT = 5

export function createProgressView(total: number): ProgressView {
  return process.stdout.isTTY ? createBar(total) : createLines(total)
}

function createBar(total: number): ProgressView {
  const format = '  {bar} {percentage} %  {value} of {total} records'
  const bar = new SingleBar({ format, stream: process.stdout }, Presets.shades_classic)
  let isShown = false
  return {
    show: (records) => {
      if (!isShown) {
        bar.start(total, records)
        isShown = true
      }
      bar.update(records)
    },
    pause: () => {
      bar.stop()
      isShown = false
    },
  }
}

function createLines(total: number): ProgressView {
  let shownPercent = Number.NEGATIVE_INFINITY
  return {
    show: (records) => {
      const percent = Math.floor((records / total) * 100)
      if (percent >= shownPercent + LINE_EVERY_PERCENT || records === total) {
        shownPercent = percent
        console.log(`  ${percent} %  ${records} of ${total} records`)
      }
    },
    pause: () => {
      shownPercent = Number.NEGATIVE_INFINITY
    },
  }
}
