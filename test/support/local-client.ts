/** The HTTP client of tests, whose stand-ins are on this machine: the one place that allows them to be reached. */
import { type AddressGuard, createAddressGuard } from '../../src/connectors/address-guard.ts'
import { createHttpClient, type HttpClient } from '../../src/connectors/http-client.ts'
import { systemClock } from '../../src/runtime/clock.ts'

const LOOPBACK = ['127.0.0.0/8', '::1/128']

/** The same, for processes of the app. */
export const LOCAL_ENVIRONMENT = { ALLOWED_PRIVATE_RANGES: LOOPBACK.join(',') }

export const LOCAL_GUARD: AddressGuard = createAddressGuard({ allowedRanges: LOOPBACK })

export function createLocalClient(): HttpClient {
  return createHttpClient({ clock: systemClock, guard: LOCAL_GUARD })
}
