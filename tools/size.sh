#!/bin/sh
# Fails if a release binary is larger than what docs/engineering/dependencies.md allows: people download it.
set -eu
limit=65000000
size=$(wc -c <"$1")
echo "$1: $size bytes, of at most $limit"
[ "$size" -le "$limit" ]
