package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/action/actiontest"
	"parley/core/chat"
	"parley/internal/signature"
)

const secret = "s3cr3t-of-the-shop"

// endpoint answers in the way that its path names, and notes what it received.
type endpoint struct {
	*httptest.Server
	mu   sync.Mutex
	got  []request
	keys []string
	bad  []string
}

func serve(t *testing.T) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in request
		_ = json.Unmarshal(body, &in)
		e.mu.Lock()
		e.got, e.keys = append(e.got, in), append(e.keys, r.Header.Get("Idempotency-Key"))
		if want := "v1=" + signature.Sign(secret, r.Header.Get("Parley-Timestamp"), body); r.Header.Get("Parley-Signature") != want {
			e.bad = append(e.bad, r.Header.Get("Parley-Signature"))
		}
		e.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

func answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/json":
		_, _ = io.WriteString(w, `{"result":"It is packed."}`)
	case "/object":
		_, _ = io.WriteString(w, `{"status":"packed"}`)
	case "/error":
		_, _ = io.WriteString(w, `{"error":"There is no such order."}`)
	case "/lines":
		w.Header().Set("Content-Type", "application/x-ndjson")
		for _, line := range []string{`{"progress":"Packing…"}`, `{"progress":"Sending…"}`, `{"result":{"sent":true}}`} {
			_, _ = fmt.Fprintln(w, line)
		}
	case "/cut":
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = fmt.Fprintln(w, `{"progress":"Packing…"}`)
	case "/html":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<h1>Hello</h1>")
	case "/secrets":
		_, _ = fmt.Fprintf(w, `{"error":"no %s, no %s, no %s"}`, r.Header.Get("Authorization"), r.URL.Query().Get("key"), secret)
	case "/secret-lines":
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = fmt.Fprintf(w, `{"progress":"with %[1]s"}{"error":"no %[1]s"}`, r.Header.Get("Authorization"))
	case "/secret-type":
		w.Header().Set("Content-Type", "x/"+r.URL.Query().Get("key"))
	case "/secret-protocol":
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 "+r.URL.Query().Get("key")+"\r\n\r\n")
			_ = c.Close()
		}
	case "/huge":
		_, _ = io.WriteString(w, `"`+strings.Repeat("x", 50<<20))
	case "/broken":
		w.WriteHeader(http.StatusInternalServerError)
	case "/slow":
		<-r.Context().Done()
	case "/here":
		http.Redirect(w, r, "/json", http.StatusTemporaryRedirect)
	case "/away":
		http.Redirect(w, r, r.Header.Get("Elsewhere"), http.StatusTemporaryRedirect)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (e *endpoint) tool(path string, effect action.Effect) Tool {
	return Tool{
		Name: "ORDER_STATUS", Description: "Look up an order.", Parameters: json.RawMessage(`{"type":"object","required":["order"],"properties":{"order":{"type":"string"}}}`),
		URL: e.URL + path, Secret: secret, Effect: effect, Timeout: time.Minute,
	}
}

func (e *endpoint) call(t *testing.T, tool Tool) actiontest.Made {
	t.Helper()
	return actiontest.Make(t, New([]Tool{tool}, nil).Actions[0], actiontest.Call{Parameters: `{"order":"17"}`})
}

// SE-02: nothing that an endpoint says of a failure, and nothing that breaks, names a secret of the configuration.
func TestFailuresHideSecrets(t *testing.T) {
	e := serve(t)
	for _, path := range []string{"/secrets", "/secret-lines", "/secret-type", "/secret-protocol"} {
		tool := e.tool(path+"?key=qu3ry-s3cr3t-of-the-endpoint", action.Reads)
		tool.Headers = map[string]string{"Authorization": "Bearer h34der-s3cr3t-of-the-endpoint"}
		r := e.call(t, tool)
		if r.Err == nil || strings.Contains(fmt.Sprint(r.Err, r.Shown), "s3cr3t") || strings.Contains(r.Err.Error(), secret) || !strings.Contains(r.Err.Error(), "***") {
			t.Errorf("%s: %v, shown %q", path, r.Err, r.Shown)
		}
	}
}

func TestCall(t *testing.T) {
	e := serve(t)
	for path, want := range map[string]string{
		"/json": "It is packed.", "/object": `{"status":"packed"}`, "/lines": `{"sent":true}`, "/here": "It is packed.",
	} {
		r := e.call(t, e.tool(path, action.Reads))
		if r.Text != want || r.Err != nil {
			t.Errorf("%s: %q, %v; want %q", path, r.Text, r.Err, want)
		}
		if path == "/lines" && !slices.Equal(r.Shown, []string{"⏳ Packing…", "⏳ Sending…", "Sending…"}) {
			t.Errorf("shown is %q", r.Shown)
		}
	}
	if len(e.bad) > 0 || e.got[0].Type != "call" || string(e.got[0].Arguments) != `{"order":"17"}` || e.keys[0] == "" || e.keys[0] != e.got[0].Call {
		t.Errorf("it received %+v, keys %q, badly signed %q", e.got, e.keys, e.bad)
	}
}

// What goes wrong is a sentence for the model, without an address; of what writes it is unknown whether it happened.
func TestFailures(t *testing.T) {
	e, thief := serve(t), serve(t)
	for path, want := range map[string]string{
		"/error": "There is no such order.", "/cut": "without a result", "/html": "instead of JSON", "/huge": "larger than", "/broken": "it answered 500", "/none": "it answered 404",
		"/slow": "took too long", "/away": "redirects to another server",
	} {
		tool := e.tool(path, action.Writes)
		tool.Headers = map[string]string{"Elsewhere": thief.URL + "/json", "Authorization": "Bearer x"}
		hooked := New([]Tool{tool}, nil).Actions[0].(*hook)
		if path == "/slow" {
			hooked.http.Timeout = 50 * time.Millisecond
		}
		r := actiontest.Make(t, hooked, actiontest.Call{Parameters: `{"order":"17"}`})
		if r.Err == nil || !strings.Contains(r.Err.Error(), want) || strings.Contains(r.Err.Error(), "127.0.0.1") {
			t.Errorf("%s: %q, %v", path, r.Text, r.Err)
		} else if public := new(action.PublicError); errors.As(r.Err, &public) != (path == "/error") {
			t.Errorf("%s: people read %q", path, public.Text)
		} else if path != "/error" && !strings.Contains(r.Err.Error(), "do not repeat it") {
			t.Errorf("%s: %v", path, r.Err)
		}
	}
	if len(thief.got) > 0 {
		t.Error("the redirect to another server was followed; want it refused")
	}
	gone := e.tool("/json", action.Reads)
	e.Close()
	if r := e.call(t, gone); r.Err == nil || !strings.Contains(r.Err.Error(), "can't be reached") {
		t.Errorf("%v", r.Err)
	}
}

func TestGuard(t *testing.T) {
	e := serve(t)
	kinds := map[string]bool{}
	for _, effect := range []action.Effect{action.Reads, action.Writes, action.Dangerous} {
		a := New([]Tool{e.tool("/json", effect)}, nil).Actions[0].(action.Guarded).Guard(&action.Call{})
		if (a == nil) != (effect == action.Reads) {
			t.Errorf("%s: %+v", effect, a)
		}
		if a != nil {
			kinds[a.Kind] = true
		}
	}
	changed := e.tool("/json", action.Writes)
	changed.Description = "Something else."
	kinds[New([]Tool{changed}, nil).Actions[0].(action.Guarded).Guard(&action.Call{}).Kind] = true
	if len(kinds) != 3 {
		t.Errorf("an approval outlives a change: %v; want 3", kinds)
	}
}

func TestCheck(t *testing.T) {
	e := serve(t)
	for path, ok := range map[string]bool{"/json": true, "/none": true, "/broken": false} {
		if line, err := Check(t.Context(), e.tool(path, action.Writes), nil); (err == nil) != ok {
			t.Errorf("%s: %q, %v", path, line, err)
		}
	}
	gone := e.tool("/json", action.Writes)
	e.Close()
	if _, err := Check(t.Context(), gone, nil); err == nil || strings.Contains(err.Error(), "repeat") {
		t.Errorf("a server that is gone: %v", err)
	}
	for _, r := range e.got {
		if r.Type != "ping" || r.Tool != "" || r.Arguments != nil {
			t.Errorf("the check sent %+v", r)
		}
	}
}

// SE-20: an endpoint receives the ids of a platform, but not that of a conversation of the web chat, which gives access to it: it
// gets the same hash each time.
func TestIdsOfTheWebStayHere(t *testing.T) {
	e := serve(t)
	h := New([]Tool{{Name: "PACK", URL: e.URL + "/json", Secret: secret, Effect: action.Reads}}, nil).Actions[0]
	key := strings.Repeat("0123456789abcdef", 2)
	for _, room := range []chat.Room{
		{ID: chat.RoomID("web/" + key), Kind: chat.API, Connector: "web"}, {ID: chat.RoomID("web/" + key), Kind: chat.API, Connector: "web"},
		{ID: "discord/1", Kind: chat.Group, Connector: "discord"},
	} {
		s := action.TurnContext{Room: room, Message: chat.Memory{Author: chat.EntityID(room.ID)}}
		actiontest.Make(t, h, actiontest.Call{Scene: s})
	}
	all, _ := json.Marshal(e.got)
	if strings.Contains(string(all), key) || len(e.got) != 3 || e.got[0].Room != e.got[1].Room || e.got[0].User != e.got[1].User || !strings.HasPrefix(e.got[0].Room, "web/~") {
		t.Errorf("the endpoint received %s", all)
	}
	if got := e.got[2]; got.Room != "discord/1" || got.User != "discord/1" {
		t.Errorf("of Discord it received %+v", got)
	}
}
