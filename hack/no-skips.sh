#!/usr/bin/env bash
# Fails if a test in the given verbose log was skipped: a skipped test proves
# nothing. hack/allowed-skips.txt lists, one a line, tests that may be skipped,
# each with its reason.
set -euo pipefail
log=$1
allowed="$(dirname "$0")/allowed-skips.txt"
skipped=$(sed -nE 's/^[[:space:]]*--- SKIP: ([^ ]+).*/\1/p' "$log" | sort -u)
bad=0
for t in $skipped; do
  if ! grep -qE "^$t([[:space:]]|$)" "$allowed"; then
    echo "skipped, and it must run: $t"; grep -A3 -- "--- SKIP: $t" "$log" | head -5; bad=1
  fi
done
exit $bad
