package local

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"parley/config"
	"parley/internal/require"
)

// Programs of the machine reach a gateway at its loopback address where it listens on every address, and not after it ended.
func TestAnnounce(t *testing.T) {
	var cfg config.Config
	cfg.Store = config.DSN("sqlite:" + filepath.Join(t.TempDir(), "parley.db"))
	if url, ok := URL(cfg); ok {
		t.Errorf("before any start: %q", url)
	}
	tokens := map[string]bool{}
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "0.0.0.0:81": "http://127.0.0.1:81", "[::]:82": "http://127.0.0.1:82",
		"[::1]:83": "http://[::1]:83", "192.0.2.1:84": "http://192.0.2.1:84",
	} {
		addr := require.Value(net.ResolveTCPAddr("tcp", listen))(t)
		if err := os.Chmod(contactFile(cfg), 0o644); err != nil && !os.IsNotExist(err) { // as an earlier version may have left it
			t.Fatal(err)
		}
		token, err := Announce(cfg, addr)
		if err != nil || tokens[token] {
			t.Errorf("%s: token %q, %v", listen, token, err)
		}
		tokens[token] = true
		if url, ok := URL(cfg); !ok || url != want {
			t.Errorf("%s is reached at %q", listen, url)
		}
		if info, err := os.Stat(contactFile(cfg)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", listen, info, err)
		}
	}
	require.NoError(t, Withdraw(cfg))
	if url, ok := URL(cfg); ok {
		t.Errorf("after the end: %q", url)
	}
}
