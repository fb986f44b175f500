package tree

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"parley/internal/require"
)

// docs/network.md names every host in the texts of production code. Comments, examples and fakes have others.
func TestNetworkPageNamesEveryHost(t *testing.T) {
	page, err := os.ReadFile(top + "/docs/network.md")
	require.NoError(t, err)
	hosts := regexp.MustCompile(`(?:https?|wss)://([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)`)
	links := regexp.MustCompile(`^(?:127\.0\.0\.1|json-schema\.org|go\.dev|pkg\.go\.dev|docs\..*|ai\.google\.dev|github\.com|platform\.openai\.com|semver\.org)$|(?:^|\.)example(?:\.|$)|\.test$|\.example$`)
	found := 0
	err = fs.WalkDir(os.DirFS(top), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (strings.HasSuffix(path, "fake") || path == ".git" || path == "examples" || path == "bench" || path == "sim" || path == "stories") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(top + "/" + path)
		for line := range strings.Lines(string(text)) {
			code, _, _ := strings.Cut(line, "// ")
			for _, m := range hosts.FindAllStringSubmatch(code, -1) {
				if links.MatchString(m[1]) {
					continue
				}
				if found++; !strings.Contains(string(page), "`"+m[1]+"`") {
					t.Errorf("%s talks to %s, which docs/network.md does not name", path, m[1])
				}
			}
		}
		return err
	})
	if err != nil || found < 10 {
		t.Errorf("%d hosts were found, %v; want more", found, err)
	}
}
