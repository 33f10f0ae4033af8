/** docs/alerts.md: its example verifies what the webhook really sends. */

import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { createWebhookChannel } from '../../src/watch/channels/webhook.ts'
import { makeNotice } from '../support/alerts.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

type ReadAlert = (secret: string, headers: object, body: string) => unknown

const text = readFileSync(new URL('../../docs/alerts.md', import.meta.url), 'utf8')
const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const HOUR_MS = 3_600_000

describe('the example of docs/alerts.md', () => {
  let directory: string
  let receiver: WebhookReceiver
  let readAlert: ReadAlert

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tajo-test-example-'))
    receiver = await startWebhookReceiver()
    const path = join(directory, 'example.mjs')
    await writeFile(path, /^```js\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? '')
    const example: { readonly readAlert: ReadAlert } = await import(
      /* @vite-ignore */ pathToFileURL(path).href
    )
    readAlert = example.readAlert
  })
  afterAll(async () => {
    await receiver.close()
    await rm(directory, { recursive: true, force: true })
  })
  const receive = async (clock = systemClock) => {
    const channel = createWebhookChannel({ url: receiver.url, secret: SECRET }, clock)
    await channel.send(makeNotice(), new AbortController().signal)
    const request = receiver.requests.at(-1)
    if (!request) {
      throw new Error('Nothing was sent.')
    }
    return request
  }

  it('reads what was sent, as the page shows it', async () => {
    const { headers, body } = await receive()
    const shown = JSON.parse(/^```json\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? '')
    const read = readAlert(SECRET, headers, body) as typeof shown
    expect(read).toMatchObject({ type: 'alert.opened' })
    expect(Object.keys(read)).toEqual(Object.keys(shown))
    expect(Object.keys(read.data)).toEqual(Object.keys(shown.data))
  })

  it('refuses another body, another secret, and what is old', async () => {
    const { headers, body } = await receive()
    const other = `whsec_${Buffer.alloc(32, 6).toString('base64')}`
    expect(() => readAlert(SECRET, headers, `${body} `)).toThrow('The signature does not hold.')
    expect(() => readAlert(other, headers, body)).toThrow('The signature does not hold.')
    const old = await receive({ ...systemClock, now: () => new Date(Date.now() - HOUR_MS) })
    expect(() => readAlert(SECRET, old.headers, old.body)).toThrow('The message is too old.')
  })
})
