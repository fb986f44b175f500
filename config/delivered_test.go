package config

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func isSection(v reflect.Value) bool { return Connectors(platforms).formOf(v.Type()).kind == section }

// TestDeliveredFileShowsEveryKey: config.yaml is the manual of the configuration.
func TestDeliveredFileShowsEveryKey(t *testing.T) {
	data, err := os.ReadFile("../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	root, wrong := readYAML(data)
	if wrong != nil {
		t.Fatal(wrong)
	}
	lines := map[string]int{}
	if diff := cmp.Diff(declared(reflect.ValueOf(blank(platforms)), ""), written(root, "", lines)); diff != "" {
		t.Errorf("the keys of the structs (-) and of config.yaml (+), in order:\n%s", diff)
	}
	text := strings.Split(string(data), "\n")
	for key, line := range lines {
		if above := strings.TrimSpace(text[line-2]); !strings.HasPrefix(above, "# ") {
			t.Errorf("config.yaml:%d: %s has no comment above it", line, key)
		}
	}
}
