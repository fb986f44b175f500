package main_test

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"parley/backends/postgres/postgrestest"
	"parley/backends/redis/redistest"
	"parley/connectors/telegram/telegramfake"
	"parley/internal/require"
)

// end runs a command to its end, which comes by itself, and returns its output and its exit status.
func end(t *testing.T, c *exec.Cmd) (out string, code int) {
	t.Helper()
	text, err := c.CombinedOutput()
	return string(text), status(t, err)
}

// PostgreSQL 13 ends the program with a sentence; it doesn't wait for a newer server.
func TestOldPostgresEndsTheProgram(t *testing.T) {
	for name, pooler := range map[string]bool{"directly": false, "through a pooler": true} {
		t.Run(name, func(t *testing.T) {
			server := postgrestest.Old(t, pooler)
			for _, args := range [][]string{{"run", "--listen", "127.0.0.1:0"}, {"check"}, {"migrate"}, {"status"}} {
				c := command(t, nil, args...)
				configure(t, c, fmt.Sprintf("store: %q\n", server.URL()))
				if out, code := end(t, c); code != 1 || !strings.Contains(out, "version 14 or later is needed") {
					t.Errorf("%v ends with %d: %s", args, code, out)
				}
			}
		})
	}
}

// A Redis that refuses the connection, or that gateways with another store use by the same name, ends the program with a sentence.
func TestWhatLastsOfRedisEndsTheProgram(t *testing.T) {
	database := postgrestest.Shared(t)
	guarded, open := redistest.Start(t, "--requirepass", "hunter2"), redistest.Start(t)
	first := command(t, nil, "run", "--listen", "127.0.0.1:0")
	configure(t, first, fmt.Sprintf("store: %q\nshared: %q\ncluster: shop\n", database.Create(t, ""), open.URL()))
	g := start(t, first)
	defer g.wait(t)
	defer g.Process.Kill()
	for name, c := range map[string]struct {
		shared, says string
	}{
		"a wrong password":       {"redis://:hunter3@" + guarded.Addr, "check the user, the password"},
		"no password":            {guarded.URL(), "check the user, the password"},
		"another store, by name": {open.URL(), "gateways with another store use this name on the same Redis"},
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf("store: %q\nshared: %q\ncluster: shop\n", database.Create(t, ""), c.shared)
			for _, args := range [][]string{{"check"}, {"run", "--listen", "127.0.0.1:0"}, {"check"}} { // the first check finds an empty database
				run := command(t, nil, args...)
				configure(t, run, text)
				if out, code := end(t, run); code != 1 || !strings.Contains(out, c.says) || strings.Contains(out, "hunter") {
					t.Errorf("%v ends with %d: %s", args, code, out)
				}
			}
		})
	}
}

// The check reports each bad state of the services with its remedy, and ends by itself: it waits for none of them. Each of its
// steps has at most 20 s, and the bound of a command in these tests is a minute.
func TestCheckNeverWaits(t *testing.T) {
	silent := silentServer(t)
	postgres := func(f *postgrestest.Fake) string { return f.URL() }
	for name, c := range map[string]struct{ key, address, says string }{
		"PostgreSQL refuses connections": {"store", "postgres://parley@127.0.0.1:1/parley", "can't be reached"},
		"PostgreSQL says nothing":        {"store", postgres(postgrestest.Silent(t, false)), "does not answer"},
		"PostgreSQL hangs after a login": {"store", postgres(postgrestest.Silent(t, true)), "does not answer"},
		"PostgreSQL with a long timeout": {"store", postgres(postgrestest.Silent(t, false)) + "&connect_timeout=3600", "does not answer"},
		"several PostgreSQL hang":        {"store", fmt.Sprintf("postgres://parley@%[1]s,%[1]s,%[1]s,%[1]s/parley?sslmode=disable", silent), "does not answer"},
		"PostgreSQL with TLS hangs":      {"store", fmt.Sprintf("postgres://parley@%s/parley?sslmode=require", silent), "does not answer"},
		"PostgreSQL has no address":      {"store", "postgres://parley@no-such-host.invalid/parley", "no-such-host.invalid"},
		"PostgreSQL starts":              {"store", postgres(postgrestest.Refusing(t, "57P03", "the database system is starting up")), "starting up"},
		"a wrong password":               {"store", postgres(postgrestest.Refusing(t, "28P01", "password authentication failed for user \"parley\"")), "check the user and the password"},
		"no such database":               {"store", postgres(postgrestest.Refusing(t, "3D000", "database \"test\" does not exist")), "create it with createdb"},
		"Redis refuses connections":      {"shared", "redis://127.0.0.1:1", "start Redis there"},
		"Redis says nothing":             {"shared", "redis://" + silent, "start Redis there"},
		"Redis with TLS says nothing":    {"shared", "rediss://" + silent, "start Redis there"},
		"Redis has no address":           {"shared", "redis://no-such-host.invalid:6379", "start Redis there"},
		"no sentinel answers":            {"shared", "redis+sentinel://" + silent + "?master_name=m", "start Redis there"},
		"no node of a cluster answers":   {"shared", "redis+cluster://" + silent, "start Redis there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := command(t, nil, "check")
			configure(t, run, fmt.Sprintf("%s: %q\nconnectors: {telegram: {token: %q, api_url: \"http://127.0.0.1:1\"}}\n", c.key, c.address, telegramfake.New().Token()))
			begun := time.Now()
			out, code := end(t, run)
			t.Logf("it took %v", time.Since(begun))
			line := ""
			for l := range strings.Lines(out) {
				if strings.HasPrefix(l, "FAIL  "+c.key+" ") {
					line = l
				}
			}
			if code != 1 || !strings.Contains(line, c.says) || strings.Contains(out, "secret") {
				t.Errorf("it ends with %d and %q in: %s", code, line, out)
			}
		})
	}
}

// silentServer accepts connections and says nothing, until the end of the test. It returns its address.
func silentServer(t *testing.T) string {
	t.Helper()
	l := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close() //nolint:revive // all are open until the end
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return l.Addr().String()
}
