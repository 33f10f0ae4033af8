/**
 * Seals what must not lie open in the database (credentials, rejected rows): AES-256-GCM.
 *
 * A sealed text is bound to the place it was sealed for (`boundTo`): moved to another row it does not
 * open. It starts with the id of its key, so that keys can be rotated: one key seals, others only open. What need only
 * be told from others is digested with a key, and cannot be opened.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto'
import type { Random } from './random.ts'
import { WordedError } from './worded-error.ts'

export interface Sealer {
  /** The id of the key that seals. Sealed texts begin with that of theirs. */
  readonly keyId: string
  /** The ids of all keys that open, `keyId` first. */
  readonly knownKeyIds: readonly string[]
  seal(plain: string, boundTo: string): string
  /**
   * Throws {@link UnknownKeyError}; and another error when the text was changed, or was sealed for another place.
   */
  unseal(sealed: string, boundTo: string): string
  /**
   * Tells equal texts without showing them, also to who can guess them: HMAC-SHA-256, 64 hexadecimal characters. Under
   * each known key, in the order of `knownKeyIds`: what was digested before a rotation is found by the others.
   */
  digests(plain: string): readonly string[]
}

/** The text was sealed with a key that this process does not have. Nothing is wrong with the text. */
export class UnknownKeyError extends WordedError {
  override readonly name = 'UnknownKeyError'

  constructor(keyId: string, known: readonly string[]) {
    const has = known.length === 1 ? `the key ${known[0]}` : `the keys ${known.join(', ')}`
    super(
      `It is sealed with the key ${keyId}, and this process has ${has}: name that key in CREDENTIALS_OLD_KEYS.`,
    )
  }
}

export const SEALING_KEY_BYTES = 32
/** Length of a key's id, with which a sealed text begins. */
const KEY_ID_LENGTH = 8
const NONCE_BYTES = 12
const TAG_BYTES = 16

interface Key {
  readonly id: string
  readonly bytes: Uint8Array
  /** Of its own: what is told apart by one key is not sealed with it. */
  readonly digestKey: Uint8Array
}

/** `key` seals and opens, `oldKeys` only open: 32 bytes each. Throws RangeError for another length. */
export function createSealer(
  key: Uint8Array,
  random: Random,
  oldKeys: readonly Uint8Array[] = [],
): Sealer {
  const current = toKey(key)
  const known = new Map([current, ...oldKeys.map(toKey)].map((each) => [each.id, each]))
  const knownKeyIds = [...known.keys()]
  return {
    keyId: current.id,
    knownKeyIds,
    digests: (plain) =>
      [...known.values()].map(({ digestKey }) =>
        createHmac('sha256', digestKey).update(plain, 'utf8').digest('hex'),
      ),
    seal: (plain, boundTo) => {
      const nonce = random.bytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', current.bytes, nonce).setAAD(
        Buffer.from(boundTo),
      )
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      const text = Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
      return `${current.id}.${text}`
    },
    unseal: (sealed, boundTo) => {
      const [id = '', text] = sealed.split('.')
      const found = known.get(id)
      if (!found || !text) {
        throw new UnknownKeyError(id.slice(0, KEY_ID_LENGTH), knownKeyIds)
      }
      return open(Buffer.from(text, 'base64url'), found, boundTo)
    },
  }
}

function toKey(bytes: Uint8Array): Key {
  if (bytes.length !== SEALING_KEY_BYTES) {
    throw new RangeError(`A sealing key has ${bytes.length} bytes; it takes ${SEALING_KEY_BYTES}.`)
  }
  const id = createHash('sha256').update('key-id').update(bytes).digest('hex')
  const digestKey = createHmac('sha256', bytes).update('digest-key').digest()
  return { id: id.slice(0, KEY_ID_LENGTH), bytes, digestKey }
}

function open(sealed: Buffer, key: Key, boundTo: string): string {
  // Without the length, a tag cut to 4 bytes would be taken for a whole one.
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(boundTo))
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const body = sealed.subarray(NONCE_BYTES + TAG_BYTES)
  return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
}
