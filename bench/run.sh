#!/bin/sh
# Runs the benchmarks and keeps what they print, with the machine they ran on, in results/<date>-<commit>.txt.
# COUNT is how often each one runs; 6 is what benchstat wants at least.
set -eu
cd "$(dirname "$0")"
count=${COUNT:-6}
commit=$(git rev-parse --short HEAD)
git diff --quiet HEAD -- .. ':!.' || commit=$commit+changes
out=results/$(date +%Y-%m-%d)-$commit.txt
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ulimit -n "$(ulimit -Hn)"

go test -c -o "$tmp/bench.test" .
go build -pgo=load.pgo -o "$tmp/gateway" ../cmd/gateway # as it is released
go build -o "$tmp/floor" ./floor

# bench NAMES TIME [COUNT] runs benchmarks for so long, or so often, and keeps their lines.
bench() {
	PARLEY_GATEWAY="$tmp/gateway" PARLEY_FLOOR="$tmp/floor" "$tmp/bench.test" -test.run '^$' -test.bench "$1" -test.benchtime "$2" \
		-test.count "${3:-$count}" -test.timeout 20m | grep -vE '^(goos|goarch|pkg|cpu|PASS)' | tee -a "$out"
}

{
	echo "date: $(date -u +%Y-%m-%dT%H:%MZ)"
	echo "commit: $commit"
	echo "machine: $(awk -F': ' '/model name/ {print $2; exit}' /proc/cpuinfo), $(nproc) cores," \
		"$(awk '/MemTotal/ {printf "%.0f GB", $2 / 1e6}' /proc/meminfo)"
	echo "kernel: $(uname -sr)"
	echo "go: $(go version | cut -d' ' -f3-)"
	echo "ulimit -n: $(ulimit -n)"
	echo "load average before: $(cut -d' ' -f1-3 /proc/loadavg)"
	echo "shared: model server, gateway and clients run on the same cores"
	echo
	echo "goos: $(go env GOOS)"
	echo "goarch: $(go env GOARCH)"
	echo "pkg: parley/bench"
} | tee "$out"

bench '^BenchmarkReady$' 1x
bench '^Benchmark(Disk|Admission)$' 200x
bench '^BenchmarkThroughput$' 500x
bench '^BenchmarkTurn$' 100x
bench '^BenchmarkAnswer$' 200ms
bench '^BenchmarkRender$' 100ms
bench '^Benchmark(SlowStream|WholeGateway)$' 1x
bench '^BenchmarkMemory$' 1x
bench '^BenchmarkLoad$' 3x 1
bench '^BenchmarkLatency(Direct)?$' 1x
# Once, and without the largest of those that differ only if something was refused: it is the budgets that take time.
bench '^BenchmarkTelegram$/limits=(on|strict)|^BenchmarkTelegram$/limits=off/chats=(1|20|100)$' 1x 1

echo "load average after: $(cut -d' ' -f1-3 /proc/loadavg)" >>"$out"
echo
awk -f summary.awk "$out"
echo
echo "kept in bench/$out"
