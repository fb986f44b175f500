package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/web/login"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/signature"
)

// A message to the owners is checked, bounded, and has the same key when it is sent again; another visitor's has not.
func TestContact(t *testing.T) {
	var passed []Contact
	var fails error
	s := newSite(t, func(o *Options) {
		o.Contact = func(_ context.Context, c Contact) error {
			passed = append(passed, c)
			return fails
		}
	})
	ada, eve := account(t, "ada", nil), account(t, "eve", nil)
	const good = `{"address":"ada@example.org","text":"Call me.","clientMessageId":"m"}`
	for _, test := range []struct {
		token, body string
		fails       error
		status      int
		code        string
	}{
		{ada, good, nil, http.StatusOK, ""},
		{ada, good, nil, http.StatusOK, ""},
		{eve, good, nil, http.StatusOK, ""},
		{ada, `{"address":" \n","text":"Call me."}`, nil, http.StatusBadRequest, "BAD_REQUEST"},
		{ada, `{"address":"ada@example.org"}`, nil, http.StatusBadRequest, "BAD_REQUEST"},
		{ada, `{"address":"` + strings.Repeat("é", 201) + `","text":"x"}`, nil, http.StatusRequestEntityTooLarge, "TOO_LARGE"},
		{ada, `{"address":"a","text":"` + strings.Repeat("é", 2001) + `"}`, nil, http.StatusRequestEntityTooLarge, "TOO_LARGE"},
		{ada, `{"address":"a","text":"` + strings.Repeat("é", 20_000) + `"}`, nil, http.StatusRequestEntityTooLarge, "TOO_LARGE"},
		{ada, `[]`, nil, http.StatusBadRequest, "BAD_REQUEST"},
		{ada, good, chat.ErrUnreached, http.StatusServiceUnavailable, "UNAVAILABLE"},
		{ada, good, errors.New("the disk is full"), http.StatusServiceUnavailable, "UNAVAILABLE"},
		{"", `{"address":"a\u0000\nb","text":"  x\u202e  "}`, nil, http.StatusOK, ""},
	} {
		fails = test.fails
		status, reply := s.ask(http.MethodPost, "/api/contact", test.token, test.body)
		if code, _ := reply["code"].(string); status != test.status || code != test.code {
			t.Errorf("%.60s: %d %v", test.body, status, reply)
		}
	}
	if len(passed) != 6 || passed[0].Key != passed[1].Key || passed[0].Key == passed[2].Key {
		t.Fatalf("passed on %+v", passed)
	}
	if last := passed[5]; last.ReplyTo != "a b" || last.Text != "x" || strings.Contains(last.Key, "m") && len(last.Key) != 32 {
		t.Errorf("passed on %+v", last)
	}
}

// Messages to the owners are limited for a visitor, for an address, and for all. Those that failed don't count.
func TestContactLimits(t *testing.T) {
	var fails error
	passed := 0
	s := newSite(t, func(o *Options) {
		o.Contact = func(context.Context, Contact) error {
			passed++
			return fails
		}
	})
	leave := func(token, address string) int {
		status, _ := s.ask(http.MethodPost, "/api/contact", token, `{"address":"a","text":"b"}`, "X-Forwarded-For: "+address)
		return status
	}
	ada := account(t, "ada", nil)
	fails = errors.New("away")
	for range 2 * contactsPerHour {
		leave(ada, "")
	}
	fails, passed = nil, 0
	for range 2 * contactsPerHour {
		leave(ada, "")
	}
	if passed != contactsPerHour {
		t.Errorf("%d messages of a visitor were passed on", passed)
	}
	for range 2 * contactsOfAll {
		leave(account(t, newID(), nil), "")
	}
	if passed != contactsOfAll {
		t.Errorf("%d messages of all were passed on", passed)
	}
}

// desk is an endpoint for visitors' messages on this machine. It answers with its status, which is 204 at first.
type desk struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	got    []*http.Request
	bodies []string
}

func newDesk(t *testing.T) *desk {
	d := &desk{status: http.StatusNoContent}
	d.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.got, d.bodies = append(d.got, r), append(d.bodies, string(body))
		http.Redirect(rw, r, "/elsewhere", d.status)
	}))
	t.Cleanup(d.Close)
	return d
}

// The endpoint gets a signed request with the message, its time, language and page, and never again once it has taken it. While it fails, the
// message is stored, and sent in the same form later, also after a crash.
func TestContactHook(t *testing.T) {
	d := newDesk(t)
	memo := &connectortest.Memory{}
	var owners error
	open := func() *site {
		return newSite(t, func(o *Options) {
			o.Memo, o.ContactHook = memo, ContactHook{URL: d.URL + "/contact?from=parley", Secret: "a secret"}
			o.Contact = func(context.Context, Contact) error { return owners }
		})
	}
	s := open()
	d.status = http.StatusTemporaryRedirect // the message is for this address alone
	const body = `{"address":"ada@example.org","text":"Call me.","clientMessageId":"m","page":"https://shop.example/lamps"}`
	leave := func(want int) {
		t.Helper()
		if status, reply := s.ask(http.MethodPost, "/api/contact", account(t, "ada", nil), body, "Accept-Language: de"); status != want {
			t.Fatalf("%d %v, want %d", status, reply, want)
		}
	}
	leave(http.StatusOK) // the owners' chats have it
	if len(d.got) != 0 {
		t.Error("the visitor waited for the endpoint")
	}
	for range 2 {
		contactAPI{s.web}.sendStored(t.Context())
		s = open() // after a crash
	}
	d.status = http.StatusNoContent
	for range 2 {
		contactAPI{s.web}.sendStored(t.Context())
	}
	if len(d.got) != 3 || d.bodies[0] != d.bodies[2] {
		t.Fatalf("the endpoint got %q", d.bodies)
	}
	r, got := d.got[2], map[string]string{}
	require.NoError(t, json.Unmarshal([]byte(d.bodies[2]), &got))
	at, err := time.Parse(time.RFC3339, got["time"])
	if err != nil || time.Since(at) > time.Hour || len(got) != 6 || got["address"] != "ada@example.org" || got["text"] != "Call me." || got["locale"] != "de" || got["page"] != "https://shop.example/lamps" || got["key"] != r.Header.Get("Idempotency-Key") {
		t.Errorf("the endpoint got %v: %v", got, err)
	}
	if r.Header.Get("Parley-Signature") != "v1="+signature.Sign("a secret", r.Header.Get("Parley-Timestamp"), []byte(d.bodies[2])) || r.Header.Get("Idempotency-Key") == "" ||
		r.Header.Get("Idempotency-Key") != d.got[0].Header.Get("Idempotency-Key") || r.Header.Get("Content-Type") != "application/json" || r.URL.RequestURI() != "/contact?from=parley" {
		t.Errorf("the headers are %v", r.Header)
	}

	owners = chat.ErrUnreached // then the endpoint alone decides, and the visitor waits for it
	d.status = http.StatusInternalServerError
	leave(http.StatusServiceUnavailable)
	d.status = http.StatusNoContent
	if (contactAPI{s.web}).sendStored(t.Context()); len(d.got) != 4 {
		t.Errorf("a refused message was sent %d times more", len(d.got)-4)
	}
	leave(http.StatusOK)
	if len(d.got) != 5 || d.got[4].Header.Get("Idempotency-Key") != r.Header.Get("Idempotency-Key") {
		t.Errorf("the endpoint got %q", d.bodies)
	}
}

// A message for a private address is never sent; one that the endpoint does not take is dropped after a day, and all are once there is no
// endpoint. The log has no address and no message.
func TestContactHookIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dialed, memo, log := 0, &connectortest.Memory{}, &bytes.Buffer{}
		o := Options{Memo: memo, Listener: loopbackListener{}, Log: slog.New(slog.NewTextHandler(log, nil)),
			ContactHook: ContactHook{URL: "https://10.0.0.1/secret", Dial: func(context.Context, string, string) (net.Conn, error) { dialed++; return nil, io.EOF }}}
		w := New(o)
		wait := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			contactAPI{w.latest.Load()}.sendStored(t.Context())
			all, err := login.Read[[]Contact](t.Context(), memo, outboxName)
			if len(all) != want || err != nil || dialed != 0 {
				t.Errorf("%d messages wait, and %d connections were made; want %d and none: %v", len(all), dialed, want, err)
			}
		}
		add := func(n int) {
			for i := range n {
				require.NoError(t, (contactAPI{w}).store(t.Context(), Contact{Key: strconv.Itoa(i), Text: "secret", Time: time.Now()}, true))
			}
		}
		add(2 * maxOutbox)
		wait(outboxTime-time.Hour, maxOutbox)
		wait(2*time.Hour, 0)
		add(1)
		wait(time.Minute, 1)
		o.ContactHook.URL = ""
		w.Reload(o)
		wait(time.Minute, 0)
		if got := log.String(); !strings.Contains(got, "not on the public internet") || strings.Contains(got, "secret") {
			t.Errorf("the log has %q", got)
		}
	})
}
