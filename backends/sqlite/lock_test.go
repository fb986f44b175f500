package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/backends/record"
	"parley/core/chat"
	"parley/internal/require"
)

// childEnv is the path of the database of a child process, which is this test binary again.
const childEnv = "PARLEY_TEST_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		fmt.Fprintln(os.Stderr, acceptForever(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// acceptForever writes the id of each message that was accepted, as a connector would acknowledge it.
func acceptForever(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	if err := s.RenewLease(ctx, "child", time.Now().Add(time.Hour)); err != nil {
		return err
	}
	for n := 0; ; n++ {
		acc, err := s.Accept(ctx, message(childRoom(os.Getpid()), n), chat.JoinRule{})
		if err != nil {
			return err
		}
		if n == 0 {
			if _, err := s.Start(ctx, acc.Run, "child"); err != nil {
				return err
			}
		}
		fmt.Println(acc.Memory)
	}
}

func childRoom(pid int) chat.RoomID { return chat.RoomID(fmt.Sprint("room of ", pid)) }

type child struct {
	cmd *exec.Cmd
	out *bufio.Scanner
}

func startChild(t *testing.T, path string) child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = os.Stderr
	out := require.Value(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	return child{cmd, bufio.NewScanner(out)}
}

// accepts waits until the child has said n more ids, or has no more.
func (c child) accepts(n int) (ids []chat.MemoryID) {
	for len(ids) != n && c.out.Scan() {
		ids = append(ids, chat.MemoryID(c.out.Text()))
	}
	return ids
}

// kill ends the process as kill -9 does, and returns what it still had said.
func (c child) kill(t *testing.T) []chat.MemoryID {
	t.Helper()
	require.NoError(t, c.cmd.Process.Kill())
	rest := c.accepts(-1)
	if err := c.cmd.Wait(); err == nil {
		t.Error("the child ended by itself; want it killed by the test")
	}
	return rest
}

// IN-01, DI-05: all that was acknowledged outlives a process that is killed, again and again.
func TestKilledProcessLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	var accepted []chat.MemoryID
	for range 3 {
		c := startChild(t, path)
		accepted = append(accepted, c.accepts(50)...)
		accepted = append(accepted, c.kill(t)...)

		s := open(t, path) // the lock has ended with the process
		for _, id := range accepted {
			if _, err := s.Memory(t.Context(), id); err != nil {
				t.Fatalf("of %d accepted: %v", len(accepted), err)
			}
		}
		// The child said that it lives for an hour; but there is one owner, and that is not the child.
		run, err := s.Start(t.Context(), record.RunID(childRoom(c.cmd.Process.Pid), 1), "parent")
		if err != nil || run.Epoch != 2 {
			t.Errorf("the run of a dead process was started as %+v: %v", run, err)
		}
		require.NoError(t, s.Close())
	}
}

func TestOneProcessOwnsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	c := startChild(t, path)
	c.accepts(1)
	pid := fmt.Sprintf("process %d on ", c.cmd.Process.Pid)
	wantInUse(t, path, pid)
	c.kill(t)
	open(t, path) // which fails the test if it is still in use
}

func TestOneStoreOwnsTheFile(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "parley.db"), filepath.Join(dir, "other.db")
	s := open(t, path)
	require.NoError(t, os.Symlink(path, other))
	for _, name := range []string{path, filepath.Join(dir, ".", "x", "..", "parley.db"), other} {
		wantInUse(t, name, fmt.Sprintf("process %d on ", os.Getpid()))
	}
	require.NoError(t, s.Close())
	open(t, path)
}

func wantInUse(t *testing.T, path, who string) {
	t.Helper()
	_, err := Open(t.Context(), path, Options{})
	var inUse *InUseError
	if !errors.As(err, &inUse) || !strings.Contains(inUse.Holder, who) || !strings.Contains(err.Error(), who) {
		t.Errorf("opened twice: %v; want: in use by %s", err, who)
	}
}
