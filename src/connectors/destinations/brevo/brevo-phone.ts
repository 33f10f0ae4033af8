/**
 * Phone numbers as Brevo takes them: with the country's code, in no other form than E.164.
 *
 * Invariant: a number that can be read in two ways is read in none: the wrong one would be somebody else's.
 */
import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js/min'

/** Attributes that hold a phone number and name a contact by it. */
export const PHONE_ATTRIBUTES: readonly string[] = ['SMS', 'WHATSAPP', 'LANDLINE_NUMBER']

/** `+4917…`; null: it is no number, not told of which country, or ambiguous. `country`: of numbers without a code. */
export function normalisePhone(text: string, country: string | undefined): string | null {
  // With two zeros in front it is told from abroad, as with a plus.
  const told = text.trim().replace(/^00(?=[1-9])/, '+')
  const number = parse(told, country)
  if (number === null || told.startsWith('+')) {
    return number?.number ?? null
  }
  // 491701234567 in Germany: with its country code and no plus, or a number of the town 4917?
  const other = parse(`+${told.replace(/\D/g, '')}`, undefined)
  const isAmbiguous =
    other !== null &&
    other.countryCallingCode === number.countryCallingCode &&
    other.number !== number.number
  return isAmbiguous ? null : number.number
}

function parse(text: string, country: string | undefined) {
  const parsed = parsePhoneNumberFromString(text, {
    extract: false,
    ...(country === undefined ? {} : { defaultCountry: country as CountryCode }),
  })
  // An extension cannot be said in E.164.
  return parsed?.isPossible() && parsed.ext === undefined ? parsed : null
}
