#!/bin/sh
# Records what the gateway spends its time on, in load.pgo: the compiler optimizes releases for that, see
# https://go.dev/doc/pgo. People ask in the web chat and are answered at once; then a hundred chats of Telegram are
# answered token by token. It is worth repeating after larger changes of the paths that every message takes.
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ulimit -n "$(ulimit -Hn)"

go test -c -o "$tmp/bench.test" .

# record NAME BENCHMARK TIMES
record() {
	"$tmp/bench.test" -test.run '^$' -test.bench "$2" -test.benchtime "$3" -test.cpuprofile "$tmp/$1"
}

record web 'Throughput$' 8000x
record telegram 'Telegram$/limits=off/chats=100$' 1x
go tool pprof -proto -output load.pgo "$tmp/web" "$tmp/telegram"
