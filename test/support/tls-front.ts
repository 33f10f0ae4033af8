/**
 * Speaks PostgreSQL's TLS in front of a server that does not, with a certificate for `localhost` that nobody signed. Its key
 * is no secret: it stands here.
 */
import { connect, createServer } from 'node:net'
import { TLSSocket } from 'node:tls'

export const LOCALHOST_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBlDCCATugAwIBAgIUbyfAao2PMJFQSk7NAeND0vs/x58wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTIwMTE2MDQzNloYDzIxMjYxMTA3
MTYwNDM2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASCni8T/SxgZExN434pOIrkcsKu36wtFIrDjelLuW9TqSOHlO43YW1X
DEhvTdNkiZngRsblT+AHdElpmPBJn1MPo2kwZzAdBgNVHQ4EFgQU/SzQHp/u6Iey
/Y6XL+AS9Ns6DKQwHwYDVR0jBBgwFoAU/SzQHp/u6Iey/Y6XL+AS9Ns6DKQwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
RwAwRAIgeq63PJJWzLJYGfol+AgUXGgQSO5LZADnR5Wmof/C3mcCIBRqNy+Au6gQ
eom44VYsm1YAc2gSLIBkA6bhoYo/1iQy
-----END CERTIFICATE-----
`

const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsaa0g2ogUFGMJEo7
khubXga/ZBu04iI5YogBTN/wFJWhRANCAASCni8T/SxgZExN434pOIrkcsKu36wt
FIrDjelLuW9TqSOHlO43YW1XDEhvTdNkiZngRsblT+AHdElpmPBJn1MP
-----END PRIVATE KEY-----
`

export interface TlsFront {
  readonly port: number
  close(): void
}

/** `slipped`: bytes that somebody puts behind the answer, before the encryption begins. */
export async function startTlsFront(
  target: { readonly host: string; readonly port: number },
  slipped = '',
): Promise<TlsFront> {
  const server = createServer((plain) => {
    plain.on('error', () => undefined)
    plain.once('data', () => {
      plain.write(`S${slipped}`)
      const secure = new TLSSocket(plain, { isServer: true, key: KEY, cert: LOCALHOST_CERTIFICATE })
      const behind = connect(target)
      secure.on('error', () => behind.destroy())
      behind.on('error', () => secure.destroy())
      secure.pipe(behind).pipe(secure)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    close: () => server.close(),
  }
}
