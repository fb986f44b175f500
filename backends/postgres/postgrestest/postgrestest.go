// Package postgrestest runs real PostgreSQL servers for tests, and can kill, pause and restart them in the middle of
// one. A server ends with the process that started it, also if that is killed, and its data is deleted.
package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/internal/require"
)

// owner is the user that owns everything in the servers.
const owner = "parley"

// Server is a PostgreSQL server on the loopback interface. It accepts every login.
type Server struct {
	port int
	dir  string
	bin  string
	safe bool // it waits for the disk

	// mu guards what follows.
	mu    sync.Mutex
	alive io.WriteCloser // the input of guard; the server ends when it is closed
	cmd   *exec.Cmd      // guard; nil while the server doesn't run
	named int            // the number of databases that Create has made
}

// Start starts an empty server until the end of the test. The test is skipped if PostgreSQL is not installed.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := start()
	if errors.Is(err, errMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s
}

// Shared returns the server that all tests of this process use, until it ends. The first caller must not be in a bubble of
// testing/synctest.
func Shared(t testing.TB) *Server {
	t.Helper()
	s, err := shared()
	if errors.Is(err, errMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return s
}

// New starts an empty server for a program that is no test. It ends with the program, or with Stop.
func New() (*Server, error) { return start() }

// NewSafe is New for a measurement: the server waits for the disk, as one with its usual settings does.
func NewSafe() (*Server, error) { return startOne(true) }

// URL returns the address of the database that every server has.
func (s *Server) URL() string { return s.url("postgres") }

// Resume starts a server again that was killed, with all that it had committed.
func (s *Server) Resume() error { return s.start() }

var shared = sync.OnceValues(start)

var errMissing = errors.New("SKIPPED: PostgreSQL is not installed, so NOTHING that needs it was tested")

func start() (*Server, error) { return startOne(false) }

func startOne(safe bool) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "postgrestest") // sockets have short names
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, safe: safe}
	if err := give(dir); err != nil {
		return nil, err
	}
	// The collation is one that sorts and compares as no program does.
	init := exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", owner, "--auth=trust", "--no-sync", "-E", "UTF8",
		"--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US")
	as(init)
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	return s, s.start()
}

// Standby starts a server that follows this one, until the end of the test. From then on this one commits nothing before the standby has
// it. With [Server.Promote] the standby takes over.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "postgrestest")
	require.NoError(t, err)
	standby := &Server{dir: dir, bin: s.bin}
	require.NoError(t, give(dir))
	backup := exec.Command(filepath.Join(s.bin, "pg_basebackup"), "-D", filepath.Join(dir, "data"), "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", owner,
		"--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	as(backup)
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	if standby.port, err = freePort(); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, standby.start())
	t.Cleanup(standby.Stop)
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		require.NoError(t, s.Exec(t.Context(), "postgres", statement))
	}
	return standby
}

// Promote makes a standby the server that accepts writes, which waits for no other standby.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	for _, statement := range []string{"SELECT pg_promote()", "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()"} {
		require.NoError(t, s.Exec(t.Context(), "postgres", statement))
	}
}

// Address is the host and the port of the server.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// programs returns the folder of PostgreSQL's programs: that of initdb in PATH, or the newest version where Debian
// installs them.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		real, err := filepath.EvalSymlinks(path) // the other programs need not have links
		return filepath.Dir(real), err
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errMissing
	}
	return filepath.Dir(slices.Max(found)), nil
}

// freePort returns a port that was free a moment ago. Another process can take it before the server does; the start
// then fails.
func freePort() (int, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close() //nolint:errcheck // nothing was accepted
	return l.Addr().(*net.TCPAddr).Port, nil
}

// guard is a shell program that runs the server, and kills it when its own input ends. The input is a pipe from this
// process, so it ends however this process ends. QUIT makes the server stop at once, without finishing anything, as in
// a crash. The file KEEP tells it to leave the data.
const guard = `"$@" & server=$!; cat >/dev/null; kill -QUIT $server; wait $server; [ -e "$KEEP" ] || rm -rf "$DIR"`

func (s *Server) start() error {
	// A crash of the server loses nothing without fsync; one of the machine ends the test anyway.
	args := []string{"-c", guard, "sh", filepath.Join(s.bin, "postgres"), "-D", filepath.Join(s.dir, "data"), "-p", strconv.Itoa(s.port),
		"-h", "127.0.0.1", "-k", s.dir, "-c", "max_connections=200", "-c", "shared_buffers=32MB",
		"-c", "max_wal_size=2GB", "-c", "log_min_messages=fatal"}
	if !s.safe {
		args = append(args, "-F", "-c", "full_page_writes=off")
	}
	cmd := exec.Command("sh", args...)
	cmd.Env = append(os.Environ(), "DIR="+s.dir, "KEEP="+filepath.Join(s.dir, "keep"))
	as(cmd)
	var log bytes.Buffer
	cmd.Stderr = &log
	alive, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.mu.Lock()
	s.cmd, s.alive = cmd, alive
	s.mu.Unlock()
	for range 400 {
		if err = s.Exec(context.Background(), "postgres", "SELECT 1"); err == nil {
			return nil
		}
		time.Sleep(25 * time.Millisecond)
	}
	s.Stop()
	return fmt.Errorf("the server is not ready: %w\n%s", err, log.String())
}

// Stop kills the server if it runs, in the middle of everything, and removes its data.
func (s *Server) Stop() { s.kill(false) }

// Kill is Stop, but keeps the data for Restart and Resume.
func (s *Server) Kill() { s.kill(true) }

func (s *Server) kill(keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	if name := filepath.Join(s.dir, "keep"); keep {
		_ = os.WriteFile(name, nil, 0o600)
	} else {
		_ = os.Remove(name)
	}
	_ = s.alive.Close()
	_ = s.cmd.Wait() // the server was killed
	s.cmd = nil
}

// Restart starts a killed server again, at the same address.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	require.NoError(t, s.start())
}

// Exec runs a statement as the owner of the server.
func (s *Server) Exec(ctx context.Context, database, statement string) error {
	c, err := pgx.Connect(ctx, s.url(database))
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, statement)
	return errors.Join(err, c.Close(ctx))
}

func (s *Server) url(database string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", owner, s.port, database)
}

// Create returns the address of a new database until the end of the test, a copy of the one at template ("" for an empty one).
func (s *Server) Create(t testing.TB, template string) string {
	t.Helper()
	s.mu.Lock()
	s.named++
	name := fmt.Sprintf("test%d", s.named)
	s.mu.Unlock()
	statement := "CREATE DATABASE " + name
	if template != "" {
		statement += " STRATEGY file_copy TEMPLATE " + template[strings.LastIndexByte(template, '/')+1:strings.IndexByte(template, '?')]
	}
	require.NoError(t, s.Exec(context.Background(), "postgres", statement))
	t.Cleanup(func() { _ = s.Exec(context.Background(), "postgres", "DROP DATABASE "+name+" WITH (FORCE)") })
	return s.url(name)
}
