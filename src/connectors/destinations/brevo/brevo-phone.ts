/** Phone numbers as Brevo takes them: with the country's code, in no other form than E.164. */
import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js/min'

/** Attributes that hold a phone number and name a contact by it. */
export const PHONE_ATTRIBUTES: readonly string[] = ['SMS', 'WHATSAPP', 'LANDLINE_NUMBER']

/** `+4917…`; null: it is no number, or not told of which country. `country`: of numbers without a code. */
export function normalisePhone(text: string, country: string | undefined): string | null {
  // With two zeros in front it is told from abroad, as with a plus.
  const international = text.trim().replace(/^00(?=[1-9])/, '+')
  const parsed = parsePhoneNumberFromString(international, {
    extract: false,
    ...(country === undefined ? {} : { defaultCountry: country as CountryCode }),
  })
  return parsed?.isPossible() ? parsed.number : null
}
