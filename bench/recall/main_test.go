package main

import (
	"regexp"
	"strings"
	"testing"

	"parley/internal/require"
	"parley/models/modelfake"
)

// Synthetic: an embedder that knows the names and the synonyms finds what words do not.
func TestMeasure(t *testing.T) {
	concepts := modelfake.Concepts{
		"birthday born", "car vehicle", "dog pet", "allergic food ill", "flat city live", "nurse job", "colour hue", "cello instrument music",
		"phone number reached", "travel holidays iceland",
	}
	for _, name := range strings.Fields("anna bela carlos dörte emre fatima gustav hanna igor jana kofi lucía marek nadia otto priya quentin rosa sven tomoko") {
		concepts = append(concepts, name)
	}
	var out strings.Builder
	require.NoError(t, measure(t.Context(), concepts, &out))
	for _, want := range []string{`400 texts .* 31 dimensions`, `the same words +words +\d+ .*both 100`, `other words +words +\d\d +meaning 100`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("it prints no %s:\n%s", want, out.String())
		}
	}
}
