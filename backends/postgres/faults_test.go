package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"parley/backends/postgres/postgrestest"
	"parley/core/chat"
	"parley/internal/require"
)

// DI-02: whenever the server is killed, what was accepted is there when it is back, and the pool needs no restart.
func TestKilledUnderLoad(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	s := open(t, server.Create(t, ""), Options{})
	l := acceptAll(t, s, 8)
	for range 3 {
		l.more(t, 50)
		server.Kill()
		server.Restart(t)
	}
	l.check(t)
}

// cutter passes bytes on to a server. It cuts the connection of a client that says a word, once, before or after it passes that on.
type cutter struct {
	word   atomic.Pointer[string]
	before bool
}

func (c *cutter) listen(t *testing.T, to string) (addr string) {
	l := require.Value(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go c.pass(client, to)
		}
	}()
	return l.Addr().String()
}

func (c *cutter) pass(client net.Conn, to string) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	var cut atomic.Bool
	go func() {
		defer client.Close()
		answer := make([]byte, 64<<10)
		for {
			n, err := server.Read(answer)
			if err != nil || cut.Load() {
				return
			}
			if _, err := client.Write(answer[:n]); err != nil {
				return
			}
		}
	}()
	said := make([]byte, 64<<10)
	for {
		n, err := client.Read(said)
		if err != nil {
			return
		}
		if word := c.word.Load(); word != nil && bytes.Contains(said[:n], []byte(*word)) && c.word.CompareAndSwap(word, nil) {
			cut.Store(true)
			if !c.before {
				_, _ = server.Write(said[:n])
			}
			return
		}
		if _, err := server.Write(said[:n]); err != nil {
			return
		}
	}
}

// DI-05: a transaction whose connection is lost at any point is done once: where the answer to the commit is lost, the store looks
// how it ended.
func TestConnectionCut(t *testing.T) {
	t.Parallel()
	direct := fresh(t)
	for _, before := range []bool{false, true} {
		for _, word := range []string{"begin", "commit\x00"} {
			u := require.Value(url.Parse(direct))(t)
			c := &cutter{before: before}
			u.Host = c.listen(t, u.Host)
			s := open(t, u.String(), Options{Several: true})
			room := chat.RoomID(fmt.Sprintf("%q %v", word, before))
			if _, err := s.Accept(t.Context(), message(room, chat.MemoryID(room+"/0")), chat.JoinRule{}); err != nil { // prepares statements
				t.Fatal(err)
			}
			c.word.Store(&word)
			acc, err := s.Accept(t.Context(), message(room, chat.MemoryID(room+"/1")), chat.JoinRule{})
			if c.word.Load() != nil {
				t.Fatalf("%q was never said", word)
			}
			if err != nil || acc.Duplicate || acc.Response != 2 {
				t.Errorf("cut at %q, before %v: accepted as %+v, %v", word, before, acc, err)
			}
			if runs, err := s.OpenRuns(t.Context(), room); err != nil || len(runs) != 2 {
				t.Errorf("cut at %q, before %v: there are %d runs, %v; want 2", word, before, len(runs), err)
			}
		}
	}
}

// What passes and what lasts, of a real server. A check reports both.
func TestWhatPassesAndWhatLasts(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	at := server.Create(t, "")
	exec := func(statement string) {
		t.Helper()
		require.NoError(t, server.Exec(t.Context(), "postgres", statement))
	}
	exec("CREATE ROLE stranger LOGIN")
	exec("CREATE ROLE many LOGIN CONNECTION LIMIT 0")
	exec("CREATE DATABASE standby")
	exec("ALTER DATABASE standby SET default_transaction_read_only = on")
	as := func(user string) string { return strings.Replace(at, "parley@", user+"@", 1) }
	host := at[strings.Index(at, "@")+1 : strings.LastIndex(at, "/")]
	for _, c := range []struct{ name, url, passes, lasts string }{
		{"no such user", as("nobody"), "", "check the user and the password"},
		{"no rights", as("stranger"), "", "the user lacks a right"},
		{"no such database", strings.Replace(at, "/test", "/missing", 1), "", "create it with createdb"},
		{"no such schema", at + "&search_path=missing", "", "create the schema"},
		{"no TLS", strings.Replace(at, "disable", "require", 1), "", "check sslmode"},
		{"no URL", "postgres://a b", "", "parse"},
		{"too many", as("many"), "too many connections", ""},
		{"read-only", strings.Replace(at, at[strings.LastIndex(at, "/"):strings.Index(at, "?")], "/standby", 1), "read-only", ""},
		{"refused", strings.Replace(at, host, "127.0.0.1:1", 1), "can't be reached", ""},
		{"no such host", strings.Replace(at, host, "host.invalid:5432", 1), "can't be reached", ""},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		s, err := Open(ctx, c.url, Options{Guest: true})
		cancel()
		if err == nil {
			t.Errorf("%s: opened, %v", c.name, s.Close())
			continue
		}
		reason, waits := Unavailable(err)
		if waits != (c.passes != "") || !strings.Contains(reason, c.passes) || !strings.Contains(err.Error(), c.lasts) {
			t.Errorf("%s: waits %v, %q: %v", c.name, waits, reason, err)
		}
		if text, _, err := Describe(t.Context(), c.url); err == nil || !strings.Contains(err.Error(), c.passes+c.lasts) {
			t.Errorf("%s: the check says %q, %v", c.name, text, err)
		}
	}
}

func TestUnavailable(t *testing.T) {
	code := func(code string) error { return fmt.Errorf("writing: %w", &pgconn.PgError{Code: code}) }
	for err, want := range map[error]string{
		code("53100"): "the disk of the database is full", code("57P03"): "the database is starting up", code("58030"): "the disk of the database fails",
		code("25006"): "the database is read-only", code("28P01"): "", code("42601"): "", code("23505"): "",
		errSilent: "the database does not answer", errUnknown: "the database can't be reached",
		syscall.EACCES: "", chat.ErrNotFound: "", errors.New("other"): "", permanent{code("53100")}: "",
	} {
		if reason, ok := Unavailable(err); reason != want || ok != (want != "") {
			t.Errorf("%v: %q, %v; want %q", err, reason, ok, want)
		}
	}
}
