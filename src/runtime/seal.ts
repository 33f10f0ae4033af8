/**
 * Seals what must not lie open in the database (credentials, rejected rows): AES-256-GCM.
 *
 * A sealed text is bound to the place it was sealed for (`boundTo`): moved to another row it does not
 * open. It starts with the id of its key, so that keys can be rotated. What need only be told from others is digested
 * with that key, and cannot be opened.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto'
import type { Random } from './random.ts'
import { WordedError } from './worded-error.ts'

export interface Sealer {
  seal(plain: string, boundTo: string): string
  /** Throws when the key is another one, the text was changed, or it was sealed for another place. */
  unseal(sealed: string, boundTo: string): string
  /** Tells equal texts without showing them, also to who can guess them: HMAC-SHA-256, 64 hexadecimal characters. */
  digest(plain: string): string
}

export const SEALING_KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** `key`: 32 bytes. Throws RangeError for another length. */
export function createSealer(key: Uint8Array, random: Random): Sealer {
  if (key.length !== SEALING_KEY_BYTES) {
    throw new RangeError(`The sealing key has ${key.length} bytes; it takes ${SEALING_KEY_BYTES}.`)
  }
  const keyId = createHash('sha256').update('key-id').update(key).digest('hex').slice(0, 8)
  // Of its own: what is told apart by one key is not sealed with it.
  const digestKey = createHmac('sha256', key).update('digest-key').digest()
  return {
    digest: (plain) => createHmac('sha256', digestKey).update(plain, 'utf8').digest('hex'),
    seal: (plain, boundTo) => {
      const nonce = random.bytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(boundTo))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return `${keyId}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`
    },
    unseal: (sealed, boundTo) => {
      const [id, text] = sealed.split('.')
      if (id !== keyId || !text) {
        throw new WordedError(
          `The text is sealed with key ${id}, and this process has key ${keyId}.`,
        )
      }
      const bytes = Buffer.from(text, 'base64url')
      // Without the length, a tag cut to 4 bytes would be taken for a whole one.
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(Buffer.from(boundTo))
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      const body = bytes.subarray(NONCE_BYTES + TAG_BYTES)
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
    },
  }
}
