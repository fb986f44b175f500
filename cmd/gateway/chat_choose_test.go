package main_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/internal/require"
	"parley/models/modelfake"
)

// choosing is a folder with a gateway whose player has two tracks that fit, and the environment with its model.
func choosing(t *testing.T) (dir string, env []string) {
	t.Helper()
	fake := modelfake.New(modelfake.Options{})
	fake.Queue(modelfake.Script{modelfake.ToolCall("c", "PLAY_MUSIC", `{"title":"what"}`)}, modelfake.Script{modelfake.Text("Enjoy it.")})
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	dir = t.TempDir()
	for name, text := range map[string]string{
		"config.yaml":         "web:\n  listen: 127.0.0.1:0\nplugins:\n  player:\n    folder: music\n",
		"music/so_what.mp3":   "ID3 so what",
		"music/what_else.mp3": "ID3 what else",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir, []string{"OPENAI_BASE_URL=" + server.URL + "/v1", "OPENAI_MODEL=m"}
}

// An action that asks is told what is meant, and its answer goes on where it stands: options and what was typed are gone. What
// it shows at last is there with its address, and again the next time.
func TestChooseInATerminal(t *testing.T) {
	dir, env := choosing(t)
	chat := "env -i TERM=screen LANG=C.UTF-8 LC_ALL=C.UTF-8 " + strings.Join(env, " ") + " " + binary + " chat"
	p := inPane(t, "cd "+dir+"; "+chat+"; clear; echo AGAIN; "+chat+" --continue; echo LEFT; sleep 600")
	p.prompts(1)
	p.keys("play what", "Enter")
	p.shows("Which one?")
	p.shows("2. ")
	p.prompts(2)
	p.keys("2", "Enter")
	p.shows("Enjoy it.")
	live := p.prompts(2)
	if !strings.Contains(live, "Now playing: what else\n\nEnjoy it.\n\n▣ what_else.mp3 (13 bytes)\nhttp://") || strings.Contains(live, "Which one?") ||
		strings.Contains(live, "\n1. ") || strings.Contains(live, "› 2") {
		t.Errorf("at the end one sees\n%s", live)
	}
	p.keys("C-d")
	p.shows("AGAIN")
	// The gateway listens at another port then.
	port := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	was := port.ReplaceAllString(strings.TrimSpace(live), "gateway")
	if _, again, _ := strings.Cut(p.prompts(2), "AGAIN\n"); port.ReplaceAllString(strings.TrimSpace(again), "gateway") != was {
		t.Errorf("the next time one sees\n%s\nand saw\n%s", again, live)
	}
	p.keys("C-d")
	p.shows("LEFT")
}

// A script that waits for an answer is told what that asks, and another may choose.
func TestChooseForAScript(t *testing.T) {
	dir, env := choosing(t)
	asks := command(t, env, "chat", "-p", "play what")
	asks.Dir = dir
	var out bytes.Buffer
	asks.Stdout = &out
	notes := require.Value(asks.StderrPipe())(t)
	require.NoError(t, asks.Start())
	var told strings.Builder
	for lines := bufio.NewScanner(notes); lines.Scan() && !strings.Contains(lines.Text(), "--continue"); {
		told.WriteString(lines.Text() + "\n")
	}
	if !strings.HasSuffix(told.String(), "❓ Which one?\n\n1. so what\n2. what else\n\n") {
		t.Errorf("it was told %q", told.String())
	}
	chooses := command(t, nil, "chat", "--continue", "-p", "2")
	chooses.Dir = dir
	said, err := chooses.CombinedOutput()
	if code := status(t, err); code != 0 || len(said) != 0 {
		t.Errorf("who chooses ended with %d and wrote %q", code, said)
	}
	_, _ = io.Copy(io.Discard, notes)
	if code := status(t, asks.Wait()); code != 0 || !strings.Contains(out.String(), "Now playing: **what else**\n\nEnjoy it.\n\nwhat_else.mp3 (13 bytes): http://") {
		t.Errorf("it ended with %d and wrote %q", code, out.String())
	}
}
