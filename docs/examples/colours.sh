#!/bin/sh
# Data without jq: a schema makes the answer JSON and nothing but JSON, and Node, which gmn needs anyway, reads it.
set -eu

gmn --output-schema '{"type":"array","items":{"type":"string"}}' '3 colors' |
  node -e 'for (const [index, name] of JSON.parse(require("node:fs").readFileSync(0, "utf8")).entries())
    console.log(`${index + 1}. ${name}`)'
