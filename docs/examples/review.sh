#!/bin/sh
# Reviews a change in a pipe and fails if there is something to mend: git diff main | sh review.sh
# In CI: the exit code is 0 if it may go in, 1 if not, and that of gmn (2 auth, 3 API, …) if there was no review.
set -eu

schema='{
  "type": "object",
  "properties": {
    "verdict": { "type": "string", "enum": ["go", "stop"] },
    "findings": { "type": "array", "items": { "type": "string" } }
  },
  "required": ["verdict", "findings"]
}'
answer=$(gmn --output-schema "$schema" 'Review this change. Say "stop" only for mistakes, not for matters of taste.')
printf '%s\n' "$answer"
# Only an outspoken "go" lets it in, however the JSON is laid out.
printf '%s' "$answer" | tr -d '[:space:]' | grep -q '"verdict":"go"'
