#!/bin/sh
# Writes a commit message for what is staged: sh commit-message.sh, or git commit -F <(sh commit-message.sh)
set -eu

git rev-parse --is-inside-work-tree >/dev/null
if git diff --staged --quiet; then
  echo 'Nothing is staged. Try: git add -p' >&2
  exit 1
fi
git diff --staged | gmn --temperature 0 --system 'You write commit messages: one line of at most 72 characters that says why,
in the imperative, then a blank line and a few words more only if they are needed. No Markdown.' \
  'Write the message for this commit.'
