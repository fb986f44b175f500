package tree

import (
	"encoding/json"
	"os"
	"parley/internal/require"
	"regexp"
	"strings"
	"testing"
)

// A key of the configuration in the docs, such as web.limits.open_requests, is one that the schema has.
func TestKeysInTheDocs(t *testing.T) {
	t.Chdir(top)
	data := require.Value(os.ReadFile("config/schema.json"))(t)
	var root schemaNode
	require.NoError(t, json.Unmarshal(data, &root))
	n := 0
	for _, p := range readPages(t) {
		for _, span := range p.code {
			if !root.begins(span) {
				continue
			}
			n++
			if !root.has(strings.Split(strings.TrimSuffix(span, ":"), ".")) {
				t.Errorf("%s names the key %s, which does not exist", p.name, span)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d keys were found", n)
	}
	for span, want := range map[string]bool{
		"web.limits.open_requests": true, "connectors.*.progress": true, "connectors.*.token": true, "web.limit": false,
		"connectors.*.tokens": false, "access.overrides.tools": true, "web.public.origins": false,
	} {
		if root.has(strings.Split(span, ".")) != want {
			t.Errorf("%s: %v", span, !want)
		}
	}
	if root.begins("core.Config") || root.begins("web.go") || !root.begins("web.gone") {
		t.Error("keys are not told from other code")
	}
}

type schemaNode struct {
	Properties map[string]schemaNode
	Items      *schemaNode
}

var keyPath = regexp.MustCompile(`^[a-z_]+(\.([a-z_]+|\*))+$`)

// begins reports whether a piece of code can only be a key: a path below a section.
func (n schemaNode) begins(span string) bool {
	first, _, _ := strings.Cut(span, ".")
	return keyPath.MatchString(span) && n.Properties[first].Properties != nil && !strings.HasSuffix(span, ".go") && !strings.HasSuffix(span, ".md")
}

// has reports whether there is a key at a path. A star is any key.
func (n schemaNode) has(path []string) bool {
	if len(path) == 0 {
		return true
	}
	if n.Items != nil {
		return n.Items.has(path)
	}
	if path[0] != "*" {
		next, ok := n.Properties[path[0]]
		return ok && next.has(path[1:])
	}
	for _, next := range n.Properties {
		if next.has(path[1:]) {
			return true
		}
	}
	return false
}
