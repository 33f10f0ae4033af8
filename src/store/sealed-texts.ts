/**
 * Everything that is sealed, by the id of the key it is sealed with: for the change of a key.
 *
 * Invariant: what is sealed anew replaces exactly what was read: whoever has changed, given up or delivered it meanwhile wins.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Handle, Row } from './database.ts'

export const SEALED_KINDS = ['connection', 'rejected_record', 'test_run'] as const
export type SealedKind = (typeof SEALED_KINDS)[number]

/** A sealed text, and what it is bound to. */
export type SealedText = Row & { readonly id: string; readonly sealed: string } & (
    | { readonly kind: 'connection' | 'test_run' }
    | {
        readonly kind: 'rejected_record'
        readonly syncId: string
        readonly pageDigest: string
        readonly position: number
        readonly identityHash: string
      }
  )

const PLACES = {
  connection: {
    ...{ table: sql`connection`, id: sql`id`, sealed: sql`sealed_credentials` },
    boundTo: sql``,
  },
  rejected_record: {
    ...{ table: sql`held_record`, id: sql`id`, sealed: sql`sealed_payload` },
    boundTo: sql`, sync_id as "syncId", encode(page_digest, 'hex') as "pageDigest", position,
                 encode(identity_hash, 'hex') as "identityHash"`,
  },
  test_run: {
    ...{ table: sql`test_run`, id: sql`run_id`, sealed: sql`sealed_records` },
    boundTo: sql``,
  },
} as const satisfies Record<SealedKind, Readonly<Record<string, SQL>>>

/** The index of each table is on this very expression. */
const keyOf = (sealed: SQL) => sql`"left"(${sealed}, 8)`

export type KeyInUse = Row & { readonly kind: SealedKind; readonly keyId: string }

/** The keys that something is sealed with. Walks from key to key, and not from text to text. */
export async function listKeysInUse(db: Handle): Promise<readonly KeyInUse[]> {
  const found = await Promise.all(
    SEALED_KINDS.map((kind) => {
      const { table, sealed } = PLACES[kind]
      const next = (isAfter: SQL) => sql`
        select ${keyOf(sealed)}
        from ${table}
        where ${sealed} is not null ${isAfter}
        order by ${keyOf(sealed)}
        limit 1`
      return db.rows<KeyInUse>(sql`/* sealedTexts.listKeysInUse */
        with recursive used (key_id) as (
          (${next(sql``)})
          union all
          select (${next(sql`and ${keyOf(sealed)} > used.key_id`)})
          from used
          where used.key_id is not null
        )
        select ${kind}::text as kind, key_id as "keyId"
        from used
        where key_id is not null`)
    }),
  )
  return found.flat()
}

/** The next texts after `after` that are sealed with one of the keys. */
export async function listSealedTexts(
  db: Handle,
  wanted: {
    readonly kind: SealedKind
    readonly keyIds: readonly string[]
    readonly after: string | null
    readonly limit: number
  },
): Promise<readonly SealedText[]> {
  const { kind, keyIds, after, limit } = wanted
  const { table, id, sealed, boundTo } = PLACES[kind]
  return await db.rows<SealedText>(sql`/* sealedTexts.listSealedTexts */
    select ${kind}::text as kind, ${id}::text as id, ${sealed} as sealed ${boundTo}
    from ${table}
    where ${keyOf(sealed)} = any(${`{${keyIds.join(',')}}`}::text::text[])
      and ${sealed} is not null and (${after}::uuid is null or ${id} > ${after}::uuid)
    order by ${id}
    limit ${limit}`)
}

/** False: it is another text by now, or none. */
export async function replaceSealedText(
  db: Handle,
  { kind, id: textId, sealed: before }: SealedText,
  after: string,
): Promise<boolean> {
  const { table, id, sealed } = PLACES[kind]
  const replaced = await db.rows(sql`/* sealedTexts.replaceSealedText */
    update ${table}
    set ${sealed} = ${after}
    where ${id} = ${textId}::uuid and ${sealed} = ${before}
    returning 1`)
  return replaced.length > 0
}

/**
 * Whether the answer to a repeated request can, as far as anybody knows, only be found with one of the keys: what a version
 * before this one kept does not say under which.
 */
export async function hasDigests(db: Handle, keyIds: readonly string[]): Promise<boolean> {
  const [row] = await db.rows<{ has: boolean }>(sql`/* sealedTexts.hasDigests */
    select exists (
      select from command_key
      where digest_key_id is null
        or digest_key_id = any(${`{${keyIds.join(',')}}`}::text::text[])) as has`)
  return row?.has ?? false
}

/** Longer than a process that lives is silent. */
const SILENT_FOR = '1 minute'

/** Whether another process lives that seals with another key: it may not even know this one. */
export async function hasOtherSealers(db: Handle, keyId: string): Promise<boolean> {
  const [row] = await db.rows<{ has: boolean }>(sql`/* sealedTexts.hasOtherSealers */
    select exists (
      select from worker
      where stopped_at is null and beat_at > now() - ${SILENT_FOR}::text::interval
        and sealing_key_id is distinct from ${keyId}) as has`)
  return row?.has ?? false
}
