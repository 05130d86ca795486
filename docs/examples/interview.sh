#!/bin/sh
# A conversation from a script: every question knows what was said before. The session stays: gmn chat -r <name>
set -eu

name=${1:-interview}
gmn --session-name "$name" 'best month for Kyoto?'
gmn -r "$name" 'and the second best?'
# A copy to try something else: the session itself stays as it is.
gmn -r "$name" --fork --session-name "$name-other" 'count to 3'
