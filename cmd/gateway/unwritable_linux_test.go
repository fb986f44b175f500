package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/internal/require"
)

// In a folder that can't be written, each command says so in a sentence with the next step, and leaves nothing. Root could write: it
// runs the commands as another user.
func TestUnwritableFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, errors.Join(os.Chmod(filepath.Dir(binary), 0o711), os.Chmod(filepath.Dir(dir), 0o711), os.Chmod(dir, 0o555)))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	run := func(args ...string) (out string, code int) {
		c := command(t, nil, args...)
		c.Dir = dir
		if os.Geteuid() == 0 {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		text, err := c.CombinedOutput()
		if errors.Is(err, os.ErrPermission) {
			t.Skip("SKIPPED: another user can't run programs in the folder for temporary files")
		}
		return string(text), status(t, err)
	}
	for says, args := range map[string][]string{
		"name another one with --config": {"init", "--token", "none", "--model", "demo", "--name", "Ada", "--listen", "127.0.0.1:0"},
		"set store to a file elsewhere":  {"run", "--listen", "127.0.0.1:0"},
	} {
		if out, code := run(args...); code != 1 || !strings.Contains(out, says) {
			t.Errorf("%v ends with %d: %s; want %q", args, code, out, says)
		}
	}
	own := t.TempDir()
	require.NoError(t, errors.Join(os.Chmod(filepath.Dir(own), 0o711), os.Chmod(own, 0o777)))
	to := filepath.Join(dir, "copy.db")
	dir = own
	if out, code := run("migrate"); code != 0 { // makes the store
		t.Fatalf("it ended with %d: %s", code, out)
	}
	if out, code := run("backup", to); code != 1 || !strings.Contains(out, "use another folder") || strings.Contains(out, "partial") {
		t.Errorf("the backup ends with %d: %s", code, out)
	}
	if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
