package discord_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/core/chat"
	"parley/internal/guard"
	"parley/internal/subtest"
)

// sendFile is a file that ann sends, as the gateway was told of it, and its message.
func (w *botHarness) sendFile(a discordfake.Attachment) (chat.Attachment, string) {
	w.Helper()
	w.start()
	id := w.fake.Say(w.channel, w.ann, "look", discordfake.Attach(a))
	w.settle()
	m := w.newest()
	if len(m.Files) != 1 {
		w.Fatalf("received %+v; want a message with one file", m)
	}
	return m.Files[0], id
}

var plan = discordfake.Attachment{Filename: "the plan?.txt", ContentType: "text/plain", Data: []byte("Buy tea.")}

// files are the requests to the CDN.
func (w *botHarness) files() (all []discordfake.Request) {
	for _, q := range w.fake.Log() {
		if q.Route == discordfake.GetFile {
			all = append(all, q)
		}
	}
	return all
}

// DR-26: a file is found again after days, when the address that came with it has long expired, at a fresh one.
func TestFetchLater(t *testing.T) {
	withBot(t, func(w *botHarness) {
		f, _ := w.sendFile(plan)
		if strings.Contains(f.Ref, "http") || strings.Contains(f.Ref, "hm=") {
			t.Errorf(`an address is kept: %q; want it without "http" and it without "hm="`, f.Ref)
		}
		for range 2 {
			got, err := w.bot.Fetch(w.Context(), f, 100)
			if err != nil || string(got.Data) != "Buy tea." {
				t.Errorf("%+v, %v", got, err)
			}
			time.Sleep(72 * time.Hour)
		}
		if asked := w.files(); len(asked) != 2 || asked[0].Query == asked[1].Query {
			t.Errorf("asked for %+v", asked)
		}
	})
}

func TestFileFetchFails(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(w *botHarness, message string)
		limit int64
		want  error // nil for any
	}{
		"deleted":   {func(w *botHarness, m string) { w.fake.UserDelete(m) }, 100, chat.ErrNotFound},
		"too large": {func(*botHarness, string) {}, 3, chat.ErrTooLarge},
		"expired": {func(w *botHarness, _ string) {
			w.fake.Fault(discordfake.Match{Route: discordfake.GetFile, Times: -1}, discordfake.Respond(http.StatusNotFound, nil, ""))
		}, 100, chat.ErrNotFound},
		"no rights any more": {func(w *botHarness, _ string) {
			w.fake.Fault(discordfake.Match{Route: discordfake.GetMessage, Times: -1}, discordfake.ErrorCode(403, 50001, "Missing Access"))
		}, 100, chat.ErrNotFound},
		"dropped": {func(w *botHarness, _ string) {
			w.fake.Fault(discordfake.Match{Route: discordfake.GetFile, Times: -1}, discordfake.DropBefore())
		}, 100, nil},
		"slow": {func(w *botHarness, _ string) {
			w.fake.Fault(discordfake.Match{Route: discordfake.GetFile, Times: -1}, discordfake.Delay(time.Minute))
		}, 100, nil},
	} {
		t.Run(name, subtest.Plain(withBot, func(w *botHarness) {
			f, m := w.sendFile(plan)
			f.Size = 0
			c.spoil(w, m)
			ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
			defer cancel()
			_, err := w.bot.Fetch(ctx, f, c.limit)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				w.Errorf("got %v", err)
			}
			if text := err.Error(); strings.Contains(text, token) || strings.Contains(text, "hm=") {
				w.Errorf(`SE-02: the error shows %s; want it without %s and it without "hm="`, text, token)
			}
		}))
	}
}

// DR-01: a limit is waited for, once it is known, and the file comes.
func TestFetchWaits(t *testing.T) {
	withBot(t, func(w *botHarness) {
		f, _ := w.sendFile(plan)
		w.fake.Fault(discordfake.Match{Route: discordfake.GetMessage}, discordfake.TooManyRequests(discordfake.ScopeUser, 3*time.Second))
		start := time.Now()
		if _, err := w.bot.Fetch(w.Context(), f, 100); err != nil || time.Since(start) < 3*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// SE-03: a message that names another server has nothing fetched from there.
func TestFetchFromElsewhere(t *testing.T) {
	for _, address := range []string{
		"http://169.254.169.254/latest/meta-data", "https://evil.test/attachments/1/2/a", "https://cdn.discordapp.com.evil.test/a",
		"http://cdn.discordapp.com/a", "file:///etc/passwd", "https://cdn.discordapp.com@10.0.0.1/",
	} {
		withBot(t, func(w *botHarness) {
			a := plan
			a.URL = address
			f, _ := w.sendFile(a)
			if _, err := w.bot.Fetch(w.Context(), f, 100); !errors.Is(err, guard.ErrForbidden) {
				w.Errorf("%s: %v", address, err)
			}
		})
	}
}

// An invalid reference causes no request.
func TestOddReferences(t *testing.T) {
	withBot(t, func(w *botHarness) {
		for _, ref := range []string{"", "1", "1/2", "../1/2", "1/2/x", "1/2/3/4", "a/b/c"} {
			if _, err := w.bot.Fetch(w.Context(), chat.Attachment{Ref: ref}, 100); !errors.Is(err, chat.ErrNotFound) {
				w.Errorf("%q: %v", ref, err)
			}
		}
		w.launch()
	})
}
