package main_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"parley/internal/require"
)

// container is a container of the image, made by buildah, whose storage is in a folder of the test.
type container struct {
	as      []string // sudo, unless the test runs as root
	storage []string
}

const inContainer = "parley-test"

// newContainer builds the image from the program that is tested.
func newContainer(t *testing.T) container {
	t.Helper()
	if _, err := exec.LookPath("buildah"); err != nil || runtime.GOOS != "linux" {
		t.Skip("buildah is not installed")
	}
	dir, context := t.TempDir(), t.TempDir()
	c := container{storage: []string{"buildah", "--root", dir + "/root", "--runroot", dir + "/run", "--storage-driver", "vfs"}}
	if os.Getuid() != 0 {
		c.as = []string{"sudo", "-n"}
	}
	t.Cleanup(func() {
		remove := slices.Concat(c.as, []string{"rm", "-rf", dir})
		if out, err := exec.Command(remove[0], remove[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	require.NoError(t, os.Mkdir(filepath.Join(context, "deploy"), 0o755))
	require.NoError(t, exec.Command("cp", binary, filepath.Join(context, "deploy/gateway")).Run())
	dockerfile := require.Value(filepath.Abs(filepath.Join(top, "deploy/Dockerfile")))(t)
	c.run(t, "bud", "--isolation=chroot", "--format=docker", "--build-arg=PROGRAM=prebuilt", "--file="+dockerfile, "--tag=parley", context)
	c.run(t, "from", "--name="+inContainer, "parley")
	return c
}

// command prepares a command of buildah.
func (c container) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	all := slices.Concat(c.as, c.storage, args)
	return exec.CommandContext(t.Context(), all[0], all[1:]...)
}

func (c container) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.command(t, args...).Output()
	if err != nil {
		exit, _ := err.(*exec.ExitError)
		t.Fatalf("buildah %q: %v %s", args, err, exit.Stderr)
	}
	return strings.TrimSpace(string(out))
}

// in prepares a command in the container, with a folder as its volume.
func (c container) in(t *testing.T, volume string, args ...string) *exec.Cmd {
	t.Helper()
	return c.command(t, slices.Concat([]string{"run", "--isolation=chroot", "--volume=" + volume + ":/data:rw", inContainer, "--"}, args)...)
}

// settings returns the image's configuration.
func (c container) settings(t *testing.T) (s struct {
	User, WorkingDir string
	Entrypoint, Cmd  []string
	Healthcheck      struct{ Test []string }
}) {
	t.Helper()
	var found struct {
		Docker struct{ Config json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(c.run(t, "inspect", inContainer)), &found))
	require.NoError(t, json.Unmarshal(found.Docker.Config, &s))
	return s
}

// The image has the program and little else. Its user can write only the volume. It answers, is healthy, and stops in order.
func TestContainer(t *testing.T) {
	c := newContainer(t)
	s := c.settings(t)
	if s.User != "65532:65532" || s.WorkingDir != "/data" || !slices.Equal(s.Healthcheck.Test, []string{"CMD", "/gateway", "health"}) {
		t.Errorf("the image runs as %+v", s)
	}
	c.checkFiles(t)
	volume := t.TempDir()
	if err := os.Chmod(volume, 0o777); err != nil { //nolint:gosec // the container has another user
		t.Fatal(err)
	}
	g := start(t, c.in(t, volume, append(s.Entrypoint, append(s.Cmd, "--listen", "127.0.0.1:0")...)...))
	defer g.Process.Kill()
	g.ask(t, "Hello")
	address := strings.TrimPrefix(g.url, "http://")
	if got := c.prints(t, volume, s.Healthcheck.Test[1], s.Healthcheck.Test[2], "--listen", address); got != "ready" {
		t.Errorf("its health is %q", got)
	}
	want, err := command(t, nil, "--version").Output()
	if got := c.prints(t, volume, s.Entrypoint[0], "--version"); err != nil || got != strings.TrimSpace(string(want)) {
		t.Errorf("its version is %q, and that of the program %q", got, want)
	}
	require.NoError(t, syscall.Kill(descendant(t, g.Process.Pid, s.Entrypoint[0]), syscall.SIGTERM))
	if code := g.wait(t); code != 0 || !strings.Contains(g.stderr.String(), `"msg":"stopped"`) {
		t.Errorf("it ends with %d: %s", code, g.stderr.String())
	}
	if _, err := os.Stat(filepath.Join(volume, "parley.db")); err != nil {
		t.Errorf("the store is not in the volume: %v", err)
	}
}

// prints runs a second command in the container and returns its output.
func (c container) prints(t *testing.T, volume string, args ...string) string {
	t.Helper()
	run := c.in(t, volume, args...)
	out, err := run.Output()
	if err != nil {
		return fmt.Sprintf("%s %v", out, err)
	}
	return strings.TrimSpace(string(out))
}

// checkFiles measures the image, and looks for files that its user could change.
func (c container) checkFiles(t *testing.T) {
	t.Helper()
	root := c.run(t, "mount", inContainer)
	var size, program int64
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, root)
		if size += info.Size(); name == "/gateway" {
			program = info.Size()
		}
		owner := info.Sys().(*syscall.Stat_t).Uid
		if name != "/data" && (owner != 0 || info.Mode().Perm()&0o022 != 0) {
			t.Errorf("%s has the mode %v and the owner %d", name, info.Mode(), owner)
		}
		return nil
	})
	require.NoError(t, err)
	if rest := size - program; program == 0 || rest > 2<<20 {
		t.Errorf("besides the program of %d bytes the image has %d", program, rest)
	}
}

// descendant returns the process with a program among the descendants of another one: buildah does not pass signals on.
func descendant(t *testing.T, ancestor int, program string) int {
	t.Helper()
	parents, found := map[int]int{}, 0
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range entries {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		status, _ := os.ReadFile(dir + "/status") // it can have ended
		for line := range strings.Lines(string(status)) {
			if rest, ok := strings.CutPrefix(line, "PPid:"); ok {
				parents[pid], _ = strconv.Atoi(strings.TrimSpace(rest))
			}
		}
	}
	for pid := range parents {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if !strings.HasPrefix(string(line), program+"\x00") {
			continue
		}
		for p := pid; p > 1; p = parents[p] {
			if p == ancestor {
				found = pid
			}
		}
	}
	if found == 0 {
		t.Fatalf("no descendant of %d runs %s", ancestor, program)
	}
	return found
}
