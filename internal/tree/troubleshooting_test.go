package tree

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"parley/internal/lang"
	"parley/internal/require"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	markdown "github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// The messages in the first columns of the troubleshooting page are those that the program writes.
func TestTroubleshootingQuotesTheProgram(t *testing.T) {
	t.Chdir(top)
	source := require.Value(os.ReadFile("docs/troubleshooting.md"))(t)
	quoted := quotedMessages(source)
	if len(quoted) < 40 {
		t.Fatalf("only %d messages were found", len(quoted))
	}
	written := writtenMessages(t)
	for _, message := range quoted {
		if !isWritten(written, message) {
			t.Errorf("the program writes no message like %q", message)
		}
	}
}

func TestUnwrittenMessagesAreFound(t *testing.T) {
	t.Chdir(top)
	written := []string{"the file %q is in use by %s; wait", "wait"}
	for message, want := range map[string]bool{
		"is in use": true, "the file … wait": true, "wait … the file": false, "in use by the cat": false,
	} {
		if isWritten(written, message) != want {
			t.Errorf("%q: %v", message, !want)
		}
	}
	page := "`before` the table\n\n| `head` | b |\n|---|---|\n| \"`one`\", `two` | `no` |\n"
	if got := strings.Join(quotedMessages([]byte(page)), " "); got != "one two" {
		t.Errorf(`the quoted messages are %s; want "one two"`, got)
	}
}

// quotedMessages returns the pieces of code in the first column of each table.
func quotedMessages(source []byte) (messages []string) {
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	_ = markdown.Walk(root, func(n markdown.Node, entering bool) (markdown.WalkStatus, error) { // the callback returns no error
		row, ok := n.(*table.TableRow)
		if !ok || !entering {
			return markdown.WalkContinue, nil
		}
		for c := row.FirstChild().FirstChild(); c != nil; c = c.NextSibling() {
			if _, ok := c.(*markdown.CodeSpan); ok {
				messages = append(messages, plain(c, source))
			}
		}
		return markdown.WalkContinue, nil
	})
	return messages
}

// isWritten reports whether a text contains the parts of a message between ellipses, in order.
func isWritten(written []string, message string) bool {
	for _, from := range written {
		found := true
		for part := range strings.SplitSeq(message, "…") {
			_, after, ok := strings.Cut(from, strings.TrimSpace(part))
			from, found = after, found && ok
		}
		if found {
			return true
		}
	}
	return false
}

// writtenMessages returns the string literals of the program, sums of literals as one, and the text of its scripts.
func writtenMessages(t *testing.T) (all []string) {
	t.Helper()
	scripts, err := filepath.Glob("connectors/web/widget/src/*.ts*")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("the scripts of the page: %v", err)
	}
	for _, name := range scripts {
		source := require.Value(os.ReadFile(name))(t)
		all = append(all, string(source))
	}
	for _, said := range (lang.Voice{}).Section("") {
		all = append(all, said)
	}
	for _, name := range goFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := require.Value(parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if s := literal(e); s != "" {
					all = append(all, s)
				}
			}
			return true
		})
	}
	return all
}

// literal returns the text of a string literal or of a sum that contains one; what is not literal in it is left out.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		if e.Kind != token.STRING || err != nil {
			return ""
		}
		return s
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return literal(e.X) + literal(e.Y)
		}
	}
	return ""
}
