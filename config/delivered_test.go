package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"parley/internal/golden"
	"parley/internal/require"
	"parley/internal/sections"
)

// written lists the keys of a section of the file, with the line each stands in.
func written(n *node, path string, lines map[string]int) []string {
	var keys []string
	for _, f := range n.fields {
		key := join(path, f.key)
		keys = append(keys, key)
		lines[key] = f.line
		keys = append(keys, written(f.value, key, lines)...)
	}
	return keys
}

// declared lists the keys of a struct.
func declared(section reflect.Value, path string) []string {
	var keys []string
	for _, e := range entries(section) {
		key := join(path, e.key)
		keys = append(keys, key)
		if isSection(e.value) {
			keys = append(keys, declared(e.value, key)...)
		}
	}
	return keys
}

func isSection(v reflect.Value) bool { return Connectors(catalog).formOf(v.Type()).kind == section }

// TestDeliveredFileShowsEveryKey: config.yaml is the manual of the configuration. With -update, a section that it lacks is added.
func TestDeliveredFileShowsEveryKey(t *testing.T) {
	const file = "../config.yaml"
	read := func() (text string, keys []string, lines map[string]int) {
		data := require.Value(os.ReadFile(file))(t)
		root, wrong := readYAML(data)
		if wrong != nil { // not an error
			t.Fatal(wrong)
		}
		lines = map[string]int{}
		keys = written(root, "", lines)
		return string(data), keys, lines
	}
	text, keys, lines := read()
	for i, s := range catalog {
		if golden.Update() && lines[parent(s)+"."+s.Name] == 0 {
			require.NoError(t, os.WriteFile(file, []byte(withSection(t, text, lines, i)), 0o644))
			text, keys, lines = read()
		}
	}
	if diff := cmp.Diff(declared(reflect.ValueOf(blank(catalog)), ""), keys); diff != "" {
		t.Errorf("the keys of the structs (-) and of config.yaml (+), in order; go test ./config -update adds whole sections:\n%s", diff)
	}
	all := strings.Split(text, "\n")
	for key, line := range lines {
		if above := strings.TrimSpace(all[line-2]); !strings.HasPrefix(above, "# ") {
			t.Errorf("config.yaml:%d: %s has no comment above it", line, key)
		}
	}
}

// parent returns the key that contains a section.
func parent(s sections.Section) string {
	if s.Can != nil {
		return "providers"
	}
	return "connectors"
}

// withSection adds a section of the catalog to the text of a configuration: behind the one before it in the catalog, else as the
// first one. lines has the line of each key.
func withSection(t *testing.T, text string, lines map[string]int, index int) string {
	t.Helper()
	s := catalog[index]
	before := parent(s)
	for _, other := range catalog[:index] {
		if parent(other) == parent(s) {
			before = parent(s) + "." + other.Name
		}
	}
	end := lines[before]
	for key, line := range lines {
		if strings.HasPrefix(key, before+".") && before != parent(s) {
			end = max(end, line)
		}
	}
	of, _ := generate(t).Properties.Get(parent(s))
	property, _ := of.Properties.Get(s.Name)
	var b strings.Builder
	writeKey(t, &b, "  ", s.Name, property)
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[:end], "") + b.String() + strings.Join(all[end:], "")
}

// writeKey writes a key of config.yaml: the comment of its struct, and its default.
func writeKey(t *testing.T, b *strings.Builder, indent, key string, property *jsonschema.Schema) {
	t.Helper()
	for line := range strings.Lines(property.Description) {
		fmt.Fprintf(b, "%s# %s\n", indent, strings.TrimSpace(line))
	}
	if property.Properties == nil || property.Properties.Len() == 0 {
		value := require.Value(yaml.Marshal(property.Default))(t)
		fmt.Fprintf(b, "%s%s: %s\n", indent, key, strings.TrimSpace(string(value)))
		return
	}
	fmt.Fprintf(b, "%s%s:\n", indent, key)
	for p := property.Properties.Oldest(); p != nil; p = p.Next() {
		writeKey(t, b, indent+"  ", p.Key, p.Value)
	}
}

// The settings at the top of config.yaml are a configuration of their own, with the same values as the rest of the file.
func TestTopOfTheDeliveredFile(t *testing.T) {
	data := require.Value(os.ReadFile("../config.yaml"))(t)
	top, lines := frontPage(string(data))
	if lines > 40 {
		t.Errorf("the top has %d lines, which is more than a screen", lines)
	}
	for _, setting := range []string{
		"api_key:", "base_url:", "model:", "discord:", "telegram:", "listen:", "public:", "origins:", "name:", "system:", "people:", "limits:",
	} {
		if !strings.Contains(top, setting) {
			t.Errorf("the top does not show %s", setting)
		}
	}
	for name, variables := range map[string]map[string]string{
		"nothing set": nil,
		"all set": {
			"OPENAI_API_KEY": "sk-key", "OPENAI_BASE_URL": "http://127.0.0.1:11434/v1", "OPENAI_MODEL": "m",
			"DISCORD_TOKEN": "a1.b2.c3", "TELEGRAM_TOKEN": "123456789:" + strings.Repeat("a", 35),
		},
	} {
		short, err := Parse("config.yaml", []byte(top), t.TempDir(), environment(variables), catalog...)
		if err != nil {
			t.Errorf("%s: %v in\n%s", name, err, top)
			continue
		}
		long := require.Value(Parse("config.yaml", data, t.TempDir(), environment(variables), catalog...))(t)
		if !reflect.DeepEqual(short, long) {
			t.Errorf("%s: the top means %+v, the file %+v", name, short, long)
		}
	}
}

// frontPage returns the settings in the comment at the top of the file, and the number of lines down to their end.
func frontPage(file string) (settings string, lines int) {
	const margin = "#   "
	for line := range strings.Lines(file) {
		setting, ok := strings.CutPrefix(line, margin)
		if !ok && settings != "" {
			return settings, lines
		}
		if ok {
			settings += setting
		}
		lines++
	}
	return settings, lines
}
