package connectortest

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"parley/internal/require"
)

// NPM copies scripts and their package-lock.json to a temporary folder, installs the packages that it pins without running anything of
// theirs, and returns the folder. It skips the test where there is no npm.
func NPM(t *testing.T, scripts fs.FS) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("SKIPPED: no npm in PATH; run tools/install.sh")
	}
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, scripts))
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	return dir
}

// Node runs a script in a folder of [NPM] and returns the lines that it prints, except those that begin with "> ": they are passed to
// cue, one after the other, as what the script waits for.
func Node(t *testing.T, dir string, cue func(string), script string, arguments ...string) string {
	t.Helper()
	node := exec.CommandContext(t.Context(), "node", append([]string{script}, arguments...)...)
	var problems bytes.Buffer
	node.Dir, node.Stderr = dir, &problems
	out, err := node.StdoutPipe()
	if err == nil {
		err = node.Start()
	}
	if err != nil {
		t.Fatalf("node %s: %v", script, err)
	}
	var printed strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if line, ok := strings.CutPrefix(lines.Text(), "> "); ok {
			cue(line)
		} else {
			printed.WriteString(lines.Text() + "\n")
		}
	}
	if err := node.Wait(); err != nil {
		t.Fatalf("node %s: %v\n%s%s", script, err, printed.String(), problems.String())
	}
	return printed.String()
}
