package telegramfake_test

import (
	"strings"
	"testing"
	"time"

	"parley/connectors/telegram/telegramfake"
	"parley/internal/subtest"
)

func TestFaults(t *testing.T) {
	type fault = telegramfake.Fault
	for name, c := range map[string]struct {
		fault   fault
		shown   int    // messages after the spoiled sendMessage
		err     string // of the client; empty: it got JSON
		code    int    // of the answer
		elapsed time.Duration
	}{
		"none on another method": {fault{Method: "getMe", Drop: true}, 1, "", 0, 0},
		"none on another chat":   {fault{Chat: 5, Drop: true}, 1, "", 0, 0},
		"drop":                   {fault{Drop: true}, 0, "EOF", 0, 0},
		"apply then drop":        {fault{Method: "sendmessage", Apply: true, Drop: true}, 1, "EOF", 0, 0},
		"delay":                  {fault{Delay: 9 * time.Second}, 1, "", 0, 9 * time.Second},
		"delay of the answer":    {fault{DelayAnswer: time.Minute, Drop: true, Apply: true}, 1, "EOF", 0, time.Minute},
		"half a body":            {fault{Half: true}, 1, "unexpected EOF", 0, 0},
		"proxy page":             {fault{Status: 502}, 0, "invalid character '<'", 0, 0},
		"proxy page, applied":    {fault{Status: 502, Apply: true}, 1, "invalid character '<'", 0, 0},
		"status and body":        {fault{Status: 500, Body: `{"ok":false,"error_code":500,"description":"x"}`}, 0, "", 500, 0},
		"parse error":            {fault{ParseError: true}, 0, "", 400, 0},
	} {
		t.Run(name, subtest.Plain(bubble, func(t *testing.T, b *bot) {
			chat := b.AddPrivate(b.AddUser("Ann", "ann"))
			b.Fault(c.fault)
			var a answer
			var err error
			took := elapsed(func() {
				a, err = b.try("sendMessage", params{"chat_id": chat.ID, "text": "x", "parse_mode": "HTML"})
			})
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || a.ErrorCode != c.code || took != c.elapsed {
				t.Errorf("answer %+v, error %v, after %v", a, err, took)
			}
			if n := len(b.Messages(chat)); n != c.shown {
				t.Errorf("%d messages, want %d", n, c.shown)
			}
			l := b.Log()[0]
			if l.Applied != (c.shown == 1) || l.Ended.IsZero() {
				t.Errorf("log: %+v", l)
			}
			b.ok("sendMessage", params{"chat_id": chat.ID, "text": "x"}) // once only
		}))
	}
}

func TestFaultOnTheKth(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		chat := b.AddPrivate(b.AddUser("Ann", "ann"))
		b.Fault(telegramfake.Fault{Method: "sendMessage", Nth: 2, Times: 2, ParseError: true})
		html := params{"chat_id": chat.ID, "text": "x", "parse_mode": "HTML"}
		b.ok("sendMessage", html)
		b.refused(400, `Bad Request: can't parse entities: Unsupported start tag "fault" at byte offset 0`, "sendMessage", html)
		b.send(chat, "plain text has no markup to refuse")
		b.call("sendMessage", html)
		b.ok("sendMessage", html)
		b.Fault(telegramfake.Fault{Times: -1, Drop: true})
		for range 3 {
			if _, err := b.try("getMe", nil); err == nil {
				t.Error("the request got a response; want a dropped connection")
			}
		}
		b.ClearFaults()
		b.ok("getMe", nil)
		if n := len(b.Messages(chat)); n != 3 {
			t.Errorf("%d messages; want 3", n)
		}
	})
}

// TR-03: a chosen hold is a hold, budgets or not.
func TestChosenRetryAfter(t *testing.T) {
	for _, seconds := range []int{1, 33, 7200} {
		bubble(t, func(t *testing.T, b *bot) {
			chat := b.AddPrivate(b.AddUser("Ann", "ann"))
			b.Fault(telegramfake.Fault{Method: "sendChatAction", RetryAfter: seconds})
			if wait := b.typing(chat); wait != seconds {
				t.Errorf("wait %d s, want %d", wait, seconds)
			}
			time.Sleep(time.Duration(seconds)*time.Second - time.Millisecond)
			if b.typing(chat) == 0 || !b.Log()[1].Early {
				t.Error("a request was served during the hold; want it refused as early")
			}
			time.Sleep(4 * time.Hour)
			if wait := b.typing(chat); wait != 0 {
				t.Errorf("after the hold: wait %d s; want none", wait)
			}
		}, telegramfake.WithoutFlood())
	}
}
