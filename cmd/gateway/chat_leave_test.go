package main_test

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/require"
	"parley/models/modelfake"
)

// A user who leaves without waiting for the answer can do so at once, and leaves no answer behind that the next gateway
// would have to write.
func TestChatIsLeft(t *testing.T) {
	for name, leave := range map[string]func(c *os.Process, out io.Closer) error{
		"by a signal":     func(c *os.Process, _ io.Closer) error { return c.Signal(syscall.SIGINT) },
		"by who reads it": func(_ *os.Process, out io.Closer) error { return out.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			fake := modelfake.New(modelfake.Options{})
			fake.Queue(modelfake.Script{modelfake.Pace(100 * time.Millisecond), modelfake.Text(strings.Repeat("again and ", 600), modelfake.ByWord)}, modelfake.Script{modelfake.Text("Hello again.")})
			server := httptest.NewServer(fake)
			defer server.Close()
			model := []string{"OPENAI_BASE_URL=" + server.URL + "/v1", "OPENAI_MODEL=m"}
			c := command(t, model, "chat", "--json", "-p", "Tell me a long story")
			configure(t, c, "shutdown: 5m\n") // more than this test has
			out := require.Value(c.StdoutPipe())(t)
			require.NoError(t, c.Start())
			for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), `"token"`); {
			}
			require.NoError(t, leave(c.Process, out))
			if code := status(t, c.Wait()); code < 0 {
				t.Error("the program had to be killed; want it to exit by itself")
			}
			again := command(t, model, "chat", "--continue", "-p", "hello")
			again.Dir = c.Dir
			said, err := again.Output()
			if code := status(t, err); code != 0 || string(said) != "Hello again.\n" {
				t.Errorf("the next time it ended with %d and wrote %q", code, said)
			}
		})
	}
}

// The chat finds the gateway of its configuration also where that had to take another address, because a stranger listens at
// the configured one.
func TestChatWhereTheGatewayListens(t *testing.T) {
	stranger := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer stranger.Close()
	first := command(t, nil, "chat")
	configure(t, first, "web:\n  listen: "+stranger.Addr().String()+"\n")
	typed := require.Value(first.StdinPipe())(t)
	require.NoError(t, first.Start())
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := os.Stat(filepath.Join(first.Dir, "parley.db.local"))
		if err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
	second := command(t, nil, "chat", "-p", "hello")
	second.Dir = first.Dir
	out, err := second.CombinedOutput()
	if code := status(t, err); code != 0 || !strings.Contains(string(out), "> hello") {
		t.Errorf("it ended with %d and wrote %q", code, out)
	}
	require.NoError(t, typed.Close())
	if code := status(t, first.Wait()); code != 0 {
		t.Errorf("the first ended with %d", code)
	}
}

// Ctrl-C after the end of an answer only clears the line: it came too late to stop the answer.
func TestCtrlCAtThePrompt(t *testing.T) {
	p := openChat(t)
	p.prompts(1)
	p.keys("not this")
	p.shows("› not this")
	p.keys("C-c")
	s := p.shows("(Press Ctrl-D to exit.)")
	if strings.Contains(s, "AGAIN") {
		t.Errorf("it has left:\n%s", s)
	}
	p.keys("hello", "Enter")
	p.shows("> hello")
}

// An answer that is written while the window changes its width is there once, whichever part of it was there before.
func TestChatInAWindowThatChanges(t *testing.T) {
	p := openChat(t)
	p.prompts(1)
	p.keys("Tell me a long story", "Enter")
	p.shows("2. ")
	for _, width := range []string{"70", "66", "60", "50", "40"} {
		p.tmux("resize-window", "-x", width, "-y", "20")
	}
	p.shows("3. ")
	p.keys("C-c")
	p.shows("(Stopped.)")
	s := p.prompts(2)
	if strings.Contains(s, "Above, some of this") || strings.Count(s, "\n3. ") != 1 || strings.Count(s, "\n1. ") != 1 || strings.Count(s, "\n2. ") != 1 {
		t.Errorf("one sees\n%s", s)
	}
}

// Where no cursor can be moved, answers are written once they are whole, and nothing else is.
func TestChatInADumbTerminal(t *testing.T) {
	screen := filepath.Join(t.TempDir(), "screen")
	p := inPane(t, "env TERM=dumb "+binary+" chat; echo LEFT; sleep 600")
	p.tmux("pipe-pane", "-o", "cat > "+screen)
	p.shows(">")
	p.keys("Show me progress", "Enter")
	p.shows("it is a demo.)")
	p.keys("C-d")
	p.shows("LEFT")
	written, err := os.ReadFile(screen)
	if err != nil || strings.ContainsRune(string(written), '\x1b') || strings.Count(string(written), "Now playing") != 1 {
		t.Errorf("it wrote %q, %v", written, err)
	}
}
