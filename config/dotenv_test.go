package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/require"
)

// The file adds to the environment, which takes precedence. Errors name the line, and show no value.
func TestWithDotEnv(t *testing.T) {
	environment := func(name string) (string, bool) { return "set", name == "SET" }
	path := filepath.Join(t.TempDir(), ".env")
	if get, err := WithDotEnv(path, environment); err != nil {
		t.Errorf("without a file: %v", err)
	} else if _, ok := get("A"); ok {
		t.Error("without a file, A is set")
	}
	text := "\ufeff# secrets\r\n\nA=1=2\nexport B = \"two words\" \nC='# no comment'\nD=\nSET=file\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	get, err := WithDotEnv(path, environment)
	require.NoError(t, err)
	for name, want := range map[string]string{"A": "1=2", "B": "two words", "C": "# no comment", "D": "", "SET": "set"} {
		if got, ok := get(name); !ok || got != want {
			t.Errorf("%s is %q, %v", name, got, ok)
		}
	}
	for _, line := range []string{"hunter2", "1A=hunter2", "A=\"hunter2", "=hunter2"} {
		require.NoError(t, os.WriteFile(path, []byte("A=1\n"+line+"\n"), 0o600))
		if _, err := WithDotEnv(path, environment); err == nil || !strings.Contains(err.Error(), ".env:2:") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", line, err)
		}
	}
}
