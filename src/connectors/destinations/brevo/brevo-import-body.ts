/**
 * The body of an import: semicolon-separated rows, since of JSON Brevo was seen to ignore a boolean `false`.
 *
 * Invariants: a row names its contact by its address and nothing else (of two contacts that one row names, Brevo
 * deletes one); a cell is empty only where the record says nothing, and then it erases nothing.
 */
import type { AttributeValue, BrevoContact } from './brevo-contact.ts'

/** Brevo takes 10 MB at most and recommends to stay below 8. */
export const MAX_IMPORT_BYTES = 8_000_000

export function makeImportBody(
  contacts: readonly BrevoContact[],
  listIds: readonly number[],
): string {
  const names = [...new Set(contacts.flatMap(({ attributes }) => [...attributes.keys()]))].sort()
  const rows = contacts.map(({ email, attributes }) =>
    [email ?? '', ...names.map((name) => attributes.get(name) ?? '')].map(toCell).join(';'),
  )
  const fileBody = [['EMAIL', ...names].map(toCell).join(';'), ...rows, ''].join('\n')
  return JSON.stringify({
    fileBody,
    listIds,
    updateExistingContacts: true,
    emptyContactsAttributes: false,
    disableNotification: true,
  })
}

function toCell(value: AttributeValue): string {
  const text = String(value)
  return /[";]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
