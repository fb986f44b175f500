#!/bin/sh
# Builds the files of a release into dist/: archives, Debian packages, checksums, bills of materials, and the formula.
#   tools/release/snapshot.sh                all systems, optimized for their typical load
#   tools/release/snapshot.sh linux/amd64    only this system, into bin/dist, without what takes minutes: for tests
#   tools/release/snapshot.sh publish        a release of the tag at HEAD, on GitHub
# GPG_FINGERPRINT names the key that signs the checksums; without it there is no signature.
set -eu
cd "$(dirname "$0")/../.."
VERSION=$(sed -n 's/^const Release = "\(.*\)"$/\1/p' internal/version/version.go)
REPOSITORY=$(sed -n 's|.*https://github.com/\([^/ ]*/[^/ ]*\)/releases/latest.*|\1|p' README.md)
PGO=$PWD/bench/load.pgo
GORELEASER_CURRENT_TAG=v$VERSION
export VERSION REPOSITORY PGO GORELEASER_CURRENT_TAG
tool() { GOFLAGS=-trimpath go tool -modfile=tools/release/go.mod -n "$1"; }
mkdir -p bin/tools
ln -sf "$(tool cyclonedx-gomod)" bin/tools/cyclonedx-gomod
PATH=$PWD/bin/tools:$PATH
skip=
[ -n "${GPG_FINGERPRINT:-}" ] || skip=sign
config=.goreleaser.yaml
mode=--snapshot
case "${1:-}" in
'') ;;
publish)
	mode=
	[ "$(git describe --tags --exact-match)" = "v$VERSION" ] || { echo "the tag at HEAD is not v$VERSION" >&2 && exit 1; }
	;;
*)
	PGO=off
	config=bin/one.yaml # into bin/dist
	sed "s|^project_name|dist: bin/dist\n&|; s/goos: .linux, .*/goos: [${1%/*}]/; s/goarch: .amd64, .*/goarch: [${1#*/}]/; s/compression: xz/compression: gzip/" .goreleaser.yaml >$config
	;;
esac
# shellcheck disable=SC2086
exec "$(tool goreleaser)" release --clean -f "$config" $mode ${skip:+--skip=$skip}
