package web

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/connectors"
	"parley/connectors/connectortest"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// loopback runs a web connector on a real port until the test ends, and returns its address. A nil handler accepts nothing.
func loopback(t *testing.T, edit func(*Options), h connectors.Handler) string {
	t.Helper()
	l := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	o := Options{Memo: &connectortest.Memory{}, Zone: time.UTC, Listener: l, Agent: chat.Agent{ID: "agent", Name: "A"}, Answers: answers{&answer.Answer{}}, Store: rooms{},
		Log: slog.New(slog.DiscardHandler)}
	if edit != nil {
		edit(&o)
	}
	w := New(o)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(t.Context(), h) }()
	t.Cleanup(func() { require.NoError(t, <-ended) })
	return "http://" + l.Addr().String()
}

// WB-14: a body of which only the form is large costs next to nothing, on every endpoint that reads one.
func TestHostileBodiesCostNoMemory(t *testing.T) {
	const messages, choices = "/messages/stream", "/choices/stream"
	fill := func(begin, what, end string) string {
		return begin + strings.Repeat(what, (maxBody-len(begin)-len(end))/len(what)) + end
	}
	base := loopback(t, nil, nil)
	for name, c := range map[string]struct {
		path, body string
		status     int
		most       uint64 // bytes that one request may allocate, in server and client
	}{
		"images without number":    {messages, fill(`{"text":"a","images":[`, `{},`, `{}]}`), http.StatusBadRequest, 1 << 20},
		"images that are images":   {messages, fill(`{"images":[`, `{"data":"aGk=","mimeType":"image/png"},`, `{}]}`), http.StatusBadRequest, 1 << 20},
		"images twice":             {messages, `{"images":[` + fourImages + `],"images":[` + fourImages + `]}`, http.StatusBadRequest, 1 << 20},
		"nesting":                  {messages, fill(`{"text":"a","x":`, `[`, ``), http.StatusBadRequest, 1 << 20},
		"nesting of objects":       {messages, fill(``, `{"a":`, ``), http.StatusBadRequest, 1 << 20},
		"elements of another name": {messages, fill(`{"x":[`, `1,`, `1]}`), http.StatusBadRequest, 1 << 20},
		"members":                  {messages, fill(`{`, `"a":1,`, `"b":2}`), http.StatusBadRequest, 1 << 20},
		"one long string":          {messages, fill(`{"x":"`, `x`, `"}`), http.StatusRequestEntityTooLarge, 24 << 20},
		"one long number":          {messages, fill(`{"x":`, `1`, `}`), http.StatusRequestEntityTooLarge, 24 << 20},
		"one long image":           {messages, fill(`{"images":[{"data":"`, `AAAA`, `"}]}`), http.StatusRequestEntityTooLarge, 24 << 20},
		"spaces":                   {messages, fill(`{"text":"  "`, ` `, `}`), http.StatusRequestEntityTooLarge, 24 << 20},
		"a choice with elements":   {choices, fill(`{"id":"q","x":[`, `{},`, `{}]}`), http.StatusRequestEntityTooLarge, 1 << 20},
		"a choice with text":       {choices, fill(`{"id":"`, `q`, `"}`), http.StatusRequestEntityTooLarge, 1 << 20},
		"a choice with spaces":     {choices, fill(`{"id":"q",`, ` `, `"option":1}`), http.StatusRequestEntityTooLarge, 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			status := send(t, base+"/api/conversations/c"+c.path, c.body)
			runtime.ReadMemStats(&after)
			if cost := after.TotalAlloc - before.TotalAlloc; cost > c.most {
				t.Errorf("it took %d KiB", cost>>10)
			}
			if status != c.status && status != 0 {
				t.Errorf("it is answered %d", status)
			}
		})
	}
}

const fourImages = `{"data":"aGk=","mimeType":"image/png"},{"data":"aGk=","mimeType":"image/png"},` +
	`{"data":"aGk=","mimeType":"image/png"},{"data":"aGk=","mimeType":"image/png"}`

// send returns the status of the reply, 0 if the server ended the connection before the body was sent.
func send(t *testing.T, url, body string) int {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}

// WB-14: four images of the largest size are read without a second copy of the whole body.
func TestLargestMessage(t *testing.T) {
	one := `{"data":"` + strings.Repeat(`\/\/77`, maxImage/6) + `","mimeType":"image/png","name":"a"}`
	body := `{"x":{"y":[null,[1]]},"images":[` + one + "," + one + "," + one + "," + one + `],"text":"a \"b\" [{"}` + "\n "
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := New(Options{Listener: noListener{}})
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	q, no := w.readQuestion(httptest.NewRecorder(), r)
	runtime.ReadMemStats(&after)
	if no != nil {
		t.Fatal(no.sentence)
	}
	if len(q.Images) != 4 || q.Images[3].name != "a" || q.Text != `a "b" [{` {
		t.Errorf("it is read as %d images with %q", len(q.Images), q.Text)
	}
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 80<<20 {
		t.Errorf("it took %d MiB", cost>>20)
	}
}

// A field of another type is refused as such, whichever it is: it is not read as an empty one.
func TestFieldsOfAnotherType(t *testing.T) {
	w := New(Options{Listener: noListener{}})
	for _, body := range []string{
		`{"text":1}`, `{"text":{"a":[]}}`, `{"text":"a","clientMessageId":1}`, `{"text":"a","streamProtocol":[]}`, `{"text":"a","source":{}}`,
		`{"text":"a","images":{}}`, `{"text":"a","images":[1]}`, `{"text":"a","images":[{"data":1}]}`, `{"text":"a","x":}`,
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		q, no := w.readQuestion(httptest.NewRecorder(), r)
		if no == nil || no.status != http.StatusBadRequest || !strings.HasPrefix(no.sentence, "The request must be the JSON object") {
			t.Errorf("%s is read as %+v, %+v", body, q, no)
		}
	}
}

// WB-14: what the bounds let through is JSON as any decoder reads it, and nothing else is.
func FuzzReadBody(f *testing.F) {
	for _, seed := range []string{`{"text":"a"}`, `{"text":"a"}x`, `{"text":"a"} {}`, `{"text":1}`, `{"images":null,"text":"\u00e4\\"}`, `[]`, `null`, ``,
		`{"images":[{"data":"aGk=","mimeType":"image/png"}]}`, `{"a":{"b":[[],{},"]"]},"text":"b"}`, `{"text":"a",}`, `{"text" "a"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var got question
		err := readBody(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)), maxBody, got.field)
		var want struct {
			Text            *string
			ClientMessageID *string
			StreamProtocol  *string
			Source          *string
			Images          []map[string]*json.RawMessage
		}
		valid := json.Valid([]byte(body)) && strings.HasPrefix(strings.TrimLeft(body, " \t\r\n"), "{")
		if err == nil && !valid {
			t.Errorf("%q is taken", body)
		}
		if err != nil && valid && json.Unmarshal([]byte(body), &want) == nil && want.Images == nil && !errors.Is(err, errComplex) && !errors.Is(err, errToken) {
			t.Errorf("%q is refused: %v", body, err)
		}
	})
}

// A request whose header has more than 64 KB is refused.
func TestLongHeadersAreRefused(t *testing.T) {
	base := loopback(t, nil, nil)
	for size, want := range map[int]bool{32 << 10: false, 100 << 10: true} {
		r := require.Value(http.NewRequestWithContext(t.Context(), "GET", base+"/healthz", nil))(t)
		r.Header.Set("X-Long", strings.Repeat("x", size))
		resp := require.Value(http.DefaultClient.Do(r))(t)
		resp.Body.Close()
		if refused := resp.StatusCode == http.StatusRequestHeaderFieldsTooLarge; refused != want {
			t.Errorf("a header of %d bytes: %s", size, resp.Status)
		}
	}
}
