package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"parley/internal/require"
)

// A file that changes while the configuration is read is read again.
func TestChangeWhileReading(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "c.yaml")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	write := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("agent: {character: c.yaml}\n")
	s := &source{c: &cli{Config: file}}
	for _, during := range []string{"", "agent: {character: c.yaml, timezone: UTC}\n"} {
		done := make(chan error, 1)
		go func() {
			to, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader, who has read the other file
			if err == nil && during != "" {
				err = os.WriteFile(file, []byte(during), 0o600)
			}
			if err == nil {
				_, err = to.WriteString("name: Ann\n")
			}
			if err == nil {
				err = to.Close()
			}
			done <- err
		}()
		_, _, err := s.load()
		require.NoError(t, err)
		require.NoError(t, <-done)
	}
	if _, changed := s.stamp(); !changed {
		t.Error("the change is not seen")
	}
}

// Without its file, a gateway that had one does not continue with the defaults, which could open a closed gateway.
func TestMissingFileIsNoConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	s := &source{c: &cli{}}
	_, from, err := s.load()
	require.NoError(t, err)
	if from != fromDefaults {
		t.Fatalf("without a file, the configuration is that of %s", from)
	}
	require.NoError(t, os.WriteFile(defaultFile, []byte("web: {require_identity: true}\n"), 0o600))
	_, _, err = s.load()
	require.NoError(t, err)
	require.NoError(t, os.Remove(defaultFile))
	if _, _, err = s.load(); err == nil || !strings.Contains(err.Error(), "there is no config.yaml any more") {
		t.Errorf("the missing file is read as %v", err)
	}
}
