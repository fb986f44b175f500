//go:build unix

package postgrestest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"parley/internal/require"
)

// identity returns who runs the server: PostgreSQL refuses to be root.
func identity() (uid, gid int, other bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return 0, 0, false
		}
	}
	uid, _ = strconv.Atoi(u.Uid)
	gid, _ = strconv.Atoi(u.Gid)
	return uid, gid, true
}

// as has cmd run as that user, in a process group of its own: an interrupt of the test is not one of the server.
func as(cmd *exec.Cmd) {
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if uid, gid, other := identity(); other {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
}

// give makes that user the owner of a folder.
func give(dir string) error {
	if uid, gid, other := identity(); other {
		return os.Chown(dir, uid, gid)
	}
	return nil
}

// Pause stops all processes of the server without ending them: connections stay open, and nothing answers. Continue ends that, and
// so must a test before it ends.
func (s *Server) Pause(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Continue undoes Pause.
func (s *Server) Continue(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	all := require.Value(s.Processes())(t)
	for _, pid := range all {
		_ = syscall.Kill(pid, sig) // one that has just ended is no matter
	}
}

// Processes returns the ids of the server's processes. The first is the parent of the others.
func (s *Server) Processes() (all []int, err error) {
	lines, err := os.ReadFile(filepath.Join(s.dir, "data", "postmaster.pid"))
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(lines), "\n")
	children, err := exec.Command("ps", "-o", "pid=", "--ppid", first).Output()
	if err != nil {
		return nil, fmt.Errorf("list the processes of the server: %w", err)
	}
	for _, field := range append([]string{first}, strings.Fields(string(children))...) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		all = append(all, pid)
	}
	return all, nil
}
