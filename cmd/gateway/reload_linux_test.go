package main_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/require"
)

// inTerminal gives c a terminal, as a shell does, and returns the other end of it.
func inTerminal(t *testing.T, c *exec.Cmd) *os.File {
	t.Helper()
	master := require.Value(os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	t.Cleanup(func() { _ = master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n := require.Value(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	tty := require.Value(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	t.Cleanup(func() { _ = tty.Close() })
	c.Stdin, c.SysProcAttr = tty, &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return master
}

// A terminal that is closed ends the gateway in order, also where it sends its signal twice and its log has no reader any
// more. A gateway that ignores the signal, as under nohup, continues.
func TestClosedTerminalShutsDown(t *testing.T) {
	c := command(t, nil, "--listen", "127.0.0.1:0")
	inTerminal(t, c)
	g := start(t, c)
	g.ask(t, "hello").Close()
	for range 2 {
		if err := g.Process.Signal(syscall.SIGHUP); err != nil {
			break // it has ended
		}
		time.Sleep(20 * time.Millisecond) // two signals at once are one
	}
	if code := g.wait(t); code != 0 || !strings.Contains(g.stderr.String(), "stopped") {
		t.Errorf("it ended with %d:\n%s", code, &g.stderr)
	}
	deaf := command(t, nil)
	deaf.Path, deaf.Args = "/bin/sh", []string{"sh", "-c", `trap "" HUP; exec "$0" --listen 127.0.0.1:0 2>&-`, binary}
	g = start(t, deaf)
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		g.ask(t, "hello").Close()
		require.NoError(t, g.Process.Signal(s))
	}
	if code := g.wait(t); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// get returns the body of a page.
func (g *gateway) get(t *testing.T, path string) string {
	t.Helper()
	resp := require.Value(http.Get(g.url + path))(t)
	defer resp.Body.Close()
	body := require.Value(io.ReadAll(resp.Body))(t)
	return string(body)
}

// until waits for a text on a page.
func (g *gateway) until(t *testing.T, path, text string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(g.get(t, path), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s never has %q:\n%s", path, text, g.get(t, path))
		}
	}
}

// A changed file applies by itself, also the character file and .env; an invalid one changes nothing and says so. Without a
// terminal SIGHUP reloads, as gateway reload does, which names the keys that need a restart. An answer continues all along.
func TestReload(t *testing.T) {
	c := command(t, nil, "--listen", "127.0.0.1:0")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o600))
	}
	configure(t, c, "agent: {name: Ann}\n")
	g := start(t, c)
	stream := g.ask(t, "long")
	defer stream.Close()
	write("config.yaml", "agent: {name: Bea}\n")
	g.until(t, "/", "Bea")
	write("config.yaml", "agent: {nam: Cora}\n")
	g.until(t, "/readyz", "ready, with limits: the changed configuration is invalid")
	if page := g.get(t, "/"); !strings.Contains(page, "Bea") {
		t.Errorf("an invalid configuration changes the page:\n%s", page)
	}
	write(".env", "NAME=Dora\n")
	write("config.yaml", "agent: {character: c.yaml}\n")
	write("c.yaml", "name: Emma\n")
	g.until(t, "/", "Emma")
	g.until(t, "/readyz", "ready\n")
	write("c.yaml", "name: Fay\n")
	g.until(t, "/", "Fay")
	write("config.yaml", "agent: {name: '${env:NAME}'}\nlog: {format: text}\n")
	g.until(t, "/", "Dora")
	write(".env", "NAME=Gina\n")
	g.until(t, "/", "Gina")
	require.NoError(t, g.Process.Signal(syscall.SIGHUP))
	reload := command(t, nil, "reload")
	reload.Dir = c.Dir
	if out, err := reload.CombinedOutput(); err != nil || !strings.Contains(string(out), "need a restart: log.format") {
		t.Errorf("gateway reload: %v\n%s", err, out)
	}
	if line, err := bufio.NewReader(stream).ReadString('\n'); err != nil || strings.Contains(line, "error") {
		t.Errorf("the answer continues with %q, %v", line, err)
	}
	_ = g.Process.Kill()
	g.wait(t)
	for _, want := range []string{"config.yaml:1:9", "agent.nam", "keys\":\"log.format"} {
		if !strings.Contains(g.stderr.String(), want) {
			t.Errorf("the log does not have %q:\n%s", want, &g.stderr)
		}
	}
}

// systemctl reload hands the changed files to a service that can't read them, and ends when they apply. The manager hears that, also
// for reloads that the service begins itself. A change that was not handed over is not reported as a reload.
func TestServiceReloads(t *testing.T) {
	root, creds, runtime := t.TempDir(), t.TempDir(), t.TempDir()
	conn := require.Value(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(creds, "notify"), Net: "unixgram"}))(t)
	defer conn.Close()
	write := func(dir, name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	file := filepath.Join(root, "shop.yaml")
	env := []string{"CREDENTIALS_DIRECTORY=" + creds, "RUNTIME_DIRECTORY=" + runtime}
	write(creds, "shop.yaml", "agent: {name: \"${env:SHOP}\"}\n")
	write(creds, ".env", "SHOP=Teapot\n")
	g := start(t, command(t, append(env, "NOTIFY_SOCKET="+filepath.Join(creds, "notify")), "--config", file, "--listen", "127.0.0.1:0"))
	defer g.Process.Kill()
	ready := "READY=1\nSTATUS=at " + g.url
	reload := func(code int, says string) {
		t.Helper()
		c := command(t, env, "--config", file, "reload")
		c.Dir = g.Dir
		if out, got := end(t, c); got != code || !strings.Contains(out, says) {
			t.Errorf("the reload ends with %d: %s; want %q", got, out, says)
		}
	}
	next := func(want ...string) {
		t.Helper()
		for _, w := range want {
			if got := heard(t, conn); got != w {
				t.Fatalf("the manager hears %q; want %q", got, w)
			}
		}
	}
	next(ready)
	write(root, "shop.yaml", "agent: {name: \"${env:SHOP}\"}\nshutdown: 1m\n")
	write(root, ".env", "SHOP=Kettle\n")
	reload(0, "need a restart: shutdown")
	next("RELOADING=1", ready)
	g.until(t, "/", "Kettle")
	write(root, "shop.yaml", "agent: {nam: Cup}\n")
	reload(1, "agent.nam")
	write(runtime, "new", "agent: {nam: Cup}\n")
	if err := os.Rename(filepath.Join(runtime, "new"), filepath.Join(runtime, "shop.yaml")); err != nil { // the service sees it by itself
		t.Fatal(err)
	}
	next("RELOADING=1", ready+", with the earlier configuration: the changed one is invalid")
	require.NoError(t, os.Remove(file))
	reload(1, "there is no "+file)
	write(root, "shop.yaml", "agent: {name: Cup}\n")
	reload(0, "The configuration was reloaded.")
	next("RELOADING=1", ready)
	g.until(t, "/", "Cup")
	_ = g.Process.Kill()
	g.wait(t)
	if strings.Count(g.stderr.String(), "the configuration was reloaded") != 2 {
		t.Errorf("the log is\n%s", &g.stderr)
	}
}
