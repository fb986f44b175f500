package tree

import (
	"os"
	"os/exec"
	"parley/internal/require"
	"regexp"
	"strings"
	"testing"
)

// SQLite is C translated to Go for one version of its C library, which its own go.mod names. Another one builds, and
// breaks.
func TestSQLiteHasItsOwnLibc(t *testing.T) {
	t.Chdir(top)
	list := func(format, module string) string {
		out, err := exec.Command("go", "list", "-m", "-f", format, module).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", module, err)
		}
		return strings.TrimSpace(string(out))
	}
	mod := require.Value(os.ReadFile(list("{{.GoMod}}", "modernc.org/sqlite")))(t)
	want := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(mod)
	if want == nil {
		t.Fatal("SQLite names no libc")
	}
	if got := list("{{.Version}}", "modernc.org/libc"); got != string(want[1]) {
		t.Errorf("modernc.org/libc is %s; SQLite wants %s: go get modernc.org/libc@%s", got, want[1], want[1])
	}
}

// What docs/engineering/dependencies.md lists is what go.mod requires.
func TestDependenciesAreListed(t *testing.T) {
	t.Chdir(top)
	mod := require.Value(os.ReadFile("go.mod"))(t)
	doc := require.Value(os.ReadFile("docs/engineering/dependencies.md"))(t)
	required := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllSubmatch(mod, -1) {
		required[string(m[1])] = true
		if !strings.Contains(string(doc), "| "+string(m[1])+" |") {
			t.Errorf("docs/engineering/dependencies.md does not tell why %s is needed", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+\.\S+/\S+) \|`).FindAllSubmatch(doc, -1) {
		if !required[string(m[1])] {
			t.Errorf("docs/engineering/dependencies.md lists %s, which go.mod does not require", m[1])
		}
	}
}
