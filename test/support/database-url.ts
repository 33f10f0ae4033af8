/** Addresses of databases on one server. */

/** The same server and options, another database. */
export function withDatabaseName(url: string, name: string): string {
  const address = new URL(url)
  address.pathname = `/${name}`
  return address.href
}
