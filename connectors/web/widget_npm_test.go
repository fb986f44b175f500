package web

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The committed bundle is that of the sources and of the packages of the lock file, and the sources pass the type checker and their own tests.
func TestWidgetIsCurrent(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("SKIPPED: no npm in PATH; the widget's bundle was not compared with its sources. Run tools/install.sh")
	}
	top := t.TempDir()
	dir := filepath.Join(top, "widget")
	for _, name := range []string{"widget/src", "widget/test", "testdata"} {
		if err := os.CopyFS(filepath.Join(top, name), os.DirFS(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json"} {
		body, err := os.ReadFile(filepath.Join("widget", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), body, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(in, program string, arguments ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Dir = in
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", program, arguments, err, out)
		}
	}
	run(dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	run(dir, filepath.Join("node_modules", ".bin", "tsc"), "--noEmit")
	tool := filepath.Join(dir, "bundle")
	run(filepath.Join("..", "..", "tools"), "go", "build", "-o", tool, "./widget")
	run(dir, tool, "-out", "dist")
	run(dir, tool, "-tests", "tests")
	tests, err := filepath.Glob(filepath.Join(dir, "tests", "*.mjs"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	run(dir, "node", append([]string{"--test"}, tests...)...)

	want, err := filepath.Glob(filepath.Join(dir, "dist", "*"))
	if err != nil {
		t.Fatal(err)
	}
	have, err := filepath.Glob(filepath.Join("widget", "dist", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(have) != len(want) {
		t.Errorf("widget/dist has %d files, want %d: run go generate ./connectors/web", len(have), len(want))
	}
	for _, name := range want {
		now, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(filepath.Join("widget", "dist", filepath.Base(name)))
		if err != nil || strings.HasSuffix(name, ".gz") && !bytes.Equal(now, before) {
			t.Errorf("%s is not current: run go generate ./connectors/web", filepath.Base(name))
		}
	}
}

// What a page costs its visitors: the closed widget one small file, the open chat two, the first answer one more.
func TestWidgetStaysSmall(t *testing.T) {
	sizes, all := map[string]int{}, bundle()
	all["widget.js"] = all["widget.js"].with(embedded{Agent: "Parley", Suggestions: []string{"What can you do?", "Show me progress", "Roll a die"}, Accept: "image/*,.pdf,.docx"})
	for name, f := range all {
		base, _, _ := strings.Cut(strings.TrimSuffix(name, ".js"), "-")
		sizes[base] = len(f.zipped)
		t.Logf("%-28s %6d bytes, %5d as gzip, %5d as Brotli", name, len(f.plain), len(f.zipped), len(f.brotli))
	}
	if got := sizes["widget"]; got > 4<<10 {
		t.Errorf("the closed widget has %d bytes, want at most 4 KB", got)
	}
	if got := sizes["widget"] + sizes["chat"]; got > 40<<10 {
		t.Errorf("the open chat has %d bytes, want at most 40 KB", got)
	}
	if got := sizes["widget"] + sizes["chat"] + sizes["markdown"]; got > 56<<10 {
		t.Errorf("the chat with an answer has %d bytes, want at most 56 KB", got)
	}
}
