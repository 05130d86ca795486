#!/bin/sh
# Runs a command; if it fails, asks what went wrong, and ends with its exit code: sh explain.sh make test
set -u

if [ $# -eq 0 ]; then
  echo 'Usage: sh explain.sh <command> [arguments]' >&2
  exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" >"$log" 2>&1
code=$?
cat "$log"
if [ "$code" -ne 0 ]; then
  tail -n 200 "$log" | gmn "\"$*\" failed with exit code $code. What went wrong, and how do I fix it?"
fi
exit "$code"
