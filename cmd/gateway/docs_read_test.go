package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"parley/internal/require"
)

// docCommands returns the commands in the code of the docs, with the pages they stand on.
func docCommands(t *testing.T) map[string][]string {
	t.Helper()
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "bench/*.md"} {
		matches := require.Value(filepath.Glob(filepath.Join(top, pattern)))(t)
		pages = append(pages, matches...)
	}
	found := map[string][]string{}
	for _, page := range pages {
		source := require.Value(os.ReadFile(page))(t)
		for _, line := range codeLines(source) {
			if c, ok := asCommand(line); ok && !slices.Contains(found[c], page) {
				found[c] = append(found[c], page)
			}
		}
	}
	if len(pages) < 15 || len(found) < 20 {
		t.Fatalf("%d pages have %d commands", len(pages), len(found))
	}
	return found
}

// codeLines returns each line of a page's blocks of code, and each piece of code in its text.
func codeLines(source []byte) (lines []string) {
	root := goldmark.DefaultParser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the callback returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			var b strings.Builder
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				b.Write(c.(*ast.Text).Segment.Value(source))
			}
			lines = append(lines, strings.ReplaceAll(b.String(), "\n", " "))
		case *ast.FencedCodeBlock:
			if language := string(n.Language(source)); language == "sh" || language == "" {
				lines = append(lines, strings.Split(string(n.Lines().Value(source)), "\n")...)
			}
		case *ast.CodeBlock:
			lines = append(lines, strings.Split(string(n.Lines().Value(source)), "\n")...)
		}
		return ast.WalkContinue, nil
	})
	return lines
}

var (
	comment  = regexp.MustCompile(`\s+#\s.*$`)
	settings = `^((?:[A-Z_]+=\S+ )*)`
	starts   = regexp.MustCompile(settings + `(go (?:run|test|build|vet|tool|get|install|generate)|gateway|make|grep|curl|git|npm|docker|\./[\w/.-]+)( |$)`)
	builds   = regexp.MustCompile(`\bgo run \./cmd/gateway\b`)
)

// asCommand returns the command in a line of code, in the form in which it is looked up and run; false where it is none.
func asCommand(line string) (string, bool) {
	line = strings.TrimSpace(comment.ReplaceAllString(line, ""))
	line = builds.ReplaceAllString(line, "gateway")
	if rest, ok := strings.CutPrefix(line, "./gateway"); ok {
		line = "gateway" + rest
	}
	if !starts.MatchString(line) && !strings.Contains(line, "| gateway ") {
		return "", false
	}
	return line, true
}
