/**
 * Old never overwrites new (I11): the part of a statement that records deliveries which marks what they
 * overtake.
 */
import { type SQL, sql } from 'drizzle-orm'

/**
 * Marks rejected records of the identities just written, held or set aside, if they are older: old never
 * overwrites new. Written are the places of the statement's `settled` (an intent) that are in its `answer`.
 */
export function supersedeOlder() {
  return sql`
    update held_record
    set is_superseded = true, sealed_payload = null, ended_at = now()
    from (
      ${namesakesBy(sql`older.destination_identity_hash`)}
      union all
      ${namesakesBy(sql`older.identity_hash`)}) as overtaken
    where held_record.id = overtaken.id
      and (overtaken.ordinal < overtaken.newer_ordinal
           or (overtaken.ordinal = overtaken.newer_ordinal
               and held_record.position < overtaken.newer_position))
      and held_record.state in ('held', 'quarantined', 'redriving')
      and not held_record.is_superseded`
}

/** Rejected records of a name that was written; a held one is of its open page, whose ordinal it has. */
function namesakesBy(name: SQL) {
  return sql`
      select older.id, coalesce(older.ordinal, held_page.ordinal) as ordinal,
             newer.ordinal as newer_ordinal, newer.position as newer_position
      from (${writtenNames()}) as newer
      join held_record as older on older.sync_id = newer.sync_id and ${name} = newer.name
      left join open_page as held_page
        on held_page.sync_id = older.sync_id and held_page.page_digest = older.page_digest`
}

/** Both names of each record that was written, with its place. */
function writtenNames() {
  return sql`
    select settled.sync_id, coalesce(settled.redriven_ordinal, this_page.ordinal) as ordinal,
           place.position, named.name
    from settled
    left join open_page as this_page
      on this_page.sync_id = settled.sync_id and this_page.page_digest = settled.page_digest
    cross join lateral unnest(settled.positions) with ordinality as place (position, nth)
    join answer on answer.index = place.nth - 1
    cross join lateral (
      values (substring(settled.destination_identities from place.nth::int * 16 - 15 for 16)),
             (coalesce(substring(settled.identities from place.nth::int * 16 - 15 for 16),
                       substring(this_page.identities from place.position * 16 + 1 for 16))))
      as named (name)`
}
