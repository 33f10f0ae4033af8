/** Tells a page for people, from a proxy, a firewall or a login, from what an API says. */

export function isWebPage(answer: {
  readonly headers: Readonly<Record<string, string>>
  readonly bodyText: string
}): boolean {
  return (
    (answer.headers['content-type'] ?? '').toLowerCase().includes('html') ||
    answer.bodyText.trimStart().startsWith('<')
  )
}
