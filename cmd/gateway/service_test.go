package main_test

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/require"
)

// A service manager hears that the gateway is ready when it answers, then that it works, and that it stops when it is told to. What
// the manager hands over takes the place of files that the gateway can't read.
func TestGatewayAsService(t *testing.T) {
	dir := t.TempDir()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	require.NoError(t, err)
	defer conn.Close()
	for name, text := range map[string]string{"shop.yaml": "agent: {name: \"${env:SHOP}\"}\n", ".env": "SHOP=Teapot\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	c := command(t, []string{"NOTIFY_SOCKET=" + filepath.Join(dir, "notify"), "WATCHDOG_USEC=2000000", "CREDENTIALS_DIRECTORY=" + dir},
		"--config", "/etc/parley/shop.yaml", "--listen", "127.0.0.1:0")
	g := start(t, c)
	defer g.Process.Kill()
	if got := heard(t, conn); got != "READY=1\nSTATUS=at "+g.url {
		t.Fatalf("first the manager hears %q", got)
	}
	resp, err := http.Get(g.url + "/")
	require.NoError(t, err)
	var page bytes.Buffer
	_, err = page.ReadFrom(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.Contains(page.String(), "Teapot") {
		t.Errorf("its configuration is not the one that was handed over: %v, %s", err, page.String())
	}
	for range 2 {
		if got := heard(t, conn); got != "WATCHDOG=1" {
			t.Errorf("while it works, the manager hears %q", got)
		}
	}
	require.NoError(t, g.Process.Signal(syscall.SIGTERM))
	for got := "WATCHDOG=1"; got != "STOPPING=1"; {
		if got = heard(t, conn); got != "STOPPING=1" && got != "WATCHDOG=1" {
			t.Fatalf("at the end the manager hears %q", got)
		}
	}
	if code := g.wait(t); code != 0 {
		t.Errorf("it ends with %d: %s", code, g.stderr.String())
	}
}

// heard returns the next message to a service manager.
func heard(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	data := make([]byte, 4096)
	n := require.Value(conn.Read(data))(t)
	return string(data[:n])
}

// fakeSystemctl makes a command that answers as systemd does in a state, and returns its folder and the file with its calls.
func fakeSystemctl(t *testing.T, state string) (dir, log string) {
	t.Helper()
	dir = t.TempDir()
	log = filepath.Join(dir, "log")
	script := "#!/bin/sh\necho \"$*\" >>" + log + "\ncase \"$*\" in *is-system-running) echo " + state + "; test " + state + " = running;; esac\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "systemctl"), []byte(script), 0o755))
	return dir, log
}

func TestServiceOfAUser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("systemd is only on Linux")
	}
	dir, log := fakeSystemctl(t, "degraded")
	home := t.TempDir()
	unit := filepath.Join(home, ".config/systemd/user/parley.service")
	run := func(args ...string) (string, int) {
		c := exec.CommandContext(t.Context(), binary, append([]string{"service", "--user"}, args...)...)
		c.Dir, c.Env = home, []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + home, "SHOP=here"}
		return end(t, c)
	}
	for _, args := range [][]string{{"install"}, {"status"}, {"uninstall"}} {
		want := map[string]string{"install": "init", "status": "gateway service install", "uninstall": "gateway service install"}[args[0]]
		if out, code := run(args...); code != 1 || !strings.Contains(out, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%v without a configuration or a unit ends with %d: %s", args, code, out)
		}
	}
	text := "agent: {name: \"${env:SHOP}\"}\nshutdown: 1m\n"
	require.NoError(t, os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600))
	out, code := run("install")
	if code != 0 || !strings.Contains(out, "put SHOP into "+filepath.Join(home, ".env")) {
		t.Errorf("install ends with %d: %s", code, out)
	}
	data, err := os.ReadFile(unit)
	if err != nil || !strings.Contains(string(data), "TimeoutStopSec=80\n") || !strings.Contains(string(data), "WorkingDirectory="+home+"\n") ||
		!strings.Contains(string(data), binary) || strings.Contains(string(data), "DynamicUser") {
		t.Errorf("%v: %s", err, data)
	}
	if out, code = run("status"); code != 0 {
		t.Errorf("status ends with %d: %s", code, out)
	}
	if out, code = run("uninstall"); code != 0 || !strings.Contains(out, "data stay") {
		t.Errorf("uninstall ends with %d: %s", code, out)
	}
	if _, err := os.Stat(unit); err == nil {
		t.Error("the unit is still there")
	}
	calls, _ := os.ReadFile(log)
	want := []string{"daemon-reload", "enable parley.service", "restart parley.service", "status --no-pager parley.service", "disable --now parley.service", "daemon-reload"}
	var got []string
	for line := range strings.Lines(string(calls)) {
		if line = strings.TrimSpace(strings.TrimPrefix(line, "--user ")); line != "is-system-running" {
			got = append(got, line)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("systemctl is called with %q", got)
	}
}

// Without systemd the commands say in one sentence what to do, and change nothing.
func TestServiceWithoutSystemd(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("systemd is only on Linux")
	}
	offline, _ := fakeSystemctl(t, "offline")
	for name, path := range map[string]string{"offline": offline + ":" + os.Getenv("PATH"), "none": t.TempDir()} {
		for _, args := range [][]string{{"install"}, {"uninstall"}, {"status"}, {"install", "--user"}} {
			c := command(t, []string{"PATH=" + path}, append([]string{"service", "--system"}, args...)...)
			want := "add \"gateway --config FILE run\" to its own service manager"
			if len(args) > 1 {
				c = command(t, []string{"PATH=" + path}, append([]string{"service"}, args...)...)
				want = "sudo gateway service install"
			}
			if out, code := end(t, c); code != 1 || !strings.Contains(out, want) || strings.Count(out, "\n") != 1 {
				t.Errorf("%s: %v ends with %d: %s", name, args, code, out)
			}
			if left, _ := filepath.Glob(filepath.Join(c.Dir, "*")); len(left) > 0 {
				t.Errorf("%s: %v leaves %q", name, args, left)
			}
		}
	}
}

// The unit can be printed on any machine, for packages.
func TestServicePrintsItsUnit(t *testing.T) {
	out, err := command(t, nil, "service", "install", "--print", "--system", "--program", "/usr/bin/gateway").Output()
	if err != nil || !strings.Contains(string(out), `ExecStart="/usr/bin/gateway" --config "/etc/parley/config.yaml" run`) || !strings.Contains(string(out), "DynamicUser=yes") {
		t.Errorf("%v: %s", err, out)
	}
}

// A unit that names a program which goes away is printed with a warning, beside it.
func TestServiceWarnsOfATemporaryProgram(t *testing.T) {
	for _, kind := range []string{"--system", "--user"} {
		c := command(t, []string{"TMPDIR=" + filepath.Dir(binary)}, "service", "install", "--print", kind)
		var warning bytes.Buffer
		c.Stderr = &warning
		out, err := c.Output()
		if err != nil || !strings.Contains(string(out), "ExecStart=") || strings.Count(warning.String(), "\n") != 1 || !strings.Contains(warning.String(), binary) {
			t.Errorf("%s: %v: %s\nwarning: %s", kind, err, out, &warning)
		}
	}
	c := command(t, nil, "service", "install", "--print", "--system", "--program", "/usr/bin/no-such-program")
	if out, code := end(t, c); code != 0 || strings.Contains(out, "gateway: ") {
		t.Errorf("for a package it ends with %d: %s", code, out)
	}
}
