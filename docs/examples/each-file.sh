#!/bin/sh
# One question about each of many files, one answer beside each: sh each-file.sh 'Summarise in one line.' docs/*.md
# Files that have an answer are left out, so that it can be stopped and run again.
set -u

if [ $# -lt 2 ]; then
  echo "Usage: sh each-file.sh '<question>' <file>..." >&2
  exit 1
fi
question=$1
shift
failed=0
for file; do
  answer=$file.answer.txt
  [ -e "$answer" ] && continue
  # --no-stdin: what feeds this loop is not for gmn. A failed run leaves no file behind.
  gmn --no-stdin --quiet -f "$file" "$question" --output-file "$answer" >/dev/null
  code=$?
  case $code in
    0) printf '%s\n' "$answer" ;;
    2 | 4) exit "$code" ;; # A credential or a setting: the next file would fail, too.
    *) failed=$((failed + 1)) ;;
  esac
done
[ "$failed" -eq 0 ]
