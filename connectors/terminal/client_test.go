package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"parley/internal/require"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// gateway is a web API that answers as a test says.
type gateway struct {
	*httptest.Server
	streams []func(http.ResponseWriter) // one for each request
	asked   []string                    // the ids of messages
	known   bool                        // it knows the conversation
	begun   int

	chosen  chan string // what was chosen
	choice  func(http.ResponseWriter)
	stopped chan struct{}
}

func newGateway(t *testing.T, streams ...func(http.ResponseWriter)) *gateway {
	g := &gateway{streams: streams, known: true, chosen: make(chan string, 1), stopped: make(chan struct{}, 1)}
	g.choice = frames(`data: {"type":"status","kind":"thinking"}`, `data: {"type":"done","fullText":"","noResponseReason":"ignored","kind":"chosen"}`)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/conversations", func(w http.ResponseWriter, _ *http.Request) {
		g.begun++
		fmt.Fprint(w, `{"conversation":{"id":"new"}}`)
	})
	mux.HandleFunc("GET /api/conversations/{id}/messages", func(w http.ResponseWriter, r *http.Request) {
		if !g.known {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":"Conversation not found."}`)
			return
		}
		fmt.Fprint(w, `{"messages":[{"role":"user","text":"Hi"},{"role":"assistant","text":"Hello"}]}`)
	})
	mux.HandleFunc("POST /api/conversations/{id}/messages/stream", func(w http.ResponseWriter, r *http.Request) {
		var q struct{ ClientMessageID string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		g.asked = append(g.asked, q.ClientMessageID)
		next := g.streams[0]
		g.streams = g.streams[1:]
		next(w)
	})
	mux.HandleFunc("POST /api/conversations/{id}/choices/stream", func(w http.ResponseWriter, r *http.Request) {
		var c struct {
			ID     string
			Option int
		}
		_ = json.NewDecoder(r.Body).Decode(&c)
		g.chosen <- fmt.Sprint(c)
		g.choice(w)
	})
	mux.HandleFunc("POST /api/conversations/{id}/stop", func(http.ResponseWriter, *http.Request) { g.stopped <- struct{}{} })
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

func frames(lines ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for _, l := range lines {
			fmt.Fprintf(w, "%s\n\n", l)
		}
		w.(http.Flusher).Flush()
	}
}

func (g *gateway) ask(t *testing.T) (r reply, err error) {
	c := require.Value(Open(t.Context(), g.URL, "old"))(t)
	for f, err := range c.Send(t.Context(), "Hi") {
		if err != nil {
			return r, err
		}
		r.take(f)
	}
	return r, nil
}

// A stream that breaks, or says that it ends, is taken up again with the same message, and the text is that of the last.
func TestSendGoesOn(t *testing.T) {
	g := newGateway(t,
		frames(": alive", `data: {"type":"token","text":"Hel"}`, `data: {"type":"reconnect","after":1}`),
		frames(`data: {"type":"token","fullText":"Hello"}`),
		frames(`data: {"type":"token","fullText":"Hello, you"}`, `data: {"type":"done","fullText":"Hello, you."}`))
	r, err := g.ask(t)
	if err != nil || r.text != "Hello, you." || r.end == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if len(g.asked) != 3 || g.asked[0] == "" || g.asked[0] != g.asked[1] || g.asked[1] != g.asked[2] {
		t.Errorf("asked %q", g.asked)
	}
}

// What the gateway refuses is told in its own words, and not tried again.
func TestSendRefused(t *testing.T) {
	g := newGateway(t, func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":"That was a lot at once."}`)
	})
	if _, err := g.ask(t); err == nil || !strings.Contains(err.Error(), "That was a lot at once.") || !refused(err) {
		t.Errorf("got %v", err)
	}
}

// WB-13: once the gateway has the message, too many requests are something that passes.
func TestRejoinAtTheLimit(t *testing.T) {
	g := newGateway(t,
		frames(`data: {"type":"token","text":"Hel"}`),
		func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":"That was a lot at once."}`)
		},
		frames(`data: {"type":"token","fullText":"Hello"}`, `data: {"type":"done","fullText":"Hello"}`))
	if r, err := g.ask(t); err != nil || r.text != "Hello" || len(g.asked) != 3 {
		t.Errorf("%+v, %v, asked %q", r, err, g.asked)
	}
}

func TestSendCancelled(t *testing.T) {
	g := newGateway(t, frames())
	c := require.Value(Open(t.Context(), g.URL, "old"))(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errLeft)
	for _, err := range c.Send(ctx, "Hi") {
		if !errors.Is(err, errLeft) {
			t.Errorf("got %v", err)
		}
	}
}

// A lost conversation is replaced by a new one; an existing one continues.
func TestOpen(t *testing.T) {
	g := newGateway(t)
	c, err := Open(t.Context(), g.URL, "old")
	if err != nil || c.Conversation() != "old" || g.begun != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	g.known = false
	c, err = Open(t.Context(), g.URL, "old")
	if err != nil || c.Conversation() != "new" {
		t.Errorf("%+v, %v", c, err)
	}
	g.Close()
	if _, err := Open(t.Context(), g.URL, ""); err == nil {
		t.Error("Open succeeded although the server is closed; want an error")
	}
}

// A script is told what failed by an error, and writes nothing then.
func TestScript(t *testing.T) {
	for name, c := range map[string]struct {
		frames []string
		json   bool
		out    string
		fails  string
	}{
		"text":    {[]string{`data: {"type":"token","text":"He"}`, `data: {"type":"done","fullText":"Hello"}`}, false, "Hello\n", ""},
		"JSON":    {[]string{`data: {"type":"token","text":"He"}`, `data: {"type":"done","fullText":"Hello"}`}, true, "{\"type\":\"token\",\"text\":\"He\"}\n{\"type\":\"done\",\"fullText\":\"Hello\"}\n", ""},
		"choices": {[]string{`data: {"type":"done","fullText":"Really?","choices":{"id":"x","options":["Yes","No"]}}`}, false, "Really?\n\n1. Yes\n2. No\n", ""},
		"a form":  {[]string{`data: {"type":"done","fullText":"Which one?","choices":{"id":"x","options":["Not now"],"fields":[{"name":"a","kind":"text"}]}}`}, false, "Which one?\n\n1. Not now\n", ""},
		"a form of files": {[]string{`data: {"type":"done","fullText":"Send a file.","choices":{"id":"x","options":["Not now"],"fields":[{"name":"a","kind":"file"}]}}`}, false,
			"Send a file.\n\nFiles can't be sent from a terminal. Write - to leave out an optional field, or refuse the form.\n1. Not now\n", ""},
		"files":            {[]string{`data: {"type":"done","fullText":"Here.","files":[{"name":"a\u001b[2J.pdf","type":"application/pdf","size":12345,"url":"f/0"}]}`}, false, "Here.\n\na[2J.pdf (12 kB): http://gw/f/0\n", ""},
		"a file":           {[]string{`data: {"type":"done","fullText":"","files":[{"name":"a.pdf","type":"application/pdf","size":1,"url":"f/0"}]}`}, false, "a.pdf (1 bytes): http://gw/f/0\n", ""},
		"failed":           {[]string{`data: {"type":"done","fullText":"Try again.","failureKind":"rate_limited"}`}, false, "", "Try again."},
		"chosen":           {[]string{`data: {"type":"done","fullText":"","noResponseReason":"ignored","kind":"chosen"}`}, false, "", ""},
		"a limit":          {[]string{`data: {"type":"done","fullText":"","noResponseReason":"ignored","reason":"It is over."}`}, false, "", "no answer: It is over."},
		"cut off":          {[]string{`data: {"type":"done","fullText":"Well\n\nIt is over.","reason":"It is over."}`}, false, "", "no answer: Well\n\nIt is over."},
		"a limit, as JSON": {[]string{`data: {"type":"done","fullText":"It is over.","reason":"It is over."}`}, true, "{\"type\":\"done\",\"fullText\":\"It is over.\",\"reason\":\"It is over.\"}\n", "no answer: It is over."},
		"no answer":        {[]string{`data: {"type":"done","fullText":"","noResponseReason":"ignored"}`}, false, "", "ignored"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, frames(c.frames...))
			client, err := Open(t.Context(), g.URL, "")
			require.NoError(t, err)
			var out strings.Builder
			err = Script{Client: client, Out: &out, JSON: c.json}.Ask(t.Context(), "Hi")
			if strings.Replace(out.String(), g.URL, "http://gw", 1) != c.out {
				t.Errorf("it wrote %q", out.String())
			}
			if (c.fails == "") != (err == nil) || err != nil && (!errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Ctrl-C works between reads; other input waits for the next prompt.
func TestKeyboard(t *testing.T) {
	k := &keyboard{}
	k.more.L = &k.mu
	pressed := 0
	k.onInterrupt(func() { pressed++ }, "")
	k.take([]byte("ty\x03ped"), nil)
	k.onInterrupt(nil, "")
	k.take([]byte("\x03"), nil)
	k.onInterrupt(func() { pressed++ }, clearLine)
	k.take([]byte("\x03"), nil)
	buf := make([]byte, 16)
	n, err := k.Read(buf)
	if pressed != 2 || err != nil || string(buf[:n]) != "typed\x03"+clearLine {
		t.Errorf("pressed %d times, read %q, %v", pressed, buf[:n], err)
	}
	k.hangUp()
	if n, err := k.Read(buf); n != 0 || err == nil {
		t.Errorf("after the end: %d, %v", n, err)
	}
}

// Who can't be shown a text that changes is told what is important, beside the answer.
func TestScriptTellsWhatIsImportant(t *testing.T) {
	g := newGateway(t, frames(`data: {"type":"status","kind":"thinking"}`, `data: {"type":"token","text":"buying\u001b[2J"}`,
		`data: {"type":"status","kind":"update","text":"this costs money\u001b[2J"}`, `data: {"type":"done","fullText":"bought"}`))
	c := require.Value(Open(t.Context(), g.URL, "old"))(t)
	var out, notes strings.Builder
	require.NoError(t, (Script{Client: c, Out: &out, Notes: &notes}).Ask(t.Context(), "Hi"))
	if out.String() != "bought\n" || notes.String() != "this costs money[2J\n" {
		t.Errorf(`it wrote %q, and beside it %q; want "bought\n" and "this costs money[2J\n"`, out.String(), notes.String())
	}
}

// A gateway that is gone is missed, and asked again; when it is not there for long, that is an error.
func TestSendMissesTheGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := 0
		c := &Client{base: "http://gateway", http: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			down++
			return nil, errors.New("connection refused")
		})}}
		var r reply
		missed, begun := 0, time.Now()
		for f, err := range c.Send(t.Context(), "Hi") {
			if r.take(f); err != nil {
				if took := time.Since(begun); took < 30*time.Second || took > time.Minute || refused(err) {
					t.Errorf("it gave up after %v: %v", took, err)
				}
				break
			}
			l := look{width: 40}
			if got := l.lines(&r); !slices.Equal(got, []string{"… connection lost, retrying"}) {
				t.Errorf("one sees %q", got)
			}
			missed++
		}
		if down != tries || missed != tries-1 {
			t.Errorf("%d requests, and said to be missed %d times", down, missed)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// What a script writes steers no terminal (SE-09).
func TestScriptIsHarmless(t *testing.T) {
	g := newGateway(t, frames(`data: {"type":"done","fullText":"a\u001b[2Jb\u009b2Jc\r\n"}`))
	c := require.Value(Open(t.Context(), g.URL, "old"))(t)
	var out strings.Builder
	if err := (Script{Client: c, Out: &out}).Ask(t.Context(), "Hi"); err != nil || out.String() != "a[2Jb2Jc\n\n" {
		t.Errorf(`it wrote %q, %v; want "a[2Jb2Jc\n\n"`, out.String(), err)
	}
}

// ST-22: what a piece of text costs does not hang on how much is there already.
func TestTextGrowsLinearly(t *testing.T) {
	piece := "four"
	allocated := func(pieces int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var r reply
		for range pieces {
			r.take(Frame{Type: "token", Text: &piece})
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(pieces)
	}
	if short, long := allocated(5_000), allocated(50_000); long > 2*short {
		t.Errorf("a piece costs %.0f bytes of 5,000, %.0f of 50,000", short, long)
	}
}

// A question is shown once, with its text: a stream that is joined again repeats only its options.
func TestScriptShowsAQuestionOnce(t *testing.T) {
	const options = `data: {"type":"status","kind":"choices","choices":{"id":"q","options":["Yes","No"]}}`
	g := newGateway(t,
		frames(`data: {"type":"token","text":"Which one?"}`, options, `data: {"type":"reconnect","after":1}`),
		frames(`data: {"type":"status","kind":"thinking"}`, options, `data: {"type":"token","fullText":"Which one?"}`, `data: {"type":"done","fullText":"Which one? Yes."}`))
	c := require.Value(Open(t.Context(), g.URL, "old"))(t)
	var out, notes strings.Builder
	require.NoError(t, (Script{Client: c, Out: &out, Notes: &notes}).Ask(t.Context(), "Hi"))
	if got := notes.String(); strings.Count(got, "Which one?") != 1 || strings.Count(got, "Yes") != 1 {
		t.Errorf("the notes are %q", got)
	}
}
