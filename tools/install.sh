#!/bin/sh
# Installs what the tests run beside Go: redis-server, PostgreSQL, chromium, tmux, Node.js with npm for real MCP servers, Python for an example, shells whose completions are tried, promtool, systemd-analyze, and buildah. Where it can't, it says what to install.
set -eu
missing=
command -v redis-server >/dev/null || missing="$missing redis-server"
command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing="$missing chromium"
command -v tmux >/dev/null || missing="$missing tmux"
command -v python3 >/dev/null || missing="$missing python3"
command -v zsh >/dev/null || missing="$missing zsh"
command -v fish >/dev/null || missing="$missing fish"
command -v npm >/dev/null || missing="$missing nodejs npm"
command -v promtool >/dev/null || missing="$missing prometheus"
command -v systemd-analyze >/dev/null || missing="$missing systemd"
command -v buildah >/dev/null || missing="$missing buildah"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "== installing$missing"
	export DEBIAN_FRONTEND=noninteractive
	case "$missing" in *postgresql*) # its package then makes no cluster and starts no server
		mkdir -p /etc/postgresql-common
		[ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf ;;
	esac
	apt-get update -qq
	# shellcheck disable=SC2086
	apt-get install -y -qq --no-install-recommends $missing >/dev/null
	# Debian's package starts a server of its own; the tests start theirs.
	exit 0
fi
echo "Please install:$missing. Tests that need them are skipped until then." >&2
[ -z "${CI:-}" ] || exit 1
