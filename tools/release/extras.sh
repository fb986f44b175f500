#!/bin/sh
# Writes what archives and packages contain beside the program into bin/extras: completions, the manual page, the unit, and the
# script that installs a release. goreleaser runs it before it builds.
set -eu
cd "$(dirname "$0")/../.."
rm -rf bin/extras
mkdir -p bin/extras/completions
CGO_ENABLED=0 GOOS='' GOARCH='' go build -trimpath -o bin/host ./cmd/gateway
bin/host completion bash >bin/extras/completions/gateway.bash
bin/host completion zsh >bin/extras/completions/_gateway
bin/host completion fish >bin/extras/completions/gateway.fish
bin/host manual >bin/extras/gateway.1
gzip -9nk bin/extras/gateway.1
bin/host service --system install --print --program /usr/bin/gateway >bin/extras/parley.service
sed "s|@RELEASES@|https://github.com/$REPOSITORY/releases/latest/download|" deploy/install.sh >bin/extras/install.sh
