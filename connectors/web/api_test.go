package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/connectortest"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/storage/storagetest"
	"parley/internal/require"
	"parley/sim"
)

// rooms is a store that knows every conversation, unless it is broken.
type rooms struct {
	broken error
	*storagetest.Uploads
	*storagetest.NotePad
}

func (rooms) Run(context.Context, chat.RunID) (chat.Run, error) { return chat.Run{}, chat.ErrNotFound }

func (s rooms) Room(_ context.Context, id chat.RoomID) (chat.Room, error) {
	if strings.HasSuffix(string(id), "unknown") {
		return chat.Room{}, chat.ErrNotFound
	}
	return chat.Room{ID: id, Kind: chat.API, Connector: Name}, s.broken
}

// keptUploads is a store for uploads to every conversation but unknown ones.
func keptUploads() *storagetest.Uploads {
	kept := storagetest.NewUploads()
	kept.Rooms = func(room chat.RoomID) bool { return !strings.HasSuffix(string(room), "unknown") }
	return kept
}

func (s rooms) Mark(context.Context, chat.RoomID, chat.MemoryID) (chat.Accepted, error) {
	return chat.Accepted{}, s.broken
}

func (s rooms) SaveRoom(context.Context, chat.Room) error { return s.broken }

func (s rooms) OpenQuestions(context.Context, chat.RoomID) ([]chat.Question, error) {
	return []chat.Question{{ID: "q", Run: "r", Options: []string{"Yes", "No"}}}, nil
}

func (s rooms) Recent(_ context.Context, _ chat.RoomID, kind chat.MemoryKind, _ chat.ResponseID, _ int) ([]chat.Memory, error) {
	if kind != chat.Said {
		return nil, nil
	}
	return nil, s.broken
}

func (s rooms) Memory(_ context.Context, id chat.MemoryID) (chat.Memory, error) {
	room, _, ok := strings.Cut(string(id), "#")
	if !ok {
		return chat.Memory{}, chat.ErrNotFound
	}
	return chat.Memory{ID: id, Room: chat.RoomID(room)}, s.broken
}

func (s rooms) File(_ context.Context, run chat.RunID, n int) (llm.File, error) {
	if n != 0 {
		return llm.File{}, chat.ErrNotFound
	}
	return llm.File{Type: "image/png", Data: []byte(run)}, nil
}

func (s rooms) FilePart(ctx context.Context, run chat.RunID, n int, from, length int64) (chat.FilePart, error) {
	b, err := s.File(ctx, run, n)
	return partOf(b, from, length), err
}

func (s rooms) Known(_ context.Context, in chat.Memory) (chat.Accepted, error) {
	if strings.HasSuffix(string(in.ID), "/known") {
		return chat.Accepted{Memory: in.ID, Duplicate: true}, nil
	}
	return chat.Accepted{}, chat.ErrNotFound
}

// partOf is a piece of b, as a store gives it.
func partOf(b llm.File, from, length int64) chat.FilePart {
	size := int64(len(b.Data))
	from = min(from, size)
	return chat.FilePart{Name: b.Name, Type: b.Type, Size: size, Data: b.Data[from:min(from+length, size)]}
}

// answers gives every run the same answer.
type answers struct{ a *answer.Answer }

func (a answers) Watch(context.Context, chat.RunID) (*answer.Answer, error) { return a.a, nil }

// serve runs a web connector in a bubble and gives a client for it.
func serve(t *testing.T, edit func(*Options), submit func(chat.Inbound) (chat.Accepted, error), play func(*http.Client, *answer.Answer)) {
	t.Helper()
	serveOn(t, edit, submit, func(_ *Web, n network) { play(n.client, n.answer) })
}

// serveUntil is serve with a function that stops the connector.
func serveUntil(t *testing.T, edit func(*Options), submit func(chat.Inbound) (chat.Accepted, error), play func(*http.Client, *answer.Answer, func())) {
	t.Helper()
	serveOn(t, edit, submit, func(_ *Web, n network) { play(n.client, n.answer, n.stop) })
}

// network is how a test reaches a web connector in a bubble.
type network struct {
	client *http.Client
	dial   func(network, address string) (net.Conn, error)
	answer *answer.Answer // of every run
	stop   func()
}

func serveOn(t *testing.T, edit func(*Options), submit func(chat.Inbound) (chat.Accepted, error), play func(*Web, network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := sim.NewNet()
		l := require.Value(n.Listen("tcp", "127.0.0.1:8080"))(t)
		a := &answer.Answer{}
		o := Options{Memo: &connectortest.Memory{}, Zone: time.UTC, Listener: l, Agent: chat.Agent{ID: "agent", Name: "A"}, Answers: answers{a}, Store: rooms{Uploads: keptUploads(), NotePad: &storagetest.NotePad{}},
			Ready: func(context.Context) error { return nil }, Log: slog.New(slog.DiscardHandler)}
		if edit != nil {
			edit(&o)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		w := New(o)
		go func() {
			ended <- w.Run(ctx, func(_ context.Context, in chat.Inbound) (chat.Accepted, error) { return submit(in) })
		}()
		client := &http.Client{Transport: &http.Transport{DialContext: n.Dial}}
		dial := func(network, address string) (net.Conn, error) { return n.Dial(ctx, network, address) }
		play(w, network{client, dial, a, cancel})
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		client.CloseIdleConnections()
	})
}

func accept(chat.Inbound) (chat.Accepted, error) { return chat.Accepted{Run: "run"}, nil }

func post(t *testing.T, c *http.Client, path, body string) (*http.Response, string) {
	t.Helper()
	resp := require.Value(c.Post("http://127.0.0.1:8080"+path, "application/json", strings.NewReader(body)))(t)
	defer resp.Body.Close()
	b := require.Value(io.ReadAll(resp.Body))(t)
	return resp, string(b)
}

func TestRefusedRequests(t *testing.T) {
	const stream = "/api/conversations/c/messages/stream"
	for name, c := range map[string]struct {
		path, body string
		want       int
	}{
		"not JSON":               {stream, "hello", http.StatusBadRequest},
		"wrong type":             {stream, `{"text":1}`, http.StatusBadRequest},
		"no text":                {stream, `{"text":"  "}`, http.StatusBadRequest},
		"a key with a slash":     {stream, `{"text":"a","clientMessageId":"../x"}`, http.StatusBadRequest},
		"a key with an image":    {stream, `{"images":[{"data":"aGk=","mimeType":"image/png"}],"clientMessageId":"../x"}`, http.StatusBadRequest},
		"a key too long":         {stream, `{"text":"a","clientMessageId":"` + strings.Repeat("k", 129) + `"}`, http.StatusBadRequest},
		"too much text":          {stream, `{"text":"` + strings.Repeat("x", maxText+1) + `"}`, http.StatusRequestEntityTooLarge},
		"too many bytes (SE-11)": {stream, `{"text":"` + strings.Repeat("x", maxBody) + `"}`, http.StatusRequestEntityTooLarge},
		"unknown conversation":   {"/api/conversations/unknown/messages/stream", `{"text":"a"}`, http.StatusNotFound},
		"stop in an unknown":     {"/api/conversations/unknown/stop", ``, http.StatusNotFound},
		"unknown address":        {"/api/nothing", ``, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, nil, accept, func(client *http.Client, _ *answer.Answer) {
				resp, body := post(t, client, c.path, c.body)
				if resp.StatusCode != c.want || !strings.Contains(body, `"error":`) {
					t.Errorf("%d %s", resp.StatusCode, body)
				}
			})
		})
	}
}

// What is not stored is not acknowledged, and people read no internal text.
func TestBrokenStore(t *testing.T) {
	inner := errors.New("disk on fire at /var/secret")
	broken := func(chat.Inbound) (chat.Accepted, error) { return chat.Accepted{}, inner }
	serve(t, nil, broken, func(client *http.Client, _ *answer.Answer) {
		resp, body := post(t, client, "/api/conversations/c/messages/stream", `{"text":"a"}`)
		if resp.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, "fire") {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	})
}

func TestTooManyMessages(t *testing.T) {
	none := func(chat.Inbound) (chat.Accepted, error) { return chat.Accepted{}, nil }
	serve(t, func(o *Options) { o.Limits.MessagesPerMinute = 2 }, none, func(client *http.Client, _ *answer.Answer) {
		for i := range 3 {
			resp, body := post(t, client, "/api/conversations/c/messages/stream", `{"text":"a"}`)
			if limited := resp.StatusCode == http.StatusTooManyRequests; limited != (i == 2) {
				t.Errorf("message %d: %d %s", i+1, resp.StatusCode, body)
			} else if limited && resp.Header.Get("Retry-After") != "30" {
				t.Errorf("Retry-After is %q", resp.Header.Get("Retry-After"))
			}
		}
	})
}

// WB-13: a message that is known costs none of the messages that an address may send. How often it comes is limited all the same,
// before its body is read.
func TestRejoiningIsNoMessage(t *testing.T) {
	serve(t, func(o *Options) { o.Limits.MessagesPerMinute = 1 }, ignored, func(client *http.Client, _ *answer.Answer) {
		for i, c := range []struct {
			key  string
			want int
		}{{"known", 200}, {"new", 200}, {"newer", 429}, {"known", 200}, {"new", 429}, {"known", 200}} {
			resp, body := post(t, client, streamPath, `{"text":"a","clientMessageId":"`+c.key+`"}`)
			if resp.StatusCode != c.want || c.want == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "" {
				t.Errorf("request %d, with %q: %d %s", i+1, c.key, resp.StatusCode, body)
			}
		}
		for i := range readsPerMessage - 2 { // 3 were before
			resp, _ := post(t, client, streamPath, `{"text":"a","clientMessageId":"known"}`)
			if limited := resp.StatusCode == http.StatusTooManyRequests; limited != (i == readsPerMessage-3) {
				t.Errorf("repetition %d: %d", i, resp.StatusCode)
			}
		}
		for range attemptsPerMessage {
			post(t, client, streamPath, "no JSON")
		}
		if resp, body := post(t, client, streamPath, "no JSON"); resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("a body is read: %d %s", resp.StatusCode, body)
		}
		time.Sleep(6 * time.Second)
		if resp, body := post(t, client, "/api/conversations/c/choices/stream", `{"id":"q","option":0}`); resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "6" {
			t.Errorf("a choice is no message: %d %s", resp.StatusCode, body)
		}
	})
}

// WB-01: what proxies need to let a stream through, a first byte at once, and a sign of life in silence.
func TestStreamHead(t *testing.T) {
	serve(t, nil, accept, func(client *http.Client, a *answer.Answer) {
		begun := time.Now()
		resp, err := client.Post("http://127.0.0.1:8080/api/conversations/c/messages/stream", "application/json",
			strings.NewReader(`{"text":"a"}`))
		require.NoError(t, err)
		defer resp.Body.Close()
		for k, v := range map[string]string{
			"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache, no-transform",
			"X-Accel-Buffering": "no", "Content-Encoding": "",
		} {
			if resp.Header.Get(k) != v {
				t.Errorf("%s is %q", k, resp.Header.Get(k))
			}
		}
		first := make([]byte, 1)
		if _, err := resp.Body.Read(first); err != nil || time.Since(begun) > 0 {
			t.Errorf("the first byte came after %v: %v", time.Since(begun), err)
		}
		go func() {
			time.Sleep(time.Minute)
			a.End(answer.Outcome{Status: answer.Completed})
		}()
		rest, err := io.ReadAll(resp.Body)
		if n := strings.Count(string(rest), ": alive\n"); err != nil || n != 3 && n != 4 {
			t.Errorf("%d signs of life in a minute, %v", n, err)
		}
	})
}

func TestReady(t *testing.T) {
	serve(t, func(o *Options) { o.Ready = func(context.Context) error { return errors.New("no disk") } }, accept,
		func(client *http.Client, _ *answer.Answer) {
			for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
				resp := require.Value(client.Get("http://127.0.0.1:8080" + path))(t)
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != want || want != http.StatusOK && string(body) != "not ready: no disk\n" {
					t.Errorf("%s says %d %q", path, resp.StatusCode, body)
				}
			}
		})
}

// A gateway that works with limits is ready, and says what they are.
func TestReadyWithLimits(t *testing.T) {
	for limits, want := range map[string]string{"": "ready\n", "no Redis": "ready, with limits: no Redis\n"} {
		serve(t, func(o *Options) {
			o.Ready = func(context.Context) error { return nil }
			o.Limited = func() string { return limits }
		}, accept, func(client *http.Client, _ *answer.Answer) {
			resp := require.Value(client.Get("http://127.0.0.1:8080/readyz"))(t)
			defer resp.Body.Close()
			if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || string(body) != want {
				t.Errorf("/readyz says %d %q, %v", resp.StatusCode, body, err)
			}
		})
	}
}

func TestAddressTaken(t *testing.T) {
	l := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	l.Close() // serving on a closed listener fails as a lost one would
	w := New(Options{Memo: &connectortest.Memory{}, Listener: l, Store: rooms{}, Log: slog.New(slog.DiscardHandler)})
	if err := w.Run(t.Context(), nil); !errors.Is(err, ErrEnded) {
		t.Errorf("it ended with %v", err)
	}
}
