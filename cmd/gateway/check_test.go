package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The report for programs has the same findings as the one for people, also where the configuration can't be read.
func TestCheckAsJSON(t *testing.T) {
	for name, c := range map[string]struct {
		text               string
		code               int
		problems, warnings int
	}{
		"fine":            {"web: {listen: 127.0.0.1:0}\n", 0, 0, 0},
		"a problem":       {"web: {listen: 127.0.0.1:0}\nshared: redis://127.0.0.1:1\n", 1, 1, 0},
		"no such setting": {"wep: 1\n", 1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			check := command(t, nil, "check", "--json")
			configure(t, check, c.text)
			out, err := check.Output()
			var r struct {
				Findings                 []struct{ Part, Result, Text string }
				Fine, Warnings, Problems int
			}
			if invalid := json.Unmarshal(out, &r); invalid != nil || status(t, err) != c.code || r.Problems != c.problems || r.Warnings != c.warnings || len(r.Findings) == 0 {
				t.Errorf("%v, %v: %s", invalid, err, out)
			}
		})
	}
}

// Files that other users can read are a warning, which --fix mends.
func TestCheckFixesPermissions(t *testing.T) {
	first := command(t, nil, "check")
	configure(t, first, "web: {listen: 127.0.0.1:0}\n")
	env := filepath.Join(first.Dir, ".env")
	if err := os.WriteFile(env, []byte("OTHER=1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ fix, says, ends string }{
		{"", "check --fix makes it private", " fine, 1 warning\n"}, {"--fix", "is private now", " fine\n"}, {"", "ok    file", " fine\n"},
	} {
		again := command(t, nil, append([]string{"check"}, strings.Fields(c.fix)...)...)
		again.Dir = first.Dir
		out, err := again.Output()
		if status(t, err) != 0 || !strings.Contains(string(out), c.says) || !strings.HasSuffix(string(out), c.ends) {
			t.Errorf("check %s: %v: %s", c.fix, err, out)
		}
	}
	if info, err := os.Stat(env); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf(".env is %v, %v", info, err)
	}
}
