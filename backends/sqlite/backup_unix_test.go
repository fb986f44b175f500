//go:build unix

package sqlite

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley/internal/require"
)

// limitedEnv is what a child process does whose files can't grow, and the paths.
const limitedEnv = "PARLEY_TEST_SQLITE_LIMITED"

// copyLimited makes or restores a backup in a process whose files can have 64 KiB, as if the disk were full then.
func copyLimited(what string, paths []string) (err error) {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}); err != nil {
		return err
	}
	if what == "backup" {
		_, err = Backup(context.Background(), paths[0], paths[1])
	} else {
		_, err = Restore(context.Background(), paths[0], paths[1], RestoreOptions{})
	}
	return err
}

// A file can't grow, as on a full disk: the error says so in a sentence, and no part of a copy is left.
func TestBackupWithoutSpace(t *testing.T) {
	if what, paths, ok := strings.Cut(os.Getenv(limitedEnv), ":"); ok {
		t.Fatal(copyLimited(what, filepath.SplitList(paths)))
	}
	path, restored := migrated(t, "parley.db"), migrated(t, "other.db")
	backup, full := t.TempDir()+"/backup.db", t.TempDir()+"/full.db"
	require.Value(Backup(t.Context(), path, backup))(t)
	for what, paths := range map[string][]string{"backup": {path, full}, "restore": {backup, restored}} {
		limited := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBackupWithoutSpace$")
		limited.Env = append(os.Environ(), limitedEnv+"="+what+":"+strings.Join(paths, ":"))
		out, err := limited.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "writing "+paths[1]) || !strings.Contains(string(out), "free some space") {
			t.Errorf("%s: %v: %s", what, err, out)
		}
	}
	for path, want := range map[string][]string{full: nil, restored: {"other.db", "other.db.lock"}} {
		if got := filesIn(t, path[:strings.LastIndex(path, "/")]); !slices.Equal(got, want) {
			t.Errorf("what is left is %q; want %q", got, want)
		}
	}
}
