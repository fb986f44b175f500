package install

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/internal/require"
)

// top is the repository's folder, from here.
const top = "../.."

// machine is a copy of this machine, or of the folder PARLEY_ROOT, without Go, with an empty home. What happens there is gone
// afterwards. It reaches a server that has the files of a release.
type machine struct {
	t      *testing.T
	dir    string // for its changes
	server string
	port   string // a free one
}

// newMachine returns a machine. The test needs root, or sudo that asks for no password.
func newMachine(t *testing.T) *machine {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 && exec.Command("sudo", "-n", "true").Run() != nil {
		t.Skip("a copy of this machine needs root on Linux")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dist)))
	t.Cleanup(server.Close)
	l := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	return &machine{t: t, dir: t.TempDir(), server: server.URL, port: port}
}

// enter makes the copy: its own mounts, processes that end with it, and neither Go nor a home. $1 is the folder for changes, $2
// the original, $3 the user's script.
const enter = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$1/root"
cd "$1/root"
for there in root home tmp run usr/local; do mount -t tmpfs tmpfs $there; done
mkdir -p usr/local/bin home/new run/systemd/system
mount --bind /dev dev
mount -t proc proc proc
cat >usr/local/bin/sudo <<'END'
#!/bin/sh
exec "$@"
END
rm -f usr/bin/systemctl # a service manager does not run there
cat >usr/bin/systemctl <<'END'
#!/bin/sh
# Does what systemd would do with the unit of the package, and logs it.
echo "systemctl $*" >>/systemctl.log
unit=/usr/lib/systemd/system/parley.service
stop() { [ ! -e /run/parley.pid ] || { kill "$(cat /run/parley.pid)"; while kill -0 "$(cat /run/parley.pid)" 2>/dev/null; do sleep 0.05; done; rm /run/parley.pid; }; }
start() {
	[ -e "$unit" ] || exit 1
	mkdir -p /var/lib/private
	[ -L /var/lib/parley ] || { [ ! -e /var/lib/parley ] || mv /var/lib/parley /var/lib/private/; mkdir -p /var/lib/private/parley; ln -s private/parley /var/lib/parley; }
	(cd /var/lib/parley && eval "exec $(sed -n 's/^ExecStart=//p' $unit)" >>/var/lib/parley.log 2>&1 & echo $! >/run/parley.pid)
}
case "$*" in
"enable --now parley") start ;;
"try-restart parley.service") [ ! -e /run/parley.pid ] || { stop && start; } ;;
"disable --now parley.service") stop ;;
esac
END
chmod +x usr/local/bin/* usr/bin/systemctl
cp "$3" home/new/steps
exec chroot . /usr/bin/env -i HOME=/home/new PATH=/home/new/.local/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "PARLEY_RELEASES=$4" bash -eu -o pipefail -c '
if command -v go >/dev/null; then echo "there is Go"; exit 1; fi
ready() { for i in $(seq 300); do gateway=$1; "$gateway" health --listen 127.0.0.1:$2 >/dev/null 2>&1 && return; sleep 0.1; done; echo "the gateway is not ready"; return 1; }
cd /home/new; . ./steps'`

// run runs a script of steps in the copy and returns its output.
func (m *machine) run(steps string) string {
	m.t.Helper()
	file := filepath.Join(m.t.TempDir(), "steps")
	if err := os.WriteFile(file, []byte(steps), 0o644); err != nil {
		m.t.Fatal(err)
	}
	original := os.Getenv("PARLEY_ROOT")
	if original == "" {
		original = "/"
	}
	args := []string{"unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", enter, "bash", m.dir, original, file, m.server}
	if os.Getuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%v\n%s\nafter the steps\n%s", err, out, steps)
	}
	return string(out)
}

// asUser returns lines of a page as a user types them: with answers to the questions of init, the address of the local server, and
// yes to questions of apt. It also returns the numbers of commands and answers.
func (m *machine) asUser(lines []string) (steps string, commands, answers int) {
	var b strings.Builder
	for _, line := range lines {
		line = strings.ReplaceAll(published.ReplaceAllString(line, m.server+"/"), "amd64", runtime.GOARCH)
		commands++
		program, _, _ := strings.Cut(strings.TrimSpace(comment.ReplaceAllString(line, "")), " ")
		switch line = comment.ReplaceAllString(line, ""); {
		case strings.HasSuffix(line, " init"):
			answers += 3
			line = "printf 'none\\ndemo\\nAda, a librarian\\n' | " + line + " --listen 127.0.0.1:" + m.port
		case line == program && strings.HasSuffix(program, "gateway"):
			line += " & ready " + program + " " + m.port
		case strings.Contains(line, "systemctl enable"):
			line += "; ready gateway " + m.port
		case strings.HasPrefix(line, "sudo apt "):
			line = strings.Replace(line, "apt ", "apt -yqq ", 1)
		}
		b.WriteString(line + "\n")
	}
	return b.String(), commands, answers
}
