/** The key by which a mutation can be repeated safely: every input of one has it. */
import type { builder } from './builder.ts'

type InputFields = Parameters<
  NonNullable<Parameters<typeof builder.inputType<'', never>>[1]['fields']>
>[0]

/** For each input of a mutation; its resolver hands it to the command. */
export function clientKeyField(t: InputFields) {
  return t.string({
    description:
      'Your own key for this very request, such as a UUID, of 1 to 200 characters. The same request with the same key is done once, however often it is sent: a repetition answers what the first one did, and a refusal leaves the key free. It is remembered for 7 days.',
  })
}
