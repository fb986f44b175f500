#!/bin/sh
# Runs all tests under the race detector. With CI set a skipped test is a failure.
set -u
# A gate gives the same answer twice. RAPID_SEED=0 explores, as go test does by itself.
export RAPID_SEED="${RAPID_SEED:-20261121}"
# Simulated replicas play seeds that are fresh for each commit, from its number on.
commit=$(git rev-parse HEAD 2>/dev/null | cut -c1-8)
export PARLEY_SEEDS_FROM="${PARLEY_SEEDS_FROM:-$(printf '%d' "0x${commit:-0}")}"
out=$(mktemp)
memory=
trap 'rm -rf "$out" "$memory"' EXIT
# Most tests have a store, and each of its commits waits for the disk. Where there is enough memory, temporary files are there:
# a test kills processes, not the machine, so that it sees no difference. Builds stay on the disk.
free=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ "${free:-0}" -gt 4000000 ] && memory=$(mktemp -d /dev/shm/parley.XXXXXX); then
	chmod 711 "$memory" # tests run the program as another user too
	printf '#!/bin/sh\n' >"$memory/try" && chmod +x "$memory/try"
	if "$memory/try" 2>/dev/null; then
		export GOTMPDIR="${GOTMPDIR:-${TMPDIR:-/tmp}}" TMPDIR="$memory"
	fi
	rm "$memory/try"
fi
# These packages have no goroutines: the race detector would find nothing, and make their tests five times as slow. Only the
# Markdown renderers share a parser, which a test of its own covers.
pure="./core/generate/xmlform ./internal/partialjson ./internal/tree ./progressive/markdown"
shared="-race -run=TestRenderersAtTheSameTime ./progressive/markdown"
# The longest packages are first, so that none is left alone at the end.
longest="./stories ./core ./connectors/web ./cmd/gateway ./backends/redis"
# Tests of the web page, the program and of Redis mostly wait for other processes: with a package more than there are cores, none idles.
packages=$(($(getconf _NPROCESSORS_ONLN) + 1))
others=$(go list -f '{{.Dir}}' ./... | sed "s|^$PWD|.|" | grep -vxE "$(echo $longest $pure | sed 's/\./\\./g; s/ /|/g')")
# Vet is a step of its own. Without debugging information the linker needs less time.
common="-p $packages -vet=off -ldflags=-w -count=1 -timeout 40m -v"
# SQLite is translated from C: its memory is its own, mapped from the system, and the detector ignores all of it. Asking the detector
# at each access takes half of the time of a test with a store. The driver, which copies between this memory and Go, keeps the checks.
race="-race -gcflags=modernc.org/...=-race=false"
go test $race $common $longest $others >"$out" 2>&1
status=$?
# A bubble of testing/synctest has one context of the race detector for all its timers. Two goroutines that find a timer at its time
# in the same moment use it at once, and the detector crashes now and then (golang/go#78156). Where that is all that happened, the
# packages run once more.
crashed() {
	grep -q '^FATAL: ThreadSanitizer\|^==[0-9]*==FATAL: ThreadSanitizer' "$out" || grep -A12 '^SIGSEGV: segmentation violation' "$out" | grep -q '^runtime\.(\*timer)'
}
if [ $status -ne 0 ] && crashed && ! grep -qE '^\s*--- FAIL|^panic:|DATA RACE|\[build failed\]' "$out"; then
	again=$(awk '$1 == "FAIL" && $2 != "" { print $2 }' "$out")
	echo "the race detector crashed (golang/go#78156); again: $again"
	go test $race $common $again >>"$out" 2>&1
	status=$?
fi
for rest in "$pure" "$shared"; do
	go test $common $rest >>"$out" 2>&1 || status=1
done
grep -E '^(ok|FAIL|panic:|\?|---\s*FAIL|===\s*NAME)|^\s*--- (FAIL|SKIP)' "$out" | grep -v 'no test files'
if [ $status -ne 0 ]; then
	grep -nE -B25 -A15 '^\s*--- FAIL|^panic:|^SIG|^fatal error:|DATA RACE|\[build failed\]|^# ' "$out" | head -400
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
