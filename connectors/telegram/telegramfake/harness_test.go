package telegramfake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"parley/connectors/connectortest"
	"parley/connectors/telegram/telegramfake"
	"parley/internal/require"
	"parley/sim"
)

func utf16s(s string) []uint16 { return utf16.Encode([]rune(s)) }

// bot is a client that speaks JSON over a connection in memory.
type bot struct {
	*telegramfake.Server
	t    testing.TB
	http *http.Client
	spec *telegramfake.Spec
}

type answer struct {
	Status      int
	RetryHeader string
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		MigrateTo  int64 `json:"migrate_to_chat_id"`
		RetryAfter int   `json:"retry_after"`
	} `json:"parameters"`
}

type params map[string]any

// serve starts a server in memory; the test's end waits for all of it.
func serve(t testing.TB, opts ...telegramfake.Option) *bot {
	web := sim.NewNet()
	l := require.Value(web.Listen("tcp", "api:80"))(t)
	b := &bot{Server: telegramfake.New(opts...), t: t, http: &http.Client{Transport: &http.Transport{DialContext: web.Dial}}}
	connectortest.Serve(t, l, b.Server)
	t.Cleanup(b.http.CloseIdleConnections)
	spec := require.Value(telegramfake.SharedSpec())(t)
	b.spec = spec
	return b
}

// bubble runs f with virtual time.
func bubble(t *testing.T, f func(*testing.T, *bot), opts ...telegramfake.Option) {
	synctest.Test(t, func(t *testing.T) { f(t, serve(t, opts...)) })
}

func (b *bot) try(method string, p params) (answer, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return answer{}, err
	}
	resp, err := b.http.Post("http://api/bot"+b.Token()+"/"+method, "application/json", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{Status: resp.StatusCode, RetryHeader: resp.Header.Get("Retry-After")}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("%d %q: %w", resp.StatusCode, data, err)
	}
	if a.OK && b.spec != nil {
		if err := b.spec.CheckResult(method, a.Result); err != nil {
			b.t.Errorf("%v\n%s", err, a.Result)
		}
	}
	return a, nil
}

func (b *bot) call(method string, p params) answer {
	b.t.Helper()
	a, err := b.try(method, p)
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	return a
}

// ok calls and wants success, refused wants this refusal.
func (b *bot) ok(method string, p params) answer {
	b.t.Helper()
	a := b.call(method, p)
	if !a.OK {
		b.t.Fatalf("%s %v: %d %s", method, p, a.ErrorCode, a.Description)
	}
	return a
}

func (b *bot) refused(code int, description, method string, p params) answer {
	b.t.Helper()
	a := b.call(method, p)
	if a.OK || a.ErrorCode != code || a.Status != code || a.Description != description {
		b.t.Errorf("%s %v: %d %q; want %d %q", method, p, a.Status, a.Description, code, description)
	}
	return a
}

// send posts a message and returns its id.
func (b *bot) send(chat telegramfake.Chat, text string) int {
	b.t.Helper()
	return b.ok("sendMessage", params{"chat_id": chat.ID, "text": text}).message(b.t).ID
}

type wireMessage struct {
	ID      int    `json:"message_id"`
	Thread  int    `json:"message_thread_id"`
	Topic   bool   `json:"is_topic_message"`
	Text    string `json:"text"`
	Edited  int64  `json:"edit_date"`
	Migrate int64  `json:"migrate_to_chat_id"`
	From    struct {
		ID int64 `json:"id"`
	} `json:"from"`
	Chat struct {
		ID int64 `json:"id"`
	} `json:"chat"`
	Reply *wireMessage `json:"reply_to_message"`
}

type wireUpdate struct {
	ID      int64           `json:"update_id"`
	Message *wireMessage    `json:"message"`
	Edited  *wireMessage    `json:"edited_message"`
	Member  json.RawMessage `json:"my_chat_member"`
	Press   json.RawMessage `json:"callback_query"`
}

func (a answer) message(t testing.TB) (m wireMessage) {
	t.Helper()
	if err := json.Unmarshal(a.Result, &m); err != nil {
		t.Fatalf("%s: %v", a.Result, err)
	}
	return m
}

func (a answer) updates(t testing.TB) (u []wireUpdate) {
	t.Helper()
	if err := json.Unmarshal(a.Result, &u); err != nil {
		t.Fatalf("%s: %v", a.Result, err)
	}
	return u
}

func (b *bot) updates(p params) []wireUpdate {
	b.t.Helper()
	return b.ok("getUpdates", p).updates(b.t)
}

func (b *bot) texts(p params) (out []string) {
	b.t.Helper()
	for _, u := range b.updates(p) {
		if u.Message != nil {
			out = append(out, u.Message.Text)
		}
	}
	return out
}

// clean wants that no request was wrong in form.
func (b *bot) clean() {
	b.t.Helper()
	for _, r := range b.Rejected() {
		b.t.Errorf("rejected %s %v: %s", r.Method, r.Params, r.Reason)
	}
}

func elapsed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func loadSpec(t *testing.T) *telegramfake.Spec {
	t.Helper()
	spec := require.Value(telegramfake.SharedSpec())(t)
	if spec == nil {
		t.Skip("SKIPPED: set PARLEY_SPECS to the directory with " + telegramfake.SpecFile)
	}
	return spec
}
