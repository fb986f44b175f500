package discord_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/progressive"
)

var offer = &answer.Choices{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Options: []string{"1", "2", "3", "4", "5", "6"}}

// Buttons come with a message and go with the next edit.
func TestButtons(t *testing.T) {
	withBot(t, func(w *botHarness) {
		s := w.askedSink()
		id := require.Value(s.Post(w.Context(), progressive.Part{Text: "Which?", Offer: offer}, "run/0"))(t)
		if got := w.fake.Messages(w.channel)[1].Buttons(); len(got) != 6 || got[5] != (discordfake.Button{Label: "6", ID: offer.ID, Value: "5"}) {
			t.Errorf("a menu of %+v", got)
		}
		few := &answer.Choices{ID: offer.ID, Options: offer.Options[:5], Other: "Something else…", Details: true}
		require.NoError(t, s.(progressive.Editor).Edit(w.Context(), id, progressive.Part{Text: "Which?", Offer: few}))
		if got := w.fake.Messages(w.channel)[1].Buttons(); len(got) != 7 || got[4] != (discordfake.Button{Label: "5", ID: offer.ID + ":4"}) || got[5].ID != offer.ID+":other" || got[6].ID != offer.ID+":show" {
			t.Errorf("buttons %+v", got)
		}
		require.NoError(t, w.edit(s, id, "Which? 6."))
		if got := w.fake.Messages(w.channel)[1].Buttons(); len(got) != 0 {
			t.Errorf("buttons %+v; want none", got)
		}
		require.NoError(t, s.(progressive.Editor).Edit(w.Context(), id, progressive.Part{Text: "Which? 6.", Offer: offer}))
		if got := w.fake.Messages(w.channel)[1].Buttons(); len(got) != 6 {
			t.Errorf("buttons %+v; want 6", got)
		}
	})
}

// SE-07, DR-22: a press is handed over as whose it is, whatever its channel waits for, and answered within three seconds.
func TestPresses(t *testing.T) {
	for name, c := range map[string]struct {
		id   string
		pick []string // of a menu
		take func(context.Context) (chat.Accepted, error)
		want string
		also time.Duration
	}{
		"taken":     {offer.ID + ":1", nil, nil, "", 0},
		"of a menu": {offer.ID, []string{"1"}, nil, "", 0},
		"refused":   {offer.ID + ":1", nil, func(context.Context) (chat.Accepted, error) { return chat.Accepted{Refused: "Not yours."}, nil }, "Not yours.", 0},
		"not safe":  {offer.ID + ":1", nil, func(context.Context) (chat.Accepted, error) { return chat.Accepted{}, context.DeadlineExceeded }, "That didn't work. Please try again.", 0},
		"not ours":  {"something else", nil, nil, "That didn't work. Please try again.", 0},
		"too slow": {offer.ID + ":1", nil, func(ctx context.Context) (chat.Accepted, error) {
			<-ctx.Done()
			return chat.Accepted{}, context.Cause(ctx)
		}, "That didn't work. Please try again.", 2 * time.Second},
	} {
		t.Run(name, subtest.Plain(withBot, func(w *botHarness) {
			s := w.askedSink()
			require.Value(s.Post(w.Context(), progressive.Part{Text: "Which?", Offer: offer}, "run/0"))(w)
			var got []chat.Choice
			w.Choose = func(ctx context.Context, in chat.Choice) (chat.Accepted, error) {
				got = append(got, in)
				if c.take == nil {
					return chat.Accepted{}, nil
				}
				return c.take(ctx)
			}
			all := w.fake.Messages(w.channel)
			w.fake.Press(all[len(all)-1].ID, w.ann, c.id, c.pick...)
			time.Sleep(5 * time.Second)
			answers := w.fake.PressAnswers()
			if len(answers) != 1 || answers[0].Content != c.want || answers[0].Ephemeral != (c.want != "") || answers[0].After != c.also {
				w.Errorf("answered %+v", answers)
			}
			if c.id != "something else" && (len(got) != 1 || got[0].Option != 1 || got[0].Question != offer.ID ||
				got[0].Room != w.newest().Room || got[0].Author != w.newest().Author) {
				w.Errorf("handed over %+v", got)
			}
			if strings.Contains(w.log.String(), "secret") {
				w.Error("the log holds the interaction's token; want it left out")
			}
		}))
	}
}

// DR-22: what was answered too late, or by another process, is no trouble.
func TestPressesAnsweredElsewhere(t *testing.T) {
	for code, status := range map[int]int{10062: 404, 40060: 400} {
		withBot(t, func(w *botHarness) {
			s := w.askedSink()
			require.Value(s.Post(w.Context(), progressive.Part{Text: "Which?", Offer: offer}, "run/0"))(t)
			var taken atomic.Int32
			w.Choose = func(context.Context, chat.Choice) (chat.Accepted, error) { taken.Add(1); return chat.Accepted{}, nil }
			w.fake.Fault(discordfake.Match{Route: discordfake.AnswerPress}, discordfake.ErrorCode(status, code, "no"))
			all := w.fake.Messages(w.channel)
			w.fake.Press(all[len(all)-1].ID, w.ann, offer.ID+":0")
			time.Sleep(time.Second)
			if n := taken.Load(); n != 1 {
				t.Errorf("the choice was taken %d times; want 1", n)
			}
			w.say("and on it goes")
			w.settle()
		})
	}
}
