package web_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// installed returns a folder with the sources of the widget and the packages of its lock file. They are installed once.
var installed = sync.OnceValues(func() (string, error) {
	top, err := os.MkdirTemp("", "widget")
	for _, name := range []string{"widget/src", "widget/test", "testdata"} {
		if err == nil {
			err = os.CopyFS(filepath.Join(top, name), os.DirFS(name))
		}
	}
	dir := filepath.Join(top, "widget")
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json"} {
		var body []byte
		if err == nil {
			body, err = os.ReadFile(filepath.Join("widget", name))
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), body, 0o600)
		}
	}
	if err != nil {
		return dir, err
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return dir, nil
})

// packages returns the folder of [installed], or skips the test.
func packages(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("SKIPPED: no npm in PATH; run tools/install.sh")
	}
	dir, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestMain removes the folder of [installed].
func TestMain(m *testing.M) {
	code := m.Run()
	if dirs, err := filepath.Glob(filepath.Join(os.TempDir(), "widget*", "widget", "node_modules")); err == nil && len(dirs) > 0 {
		dir, _ := installed()
		_ = os.RemoveAll(filepath.Dir(dir)) // the system deletes it later otherwise
	}
	os.Exit(code)
}

// The committed bundle is that of the sources and of the packages of the lock file, and the sources pass the type checker and their own tests.
func TestWidgetIsCurrent(t *testing.T) {
	dir := packages(t)
	run := func(in, program string, arguments ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Dir = in
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", program, arguments, err, out)
		}
	}
	run(dir, filepath.Join("node_modules", ".bin", "tsc"), "--noEmit")
	tool := filepath.Join(dir, "bundle")
	run(filepath.Join("..", "..", "tools", "widget"), "go", "build", "-o", tool, ".")
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

// accessible runs axe-core on the page as it is, light and on a desktop, and dark and on a phone.
func (p *tab) accessible(state string) {
	p.t.Helper()
	for _, as := range []struct {
		width  int64
		scheme string
	}{{1200, "light"}, {390, "dark"}} {
		p.do(chromedp.EmulateViewport(as.width, 800))
		p.media(as.scheme)
		p.wait(`document.readyState === 'complete'`)
		p.eval(`(window.result = '', new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))).then(() => axe.run({ resultTypes: ['violations'] })).then((r) => { window.result = 'done ' + r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html + n.failureSummary).join(' ')).join('; ') }), 0)`)
		p.wait("window.result")
		if found := p.eval("window.result"); found != "done " {
			p.t.Errorf("%s at %d pixels, %s: %s", state, as.width, as.scheme, found)
		}
		p.shot(fmt.Sprintf("axe-%s-%d", strings.ReplaceAll(state, " ", "-"), as.width))
	}
	p.do(chromedp.EmulateViewport(1200, 800))
	p.media("light")
}
