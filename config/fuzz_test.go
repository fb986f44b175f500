package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/require"
)

// FuzzParse: no input panics, every error is Problems, and what the environment
// holds never occurs in an error (SE-02, SE-14).
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(f, err)
	for _, file := range append(files, "../config.yaml") {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	const secret = "Zq7-secret-of-the-environment"
	getenv := func(string) (string, bool) { return secret, true }
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Parse("config.yaml", data, dir, getenv, platforms...)
		if err == nil {
			return
		}
		problems, ok := errors.AsType[Problems](err)
		if !ok || len(problems) == 0 {
			t.Fatalf("not Problems: %v", err)
		}
		for _, part := range []string{secret, secret[:12], secret[len(secret)-12:]} {
			if strings.Contains(err.Error(), part) {
				t.Fatalf("the error shows a secret: %v", err)
			}
		}
	})
}
