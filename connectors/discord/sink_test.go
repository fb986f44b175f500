package discord_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/discord"
	"parley/connectors/discord/discordfake"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/progressive"
)

func part(text string) progressive.Part { return progressive.Part{Text: text} }

func containsWord(s, word string) bool { return strings.Contains(s, word) }

// askedSink starts the bot, asks it something, and opens the conversation.
func (w *botHarness) askedSink() progressive.Sink {
	w.Helper()
	w.start()
	w.say("question")
	w.settle()
	return w.open()
}

func (w *botHarness) post(s progressive.Sink, text, nonce string) string {
	w.Helper()
	id := require.Value(s.Post(w.Context(), part(text), nonce))(w)
	return id
}

func (w *botHarness) edit(s progressive.Sink, id, text string) error {
	return s.(progressive.Editor).Edit(w.Context(), id, part(text))
}

// A message that the agent starts is not a reply.
func TestSaidUnasked(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.askedSink()
		s := w.openAt(w.newest().Here().Address)
		require.Value(s.Post(w.Context(), progressive.Part{Text: "by myself", ReplyTo: true}, "run/0"))(t)
		if shown := w.fake.Messages(w.channel); len(shown) != 2 || shown[1].ReplyTo != "" {
			t.Errorf("shown %+v", shown)
		}
	})
}

func TestSink(t *testing.T) {
	withBot(t, func(w *botHarness) {
		s := w.askedSink()
		id := require.Value(s.Post(w.Context(), progressive.Part{Text: "an answer", ReplyTo: true}, "run/0"))(t)
		if err := w.edit(s, id, "a longer answer"); err != nil {
			t.Error(err)
		}
		second := w.post(s, "more", "run/1")
		shown := w.fake.Messages(w.channel)
		if len(shown) != 3 || shown[1].Content != "a longer answer" || shown[1].ReplyTo != shown[0].ID || shown[2].ReplyTo != "" {
			t.Errorf("shown %+v", shown)
		}
		for range 2 {
			if err := s.(progressive.Deleter).Delete(w.Context(), second); err != nil {
				t.Errorf("delete: %v", err)
			}
		}
		time.Sleep(time.Second)
		stays, err := s.(progressive.Typer).Typing(w.Context())
		if err != nil || stays*9/10 < 8*time.Second || stays > 10*time.Second {
			t.Errorf("DR-23: typing %v, %v", stays, err)
		}
		if !w.fake.TypingShown(w.channel) {
			t.Error("the channel shows no typing indicator; want one")
		}
	})
}

// DR-09, DR-13, SE-01: every request disables mentions and previews.
func TestNobodyIsPinged(t *testing.T) {
	withBot(t, func(w *botHarness) {
		s := w.askedSink()
		evil := fmt.Sprintf("@everyone @here <@%s> <@&%s> @\u200beveryone https://example.com", w.ann, w.guild)
		id := w.post(s, evil, "n")
		if err := w.edit(s, id, evil+" again"); err != nil {
			t.Error(err)
		}
		n := 0
		for _, r := range w.fake.Log() {
			if r.Route != discordfake.CreateMessage && r.Route != discordfake.EditMessage {
				continue
			}
			n++
			var body struct {
				Allowed *struct{ Parse []string } `json:"allowed_mentions"`
				Flags   int
			}
			if err := json.Unmarshal(r.Body, &body); err != nil || body.Allowed == nil || body.Allowed.Parse == nil ||
				len(body.Allowed.Parse) > 0 || body.Flags&discordfake.FlagSuppressEmbeds == 0 {
				t.Errorf("%s %s", r.Route, r.Body)
			}
		}
		if n != 2 || w.fake.Unfurl(id) {
			t.Errorf("%d bodies; a link unfolds", n)
		}
	})
}

// The table of errors: what each answer of Discord comes down to.
func TestErrors(t *testing.T) {
	create, edit := discordfake.CreateMessage, discordfake.EditMessage
	for name, c := range map[string]struct {
		route discordfake.Route
		fault discordfake.Fault
		want  error
	}{
		"DR-27 unknown channel":   {create, discordfake.ErrorCode(404, 10003, "Unknown Channel"), progressive.ErrForbidden},
		"DR-08 removed by nonce":  {create, discordfake.ErrorCode(404, 10008, "Unknown Message"), progressive.ErrGone},
		"DR-27 unknown message":   {edit, discordfake.ErrorCode(404, 10008, "Unknown Message"), progressive.ErrGone},
		"DR-27 missing access":    {create, discordfake.ErrorCode(403, 50001, "Missing Access"), progressive.ErrForbidden},
		"DR-27 missing rights":    {edit, discordfake.ErrorCode(403, 50013, "Missing Permissions"), progressive.ErrForbidden},
		"DR-27 closed messages":   {create, discordfake.ErrorCode(403, 50007, "Cannot send messages to this user"), progressive.ErrForbidden},
		"DR-27 moderation":        {create, discordfake.ErrorCode(400, 200000, "blocked"), progressive.ErrUnparsable},
		"DR-27 links":             {edit, discordfake.ErrorCode(400, 240000, "blocked"), progressive.ErrUnparsable},
		"DR-24 archived":          {edit, discordfake.ErrorCode(400, 50083, "Thread is archived"), progressive.ErrStale},
		"DR-24 locked":            {create, discordfake.ErrorCode(400, 160005, "Thread is locked"), progressive.ErrForbidden},
		"DR-11 old message":       {edit, discordfake.ErrorCode(429, 30046, "Maximum number of edits"), progressive.ErrStale},
		"500":                     {create, discordfake.Respond(500, nil, "{}"), progressive.ErrAmbiguous},
		"502 page":                {create, discordfake.Respond(502, nil, "<html>"), progressive.ErrAmbiguous},
		"504":                     {edit, discordfake.RespondAfter(504, nil, ""), progressive.ErrAmbiguous},
		"408":                     {create, discordfake.Respond(408, nil, ""), progressive.ErrUnsent},
		"reset":                   {create, discordfake.DropBefore(), progressive.ErrAmbiguous},
		"no answer":               {create, discordfake.DropAfter(), progressive.ErrAmbiguous},
		"half an answer":          {create, discordfake.HalfBody(), progressive.ErrAmbiguous},
		"an answer without an id": {create, discordfake.Respond(200, nil, "{}"), progressive.ErrAmbiguous},
	} {
		t.Run(name, subtest.Plain(withBot, func(w *botHarness) {
			s := w.askedSink()
			id := w.post(s, "first", "n")
			w.fake.Fault(discordfake.Match{Route: c.route}, c.fault)
			var err error
			if c.route == edit {
				err = w.edit(s, id, "changed")
			} else {
				_, err = s.Post(w.Context(), part("second"), "m")
			}
			if !errors.Is(err, c.want) {
				w.Errorf("got %v, want %v", err, c.want)
			}
			for _, other := range []error{progressive.ErrGone, progressive.ErrForbidden, progressive.ErrAmbiguous, progressive.ErrUnparsable, progressive.ErrUnsent} {
				if other != c.want && errors.Is(err, other) {
					w.Errorf("%v is also %v", err, other)
				}
			}
			if found := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(found, token) {
				w.Errorf("SE-02: %s; want it without %s", found, token)
			}
		}))
	}
}

// DR-04: where the bot may not write it is refused once.
func TestForbiddenIsNotAskedAgain(t *testing.T) {
	withBot(t, func(w *botHarness) {
		s := w.askedSink()
		w.fake.Deny(w.channel, discordfake.SendMessages)
		_, _ = s.(progressive.Typer).Typing(w.Context())
		for range 3 {
			if _, err := s.Post(w.Context(), part("text"), "n"); !errors.Is(err, progressive.ErrForbidden) {
				t.Errorf("got %v", err)
			}
		}
		if n := w.fake.InvalidRequests(); n != 1 {
			t.Errorf("%d refusals; want 1", n)
		}
	})
}

// A reply needs a right of its own: without it the answer just stands there.
func TestReplyWithoutTheRight(t *testing.T) {
	withBot(t, func(w *botHarness) {
		s := w.askedSink()
		p := progressive.Part{Text: "an answer", ReplyTo: true}
		w.fake.Fault(discordfake.Match{Route: discordfake.CreateMessage}, discordfake.ErrorCode(400, 160002, "You cannot reply"))
		if _, err := s.Post(w.Context(), p, "n"); err == nil || errors.Is(err, progressive.ErrForbidden) {
			t.Errorf("got %v", err)
		}
		if _, err := s.Post(w.Context(), p, "n"); err != nil {
			t.Error(err)
		}
	})
}

// DR-08: a create whose answer was lost is one message.
func TestCreateWithLostResponseIsOneMessage(t *testing.T) {
	withBot(t, func(w *botHarness) {
		s := w.askedSink()
		w.fake.Fault(discordfake.Match{Route: discordfake.CreateMessage}, discordfake.DropAfter())
		if _, err := s.Post(w.Context(), part("once"), "run/0"); !errors.Is(err, progressive.ErrAmbiguous) {
			t.Fatal(err)
		}
		time.Sleep(s.(progressive.NonceKeeper).NonceWindow() - time.Second)
		id := w.post(s, "once, and more", "run/0")
		if shown := w.fake.Messages(w.channel); len(shown) != 2 || shown[1].ID != id || shown[1].Content != "once" {
			t.Errorf("shown %+v", shown)
		}
		w.fake.UserDelete(id)
		if _, err := s.Post(w.Context(), part("once"), "run/0"); !errors.Is(err, progressive.ErrGone) {
			t.Errorf("got %v", err)
		}
	})
}

// Where nothing was sent the error says so.
func TestNoConnection(t *testing.T) {
	withBot(t, func(w *botHarness) {
		s := w.askedSink()
		w.fake.Close()
		_ = w.bot.Close()
		time.Sleep(time.Minute)
		_, err := s.Post(w.Context(), part("text"), "n")
		if !errors.Is(err, progressive.ErrUnsent) || errors.Is(err, progressive.ErrAmbiguous) || errors.Is(err, progressive.ErrForbidden) {
			t.Errorf("got %v", err)
		}
	})
}

// DR-01: the bot keeps within limits that it was not told of before, and a spent bucket holds its channel only.
func TestSpentBucket(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.fake.ShareBucket("shared", discordfake.Limit{Requests: 3, Per: 10 * time.Second}, discordfake.CreateMessage, discordfake.EditMessage)
		s := w.askedSink()
		id := w.post(s, "one", "1")
		_ = w.edit(s, id, "two")
		_ = w.edit(s, id, "three")
		var slow progressive.RetryAfter
		if _, err := s.Post(w.Context(), part("four"), "4"); !errors.As(err, &slow) {
			t.Fatalf("got %v", err)
		}
		if slow.Scope != progressive.Scope("discord.channel/"+w.channel) || slow.After < 9*time.Second || slow.After > 10*time.Second {
			t.Errorf("got %+v", slow)
		}
		other := w.fake.AddChannel(w.guild, "other")
		w.fake.Say(other, w.ann, "question")
		w.settle()
		w.post(w.open(), "elsewhere", "5")
		time.Sleep(slow.After)
		w.post(s, "four", "4")
		for _, r := range w.fake.Log() {
			if r.Status == http.StatusTooManyRequests {
				t.Errorf("%s was refused", r.Route)
			}
		}
	})
}

// DR-01: what a reply says of its bucket is passed on, once, for the kind of request that it was.
func TestBucketOfReplyIsReported(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.fake.SetLimit(discordfake.EditMessage, discordfake.Limit{Requests: 2, Per: 10 * time.Second})
		s := w.askedSink()
		id := w.post(s, "one", "1")
		for left := 1; left >= 0; left-- {
			require.NoError(t, w.edit(s, id, fmt.Sprint("left ", left)))
			l, ok := s.(progressive.BudgetReporter).BudgetHint()
			if !ok || l.Left != left || l.After < 9*time.Second || l.After > 10*time.Second || !slices.Contains(s.Scopes(progressive.Edit), l.Scope) {
				t.Errorf("learned %+v, %v", l, ok)
			}
			if slices.Contains(s.Scopes(progressive.Post), l.Scope) {
				t.Error("an edit's bucket holds up posts")
			}
			if l, ok := s.(progressive.BudgetReporter).BudgetHint(); ok {
				t.Errorf("learned again: %+v", l)
			}
		}
	})
}

// DR-02, DR-03, DR-05: what a 429 closes, for how long, and that nothing is sent meanwhile.
func TestTooManyRequests(t *testing.T) {
	channel, bot := "discord.channel/", "discord.bot/"
	for name, c := range map[string]struct {
		fault    discordfake.Fault
		scope    string
		from, to time.Duration
	}{
		"DR-01 user":         {discordfake.TooManyRequests(discordfake.ScopeUser, 33*time.Second), channel, 33 * time.Second, 34 * time.Second},
		"DR-02 global":       {discordfake.TooManyRequests(discordfake.ScopeGlobal, 2*time.Second), bot, 2 * time.Second, 3 * time.Second},
		"DR-03 shared":       {discordfake.TooManyRequests(discordfake.ScopeShared, 1336*time.Second), channel, 1336 * time.Second, 1337 * time.Second},
		"DR-05 page":         {discordfake.HTMLLimit(), bot, time.Minute, 90 * time.Second},
		"DR-05 without time": {discordfake.HeaderlessLimit(), bot, time.Minute, 90 * time.Second},
	} {
		t.Run(name, subtest.Plain(withBot, func(w *botHarness) {
			s := w.askedSink()
			id := w.post(s, "text", "n")
			w.fake.Fault(discordfake.Match{Route: discordfake.EditMessage}, c.fault)
			var slow progressive.RetryAfter
			if err := w.edit(s, id, "new"); !errors.As(err, &slow) {
				w.Fatalf("got %v", err)
			}
			if !strings.HasPrefix(string(slow.Scope), c.scope) || slow.After < c.from || slow.After > c.to {
				w.Errorf("got %+v", slow)
			}
			before := len(w.fake.Log())
			if err := w.edit(s, id, "new"); !errors.As(err, &slow) {
				w.Errorf("I6: got %v", err)
			}
			if n := len(w.fake.Log()) - before; n != 0 {
				w.Errorf("I6: %d requests; want none", n)
			}
			time.Sleep(slow.After)
			if err := w.edit(s, id, "new"); err != nil {
				w.Error(err)
			}
		}))
	}
}

// DR-05: a ban's wait grows.
func TestWaitOfBanGrows(t *testing.T) {
	withBot(t, func(w *botHarness) {
		s := w.askedSink()
		id := w.post(s, "text", "n")
		w.fake.Ban(20 * time.Minute)
		var last time.Duration
		tries := 0
		for {
			err := w.edit(s, id, "new")
			var slow progressive.RetryAfter
			if !errors.As(err, &slow) {
				if err != nil {
					t.Error(err)
				}
				break
			}
			if slow.After <= last {
				t.Errorf("%v after %v", slow.After, last)
			}
			last, tries = slow.After, tries+1
			time.Sleep(slow.After)
		}
		if tries < 3 || tries > 6 {
			t.Errorf("%d tries in a ban of 20 minutes; want at least 3 and at most 6", tries)
		}
	})
}

func TestOpenRefusesBadAddresses(t *testing.T) {
	for _, own := range []string{``, `{}`, `{"channel":"../../users/@me"}`, `{"channel":"1","message":"x"}`, `[]`} {
		_, err := discord.New(discord.Config{Token: token}, connectortest.Deps(nil)).Open(t.Context(), chat.Address{Connector: "discord", ConnectorData: []byte(own)})
		if !errors.Is(err, chat.ErrUnreached) {
			t.Errorf("%s: %v", own, err)
		}
	}
}

func TestBudgets(t *testing.T) {
	want := map[string]progressive.Budget{
		"discord.channel": {N: 5, Per: 6 * time.Second, Reserve: 1, Pace: 1200 * time.Millisecond},
		"discord.bot":     {N: 45, Per: time.Second, Pace: time.Second / 45}, "discord.route": {},
	}
	for kind, b := range new(defaults()).Budgets() {
		if want[kind] != b {
			t.Errorf("%s: %+v", kind, b)
		}
	}
}

func TestCheck(t *testing.T) {
	withBot(t, func(w *botHarness) {
		found, err := w.bot.Check(w.Context())
		if err != nil || !strings.Contains(found.Text, "1000 of 1000 logins") || !strings.Contains(found.Text, "invite") || found.NotReceived != "" {
			t.Errorf("%q, %v", found, err)
		}
	})
	for _, o := range []discord.Config{{}, {Token: token, APIURL: "discord"}} {
		if _, err := discord.New(o, connectortest.Deps(nil)).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "connectors.discord.") {
			t.Errorf("%+v: %v", o.APIURL, err)
		}
	}
}
