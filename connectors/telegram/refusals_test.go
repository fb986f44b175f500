package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/config/configtest"
	"parley/connectors"
	"parley/connectors/telegram/telegramfake"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/subtest"
	"parley/progressive"
	"parley/sim"
)

func bad(text string) string {
	return `{"ok":false,"error_code":400,"description":"Bad Request: ` + text + `"}`
}

// want is what an error of a sink comes down to: one of progressive's, or nothing of them, which is "not done".
func wantError(t *testing.T, err, want error) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %v", want)
		return
	}
	for _, e := range []error{progressive.ErrGone, progressive.ErrForbidden, progressive.ErrUnparsable, progressive.ErrAmbiguous, progressive.ErrUnsent, progressive.ErrStale} {
		if errors.Is(err, e) != (e == want) {
			t.Errorf("%v: is %v is %t", err, e, errors.Is(err, e))
		}
	}
}

// What each answer means (TR-07, TR-08, TR-11, TR-12, TR-30).
func TestAnswers(t *testing.T) {
	gone, forbidden, unparsable, ambiguous := progressive.ErrGone, progressive.ErrForbidden, progressive.ErrUnparsable, progressive.ErrAmbiguous
	unsent, stale := progressive.ErrUnsent, progressive.ErrStale
	var notDone error
	for name, c := range map[string]struct {
		status             int
		body               string
		post, edit, delete error
	}{
		"parse":          {400, bad("can't parse entities: Unsupported start tag"), unparsable, unparsable, unparsable},
		"no message":     {400, bad("message to edit not found"), notDone, gone, gone},
		"no message del": {400, bad("message to delete not found"), notDone, gone, gone},
		"can't edit":     {400, bad("message can't be edited"), notDone, stale, notDone},
		"too old":        {400, bad("message can't be deleted for everyone"), notDone, gone, gone},
		"bad number":     {400, bad("MESSAGE_ID_INVALID"), notDone, gone, gone},
		"no chat":        {400, bad("chat not found"), forbidden, forbidden, forbidden},
		"no topic":       {400, bad("message thread not found"), forbidden, forbidden, forbidden},
		"closed topic":   {400, bad("TOPIC_CLOSED"), forbidden, forbidden, forbidden},
		"deleted topic":  {400, bad("TOPIC_DELETED"), forbidden, forbidden, forbidden},
		"no rights":      {400, bad("not enough rights to send text messages to the chat"), forbidden, forbidden, forbidden},
		"blocked":        {403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}`, forbidden, forbidden, forbidden},
		"kicked":         {403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was kicked from the group chat"}`, forbidden, forbidden, forbidden},
		"unknown words":  {400, bad("something new"), notDone, notDone, notDone},
		"too long":       {400, bad("message is too long"), notDone, notDone, notDone},
		"no method":      {404, `{"ok":false,"error_code":404,"description":"Not Found"}`, notDone, notDone, notDone},
		"server error":   {500, `{"ok":false,"error_code":500,"description":"Internal Server Error"}`, ambiguous, ambiguous, ambiguous},
		"bad gateway":    {502, "", ambiguous, ambiguous, ambiguous},
		"json and 503":   {503, `{"ok":false,"error_code":503,"description":"Service Unavailable"}`, ambiguous, ambiguous, ambiguous},
		"took too long":  {408, "<html>Request Timeout</html>", unsent, unsent, unsent},
		"a conflict":     {409, `{"ok":false,"error_code":409,"description":"Conflict"}`, notDone, notDone, notDone},
		"proxy forbids":  {403, "<html>no</html>", forbidden, forbidden, forbidden},
		"not json":       {200, "hello", ambiguous, ambiguous, ambiguous},
		"no result":      {200, "{}", ambiguous, ambiguous, ambiguous},
		"half json":      {200, `{"ok":true,"result":{"mess`, ambiguous, ambiguous, ambiguous},
	} {
		t.Run(name, subtest.Plain(withBot, func(t *testing.T, r *botHarness) {
			_, s := r.private()
			id := r.post(s, "hello")
			r.Fault(telegramfake.Fault{Times: -1, Status: c.status, Body: c.body})
			_, err := s.Post(t.Context(), part("more"), "")
			wantError(t, err, c.post)
			wantError(t, s.Edit(t.Context(), id, part("other")), c.edit)
			wantError(t, s.Delete(t.Context(), id), c.delete)
			_, err = s.Typing(t.Context())
			if err == nil {
				t.Error("typing succeeded")
			}
		}))
	}
}

// TR-03: a refusal says for how long, or doesn't, or in another form. What it applies to is for the gate to find out.
func TestRefusalSaysHowLongToWait(t *testing.T) {
	for says, want := range map[string]time.Duration{
		`,"parameters":{"retry_after":33}`:   33 * time.Second,
		`,"parameters":{"retry_after":7200}`: 2 * time.Hour,
		`,"parameters":{"retry_after":3.5}`:  3500 * time.Millisecond,
		`,"parameters":{"retry_after":"33"}`: 33 * time.Second,
		`,"parameters":{"retry_after":-1}`:   leastWait,
		`,"parameters":{}`:                   leastWait,
		``:                                   leastWait,
	} {
		withBot(t, func(t *testing.T, r *botHarness) {
			_, s := r.private()
			r.Fault(telegramfake.Fault{Method: "sendMessage", Status: 429, Body: `{"ok":false,"error_code":429,"description":"Too Many Requests"` + says + `}`})
			_, err := s.Post(t.Context(), part("x"), "")
			var slow progressive.RetryAfter
			if !errors.As(err, &slow) || slow.After != want || slow.Scope != "" {
				t.Errorf("%s: %v", says, err)
			}
		})
	}
}

func TestTransport(t *testing.T) {
	for name, c := range map[string]struct {
		fault   telegramfake.Fault
		want    error
		applied int
	}{
		"dropped":       {telegramfake.Fault{Drop: true}, progressive.ErrAmbiguous, 0},
		"applied, lost": {telegramfake.Fault{Drop: true, Apply: true}, progressive.ErrAmbiguous, 1}, // TR-12
		"half":          {telegramfake.Fault{Half: true}, progressive.ErrAmbiguous, 1},
		"too late":      {telegramfake.Fault{DelayAnswer: time.Minute}, progressive.ErrAmbiguous, 1},
	} {
		t.Run(name, subtest.Plain(withBot, func(t *testing.T, r *botHarness) {
			chat, s := r.private()
			c.fault.Method = "sendMessage"
			r.Fault(c.fault)
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			_, err := s.Post(ctx, part("x"), "")
			wantError(t, err, c.want)
			if n := len(r.Messages(chat)); n != c.applied || r.count("sendMessage") != 1 {
				t.Errorf("%d messages of %d requests; want %d and 1", n, r.count("sendMessage"), c.applied)
			}
		}))
	}
	for name, dial := range map[string]connectors.Dialer{
		"refused": sim.NewNet().Dial,
		"no name": func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.DNSError{Err: "no such host", Name: "telegram.test"}
		},
		"TLS fails": func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				_, _ = far.Read(make([]byte, 1))
				_ = far.Close()
			}()
			return near, nil
		},
		"reset at once": func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNRESET },
	} {
		t.Run(name, func(t *testing.T) {
			scheme := "http://"
			if name == "TLS fails" {
				scheme = "https://"
			}
			s := newSink(newBot(telegramfake.DefaultToken, scheme+site, dial), address{Chat: 5, Kind: private})
			_, err := s.Post(t.Context(), part("x"), "")
			wantError(t, err, progressive.ErrUnsent)
			if cause := (*net.OpError)(nil); name == "refused" && !errors.As(err, &cause) {
				t.Errorf("the cause is lost: %v", err)
			}
		})
	}
}

// SE-02: no error says the token, whatever goes wrong.
func TestErrorsKeepTheToken(t *testing.T) {
	const token = telegramfake.DefaultToken
	leak := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
			return
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			for _, l := range sim.Leak(what, fmt.Sprintf("%v %+v %#v", e, e, e), token) {
				t.Error(l)
			}
		}
	}
	for name, base := range map[string]string{
		"no host": "http://", "bad escape": "http://a%zz", "bad scheme": "gopher://x", "space": "http://a b", "percent": "http://x.test/%41%s",
	} {
		bot := newBot(token, base, sim.NewNet().Dial)
		_, err := bot.Check(t.Context())
		leak(name, err)
	}
	for name, e := range map[string]error{
		"in the error":   fmt.Errorf("proxy said: GET /bot%s/getMe", token),
		"half of it":     errors.New("no route for " + strings.Split(token, ":")[1]),
		"escaped":        errors.New("lookup /bot" + strings.Replace(token, ":", "%3A", 1)),
		"deep inside":    fmt.Errorf("a: %w", fmt.Errorf("b: %w", errors.New("x"+token+"x"))),
		"a plain cancel": context.Canceled,
	} {
		bot := newBot(token, "http://x.test", func(context.Context, string, string) (net.Conn, error) { return nil, e })
		_, err := bot.Check(t.Context())
		leak(name, err)
	}
	for _, f := range []telegramfake.Fault{
		{Drop: true}, {Half: true}, {Status: 502}, {Delay: time.Hour}, {Status: 302, Body: "x"},
		{Status: 400, Body: bad("what is bot" + token + "?")}, {Status: 200, Body: token}, {RetryAfter: 3},
	} {
		withBot(t, func(t *testing.T, r *botHarness) {
			_, s := r.private()
			f.Times = -1
			r.Fault(f)
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			_, err := s.Post(ctx, part("x"), "")
			leak(fmt.Sprintf("%+v", f), err)
			r.run(r.bot) // bubble reads the log
			wait(time.Minute)
		})
	}
}

// ST-30: the server refuses the answers of 25 chats at once, with a wait. As soon as that is over, all are sent, and so is the answer to
// a chat that was never refused.
func TestBurstOfRefusals(t *testing.T) {
	for _, seconds := range []int{1, 3, 5, 30} {
		withBot(t, func(t *testing.T, r *botHarness) {
			budgets := new(configtest.Defaults[Config](Section())).Budgets()
			gate := progressive.NewGate(func(s progressive.Scope) progressive.Budget {
				kind, _, _ := strings.Cut(string(s), "/")
				return budgets[kind]
			})
			const chats = 25
			r.Fault(telegramfake.Fault{Method: "sendMessage", RetryAfter: seconds, Times: chats, Delay: 100 * time.Millisecond})
			var mu sync.Mutex
			var shown []time.Time
			var all sync.WaitGroup
			show := func(i int) {
				u := r.AddUser(fmt.Sprint("User", i), fmt.Sprint("user", i))
				s := newSink(r.bot, address{Chat: r.AddPrivate(u).ID, Message: 1, Kind: private})
				a := &answer.Answer{}
				a.Apply(answer.Change{Kind: answer.Text, Text: "Yes."})
				a.End(answer.Outcome{Status: answer.Completed})
				m := progressive.New(s, gate, chat.Run{ID: chat.RunID(fmt.Sprint(i))}, slog.New(slog.DiscardHandler))
				all.Go(func() {
					if err := m.Show(t.Context(), a, func(chat.Shown) error { return nil }); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					shown = append(shown, time.Now())
				})
			}
			begun := time.Now()
			for i := range chats {
				show(i)
			}
			wait(500 * time.Millisecond)
			show(chats)
			all.Wait()
			for _, at := range shown {
				if late := at.Sub(begun) - time.Duration(seconds)*time.Second; late > time.Second {
					t.Errorf("after a wait of %d s an answer is shown %v late", seconds, late)
				}
			}
			if len(shown) != chats+1 {
				t.Errorf("%d answers", len(shown))
			}
		}, telegramfake.WithoutFlood())
	}
}
