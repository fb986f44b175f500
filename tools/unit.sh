#!/bin/sh
# Runs all tests under the race detector. With CI set a skipped test is a failure.
set -u
# A gate gives the same answer twice. RAPID_SEED=0 explores, as go test does by itself.
export RAPID_SEED="${RAPID_SEED:-20261121}"
out=$(mktemp)
trap 'rm -f "$out"' EXIT
# SQLite, which is translated from C, does with pointers as C does: to check each use of one takes a third of the time.
go test -race -gcflags='modernc.org/...=-d=checkptr=0' -count=1 -timeout 20m -v ./... >"$out" 2>&1
status=$?
grep -E '^(ok|FAIL|panic:|\?|---\s*FAIL|===\s*NAME)|^\s*--- (FAIL|SKIP)' "$out" | grep -v 'no test files'
if [ $status -ne 0 ]; then
	grep -nE -B25 -A15 '^\s*--- FAIL|^panic:|DATA RACE|\[build failed\]|^# ' "$out" | head -400
fi
passed=$(grep -cE '^\s*--- PASS' "$out")
failed=$(grep -cE '^\s*--- FAIL' "$out")
skipped=$(grep -cE '^\s*--- SKIP' "$out")
if [ -n "${CI:-}" ] && [ "$skipped" -gt 0 ]; then
	echo "skipped tests count as failures here:"
	grep -E -B3 '^\s*--- SKIP' "$out"
	[ $status -ne 0 ] || status=1
fi
echo "tests: $passed passed, $failed failed, $skipped skipped"
exit $status
