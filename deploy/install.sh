#!/bin/sh
# Installs the newest release of Parley for this system as ~/.local/bin/gateway, after it has compared its checksum.
#   PARLEY_BIN=/usr/local/bin   another folder
set -eu
releases=${PARLEY_RELEASES:-@RELEASES@}
bin=${PARLEY_BIN:-$HOME/.local/bin}

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "there is no archive for $(uname -s) here; docs/install.md lists the others" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no archive for $(uname -m); build it from the source" ;;
esac
archive=parley_${os}_$arch.tar.gz

if command -v curl >/dev/null; then
	get() { curl -fsSL --retry 2 -o "$2" "$1"; }
elif command -v wget >/dev/null; then
	get() { wget -q -O "$2" "$1"; }
else
	fail "install curl or wget first"
fi
if command -v sha256sum >/dev/null; then
	sum() { sha256sum "$1"; }
else
	sum() { shasum -a 256 "$1"; }
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for file in "$archive" checksums.txt; do
	get "$releases/$file" "$tmp/$file" || fail "$releases/$file could not be downloaded; nothing was installed"
done
want=$(awk -v name="$archive" '$2 == name { print $1 }' "$tmp/checksums.txt")
got=$(sum "$tmp/$archive" | cut -d' ' -f1)
[ -n "$want" ] && [ "$want" = "$got" ] || fail "$archive has another checksum than checksums.txt says; nothing was installed"

tar -xzf "$tmp/$archive" -C "$tmp"
mkdir -p "$bin" || fail "$bin can't be made; set PARLEY_BIN to a folder of yours"
# A running program can't be written over, but replaced.
cp "$tmp/parley/gateway" "$bin/.gateway.new" && mv -f "$bin/.gateway.new" "$bin/gateway" || fail "$bin/gateway can't be written; set PARLEY_BIN to a folder of yours"

"$bin/gateway" --version
case ":$PATH:" in
*":$bin:"*) echo "Set it up in an empty folder with: gateway init" ;;
*) echo "Set it up in an empty folder with: $bin/gateway init" ;;
esac
