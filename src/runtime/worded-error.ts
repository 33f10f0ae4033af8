/**
 * An error whose message is in our own words: it repeats no payload, no secret and no personal datum.
 *
 * Of every other error the log has only the name, the code and where it was thrown: what a library or
 * another system says may repeat the row that it was given.
 */
export class WordedError extends Error {}
