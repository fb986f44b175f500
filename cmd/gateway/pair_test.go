package main_test

import (
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/backends/sqlite"
	"parley/core/chat"
	"parley/internal/require"
)

// knock has strangers wait in the store of a gateway that does not run.
func knock(t *testing.T, dir string, codes map[chat.EntityID]string) {
	t.Helper()
	s := require.Value(sqlite.Open(t.Context(), filepath.Join(dir, "parley.db"), sqlite.Options{}))(t)
	for id, code := range codes {
		k := chat.PairingRequest{Person: chat.Person{ID: id, Name: "E\x1bve", Since: time.Now()}, Code: code, Ends: time.Now().Add(time.Hour)}
		if _, _, err := s.RequestPairing(t.Context(), k, chat.PairingRule{Limit: 5}); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, s.Close())
}

// A list without users says so.
func TestPairListsNoOne(t *testing.T) {
	c := command(t, nil, "pair", "--list")
	knock(t, c.Dir, nil)
	out, err := c.CombinedOutput()
	if code := status(t, err); code != 0 || string(out) != "No users are approved, and none wait for approval.\n" {
		t.Errorf("%d %q", code, out)
	}
}

// A code approves a user through the running gateway, or in its store if none is running.
func TestCodeApprovesUser(t *testing.T) {
	first := command(t, nil, "--listen", "127.0.0.1:0")
	knock(t, first.Dir, map[chat.EntityID]string{"telegram/1": "AAAABBBB", "telegram/2": "CCCCDDDD", "": "EEEEFFFF"})
	g := start(t, first)
	pair := func(code int, want string, args ...string) {
		t.Helper()
		c := command(t, nil, append([]string{"pair"}, args...)...)
		c.Dir = g.Dir
		out, err := c.CombinedOutput()
		if got := status(t, err); got != code || !strings.Contains(string(out), want) || strings.ContainsAny(string(out), "\x1b") {
			t.Errorf("pair %v: %d %q; want %d, %q", args, got, out, code, want)
		}
	}
	file := filepath.Join(g.Dir, "parley.db.local")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the token: %v, %v", info, err)
	}
	pair(0, "telegram:1 (E\\x1bve) is approved", "aaaa-bbbb")
	pair(1, "unknown or expired code", "aaaa-bbbb")
	pair(1, "unknown or expired code", "EEEE-FFFF")
	pair(1, "no code given")
	pair(0, "approved telegram:1", "--list")
	pair(0, "become the owner: EEEE-FFFF\n", "--list")
	pair(0, "waiting  telegram:2", "--list")
	for _, token := range []string{"", "Bearer ", "Bearer wrong"} {
		req := require.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/local/pair", strings.NewReader("{}")))(t)
		req.Header.Set("Authorization", token)
		resp := require.Value(http.DefaultClient.Do(req))(t)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("with the token %q: %d", token, resp.StatusCode)
		}
	}
	require.NoError(t, g.Process.Signal(syscall.SIGTERM))
	g.wait(t)
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file with the token is still there: %v", err)
	}
	require.NoError(t, os.WriteFile(file, []byte(`{"url":"http://127.0.0.1:1","token":"left by a crash"}`), fs.FileMode(0o600)))
	pair(0, "telegram:2", "CCCCDDDD")
	pair(0, "telegram:1 no longer has access", "--remove", "telegram:1")
	pair(1, "has no approval to revoke", "--remove", "telegram:1")
}

// A code of pair --web makes a browser the owner's, also after a restart; the list names it, and it can be revoked. gateway chat
// is the owner's without one.
func TestPairWeb(t *testing.T) {
	const public = "web:\n  listen: 127.0.0.1:0\n  public: true\n  origins: [\"https://chat.example.org\"]\nlimits:\n  person: {tokens: 100000}\n  total: {tokens: 1000000}\n"
	first := command(t, nil)
	configure(t, first, public)
	g := start(t, first)
	run := func(args ...string) string {
		t.Helper()
		c := command(t, nil, args...)
		c.Dir = first.Dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if said := run("chat", "-p", "/status"); !strings.Contains(said, "Store: ok") {
		t.Errorf("gateway chat is told %s", said)
	}
	code, rest, _ := strings.Cut(run("pair", "--web"), "\n")
	if !strings.Contains(rest, g.url+"/login") {
		t.Errorf("it prints %q", rest)
	}
	ask := func(method, body string, cookies ...*http.Cookie) *http.Response {
		t.Helper()
		req := require.Value(http.NewRequestWithContext(t.Context(), method, g.url+"/api/login", strings.NewReader(body)))(t)
		req.Header.Set("Origin", g.url)
		req.Header.Set("Content-Type", "application/json")
		for _, c := range cookies {
			req.AddCookie(c)
		}
		resp := require.Value(http.DefaultClient.Do(req))(t)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	owns := func(c *http.Cookie) bool {
		body := require.Value(io.ReadAll(ask(http.MethodGet, "", c).Body))(t)
		return strings.Contains(string(body), "true")
	}
	cookies := ask(http.MethodPost, `{"code":"`+code+`"}`).Cookies()
	if len(cookies) != 1 || !owns(cookies[0]) {
		t.Fatalf("the code %q gives %v", code, cookies)
	}
	require.NoError(t, g.Process.Signal(syscall.SIGTERM))
	g.wait(t)
	second := command(t, nil)
	second.Dir = first.Dir
	g = start(t, second)
	list := regexp.MustCompile(`owner +(browser:[0-9a-f]{8}) \(`).FindStringSubmatch(run("pair", "--list"))
	if !owns(cookies[0]) || list == nil {
		t.Fatalf("after a restart: %v", list)
	}
	run("pair", "--remove", list[1])
	if owns(cookies[0]) || strings.Contains(run("pair", "--list"), "browser:") {
		t.Error("a revoked browser is the owner's")
	}
}
