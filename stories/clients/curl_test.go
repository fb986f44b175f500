package clients_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"parley/internal/require"
)

// The commands of the guide to the web API run as they are written.
func TestCurlExamples(t *testing.T) {
	guide := require.Value(os.ReadFile("../../docs/web-api.md"))(t)
	_, section, _ := strings.Cut(string(guide), "## In a shell\n")
	section, _, _ = strings.Cut(section, "\n## ")
	script := regexp.MustCompile(`(?m)^    `).ReplaceAllString(section, "")
	if strings.Count(script, "curl ") < 10 {
		t.Fatalf("the guide has only these commands: %s", script)
	}
	s := newStage(t, nil)
	out, err := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", strings.Replace(script, "http://127.0.0.1:8080", s.base, 1)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{`"fullText":"You said: Hello"`, `"clientMessageId":"m1"`, `"name":"tea.txt"`, `"fullText":"You said: What is in it?`, `"title":"Tea"`, `"deletedCount":4`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %s:\n%s", want, out)
		}
	}
}
