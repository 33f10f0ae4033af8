#!/usr/bin/env bash
# Asks for the publication of a sync, or approves it: two people, two tokens.
#
#   TAJO_URL=http://127.0.0.1:4000/graphql TAJO_TOKEN=tajo_… ./approve-publication.sh request sync_… "New mapping."
#   TAJO_URL=http://127.0.0.1:4000/graphql TAJO_TOKEN=tajo_… ./approve-publication.sh approve publicationrequest_…
#
# Needs curl. Prints what the API answers; its exit code is that of curl.
set -euo pipefail

url="${TAJO_URL:-http://127.0.0.1:4000/graphql}"

ask() {
  # The token stands in no list of processes: curl reads the header from a file.
  curl --silent --show-error --fail-with-body "$url" \
    --header 'content-type: application/json' \
    --header @<(printf 'authorization: Bearer %s' "$TAJO_TOKEN") \
    --data-binary "$1"
  echo
}

# A text as JSON.
quote() {
  local text="${1//\\/\\\\}"
  printf '"%s"' "${text//\"/\\\"}"
}

case "${1:-}" in
  request)
    ask '{
      "query": "mutation ($syncId: ID!, $reason: String!) { requestPublication(input: { syncId: $syncId, reason: $reason }) { __typename ... on ChangedPublicationRequest { request { id status } } ... on Refusal { message } } }",
      "variables": { "syncId": '"$(quote "$2")"', "reason": '"$(quote "$3")"' }
    }'
    ;;
  approve)
    ask '{
      "query": "mutation ($requestId: ID!) { approvePublication(input: { requestId: $requestId }) { __typename ... on ChangedPublicationRequest { request { id status } } ... on Refusal { message } } }",
      "variables": { "requestId": '"$(quote "$2")"' }
    }'
    ;;
  *)
    echo "Say request, with the sync and why; or approve, with the request." >&2
    exit 2
    ;;
esac
