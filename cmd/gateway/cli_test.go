package main_test

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"parley/internal/require"
	"parley/internal/version"
)

func TestUnknownCommand(t *testing.T) {
	out, err := command(t, nil, "foo").CombinedOutput()
	if code := status(t, err); code == 0 || !strings.Contains(string(out), `no command "foo"`) || strings.Contains(string(out), "--listen") {
		t.Errorf("it ended with %d and wrote %s", code, out)
	}
}

func TestVersion(t *testing.T) {
	out, err := command(t, nil, "--version").CombinedOutput()
	if code := status(t, err); code != 0 || !strings.HasPrefix(string(out), "parley "+version.Release+" (commit ") || !strings.Contains(string(out), "go1.") {
		t.Errorf("it ended with %d and wrote %q", code, out)
	}
}

// What is piped in stands below the question; an empty question without it is an error.
func TestQuestionsAndStandardInput(t *testing.T) {
	for name, c := range map[string]struct {
		prompt string
		in     io.Reader
		code   int
		want   string
	}{
		"a question and a text":        {"summarize this", strings.NewReader("first line\n\nlast line\n"), 0, "> summarize this\n> \n> first line\n> \n> last line\n"},
		"a text alone":                 {"", strings.NewReader("say this"), 0, "> say this\n"},
		"a question alone":             {"just this", nil, 0, "> just this\n"},
		"a question and an empty pipe": {"just this", strings.NewReader(""), 0, "> just this\n"},
		"nothing":                      {" ", nil, 1, "-p is empty"},
		"nothing, and an empty pipe":   {"", strings.NewReader("\n"), 1, "-p is empty"},
		"a text that is too long":      {"summarize", strings.NewReader(strings.Repeat("ä", 32_000)), 1, "32000 characters"},
		"a text far too long":          {"summarize", strings.NewReader(strings.Repeat("ä", 1<<20)), 1, "32000 characters"},
		"no text":                      {"summarize", strings.NewReader("\xff\xfe\x00"), 1, "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			asks := command(t, nil, "chat", "-p", c.prompt)
			asks.Stdin = c.in
			out, err := asks.CombinedOutput()
			if code := status(t, err); code != c.code || !strings.Contains(string(out), c.want) {
				t.Errorf("it ended with %d and wrote %q, want %q", code, out, c.want)
			}
		})
	}
}

// A pipe that nothing is written to, as a service manager may leave one, holds no question up.
func TestSilentPipe(t *testing.T) {
	in, keep, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	defer keep.Close()
	asks := command(t, nil, "chat", "-p", "just this")
	asks.Stdin = in
	begun := time.Now()
	out, err := asks.CombinedOutput()
	if code := status(t, err); code != 0 || !strings.Contains(string(out), "> just this\n") || !strings.Contains(string(out), "No input on standard input") {
		t.Errorf("it ended with %d after %v and wrote %q", code, time.Since(begun), out)
	}
}
