#!/bin/sh
# Runs a command and prints how many seconds it took.
set -u
name=$1
shift
begun=$(date +%s)
echo "== $name"
"$@"
status=$?
echo "== $name: $(($(date +%s) - begun)) s, status $status"
exit $status
