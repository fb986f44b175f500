package progressive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/require"
	"parley/internal/subtest"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// many is a platform with chats that may burst, and a bot.
var many = budgets(map[progressive.Scope]progressive.Budget{
	"chat": {N: 5, Per: 4 * time.Second, Reserve: 1, Pace: time.Second}, "bot": {N: 30, Per: time.Second},
})

func refused(after time.Duration) error { return progressive.RetryAfter{After: after} }

// permitsOf is the time that each of so many permits of a chat takes, one after the other.
func permitsOf(t *testing.T, g progressive.Gate, chat progressive.Scope, n int) (waits []time.Duration) {
	t.Helper()
	for range n {
		waits = append(waits, enter(t, g, progressive.PriorityFinal, nil, chat, "bot"))
	}
	return waits
}

// ST-24: neither the pace of stream edits nor their reserve delays the last word, a first text or the answer to a command.
func TestLastWordDoesNotWaitForThePace(t *testing.T) {
	for _, p := range []progressive.Priority{progressive.PriorityFirst, progressive.PriorityReply, progressive.PriorityFinal} {
		synctest.Test(t, func(t *testing.T) {
			table := map[progressive.Scope]progressive.Budget{"chat": {N: 5, Per: 5 * time.Second, Reserve: 1, Pace: time.Second}, "bot": {N: 30, Per: time.Second}}
			g := progressive.NewGate(budgets(table))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for range 20 { // always, however long the edits have gone on
				leave := require.Value(g.Enter(ctx, progressive.Ticket{Scopes: []progressive.Scope{"private/a", "bot"}, Priority: progressive.PriorityStream, Owed: 1}))(t)
				leave(nil)
			}
			if w := enter(t, g, p, nil, "private/a", "bot"); w != 0 {
				t.Errorf("priority %d waited %v; want none", p, w)
			}
			if w := enter(t, g, progressive.PriorityStatus, nil, "private/a", "bot"); w < time.Second {
				t.Errorf("a line about an action came %v after an edit", w)
			}
		})
	}
}

// ST-24: stream edits leave as many permits as the last word needs.
func TestEditsLeaveWhatIsOwed(t *testing.T) {
	for owed := range 5 {
		synctest.Test(t, func(t *testing.T) {
			g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"chat": {N: 5, Per: time.Hour, Reserve: 1}}))
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
			defer cancel()
			edits := 0
			for ; ; edits++ {
				leave, err := g.Enter(ctx, progressive.Ticket{Scopes: []progressive.Scope{"chat"}, Priority: progressive.PriorityStatus, Owed: owed})
				if err != nil {
					break
				}
				leave(nil)
			}
			if edits != 5-owed {
				t.Errorf("%d edits of 5 leave %d", edits, owed)
			}
			for range owed {
				if w := enter(t, g, progressive.PriorityFinal, nil, "chat"); w != 0 {
					t.Errorf("a last word waited %v; want none", w)
				}
			}
		})
	}
}

// ST-24: a ticket says how many requests the last word will need: one for each message that is not up to date.
func TestTicketsTellWhatIsOwed(t *testing.T) {
	withDelivery(t, editing, func(s *delivery) {
		h := &heard{Gate: s.gate}
		s.gate, s.chat.Max = h, 64
		s.show()
		s.say(prose[:40])
		time.Sleep(10 * time.Second)
		s.say(prose[40:] + prose[:50]) // three messages in all
		time.Sleep(10 * time.Second)
		s.say(" The end.")
		time.Sleep(10 * time.Second)
		s.finish()
		var got []int
		for _, t := range h.tickets {
			if t.Priority == progressive.PriorityStream {
				got = append(got, t.Owed)
			}
		}
		parts := len(progressivetest.Split(prose+prose[:50], 64))
		if want := []int{2, 1, 1, 1}; parts != 3 || !slices.Equal(got, want) {
			t.Errorf("%d messages: owed are %v, want %v", parts, got, want)
		}
	})
}

// ST-25: which scopes learn a pace from a refusal, which one, and for how long.
func TestRefusalsTeach(t *testing.T) {
	type seconds = []int
	for name, c := range map[string]struct {
		refuse func(*testing.T, progressive.Gate)
		pause  time.Duration
		chat   progressive.Scope // whose permits are asked for
		want   seconds           // that each takes
	}{
		"nothing":         {func(*testing.T, progressive.Gate) {}, 0, "private/a", seconds{0, 0, 0, 0, 0, 4, 0}},
		"a short wait":    {says(time.Second, "private/a"), 0, "private/a", seconds{1, 1, 1, 1, 1, 1, 1}},
		"another chat":    {says(time.Second, "private/a"), 0, "private/b", seconds{0, 0, 0, 0, 0, 4, 0}},
		"two chats":       {says(time.Second, "private/a", "private/b"), 0, "private/c", seconds{0, 0, 0, 0, 0, 4, 0}},
		"three chats":     {says(time.Second, "private/a", "private/b", "private/c"), 0, "private/d", seconds{0, 1, 1, 1, 1, 1, 1}},
		"one, thrice":     {says(time.Second, "private/a", "private/a", "private/a"), 0, "private/b", seconds{0, 0, 0, 0, 0, 4, 0}},
		"of another kind": {says(time.Second, "private/a", "private/b", "private/c"), 0, "group/1", seconds{0, 0, 0, 0, 0, 4, 0}},
		"not fast enough": {says(time.Second, "private/a", "private/a"), 0, "private/a", seconds{2, 2, 2, 2, 2}},
		"too fast, often": {says(time.Second, slices.Repeat([]progressive.Scope{"private/a"}, 20)...), 0, "private/a", seconds{2, 2, 2, 2, 2}},
		"three seconds":   {says(3*time.Second, "private/a"), 0, "private/a", seconds{3, 3, 3}},
		"a long wait":     {says(30*time.Second, "private/a"), 0, "private/a", seconds{30, 0, 0, 0, 0, 8}},
		"two, and later one": {func(t *testing.T, g progressive.Gate) {
			says(time.Second, "private/a", "private/b")(t, g)
			time.Sleep(time.Minute)
			says(time.Second, "private/c")(t, g)
		}, 0, "private/d", seconds{0, 0, 0, 0, 0, 4, 0}},
		"two at once": {func(t *testing.T, g progressive.Gate) {
			enter(t, g, progressive.PriorityFirst, nil, "private/a", "bot")
			var leave [2]func(error)
			for i := range leave {
				leave[i], _ = g.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{"private/a", "bot"}, Priority: progressive.PriorityFinal})
			}
			leave[0](refused(3 * time.Second))
			leave[1](refused(time.Second))
		}, 0, "private/a", seconds{3, 3, 3}},
		"short, then long": {func(t *testing.T, g progressive.Gate) {
			says(time.Second, "private/a")(t, g)
			says(30*time.Second, "private/a")(t, g)
		}, 0, "private/a", seconds{30, 2, 2}},
		"an idle chat": {func(t *testing.T, g progressive.Gate) {
			enter(t, g, progressive.PriorityFirst, refused(3*time.Second), "private/a", "bot")
		}, 0, "private/a", seconds{3, 0, 0, 0, 1, 3}},
		"an idle chat, for long": {func(t *testing.T, g progressive.Gate) {
			enter(t, g, progressive.PriorityFirst, refused(30*time.Second), "private/a", "bot")
		}, 0, "private/a", seconds{30, 0, 0, 0, 0, 4}},
		"long, in three":    {says(4*time.Second, "private/a", "private/b", "private/c"), 0, "private/d", seconds{0, 0, 0, 0, 0, 4, 0}},
		"almost at rest":    {says(time.Second, "private/a", "private/b", "private/c"), 299 * time.Second, "private/d", seconds{0, 1, 0}},
		"at rest":           {says(time.Second, "private/a", "private/b", "private/c"), 5 * time.Minute, "private/d", seconds{0, 0, 0, 0, 0, 4, 0}},
		"at rest, the chat": {says(time.Second, "private/a"), 5 * time.Minute, "private/a", seconds{0, 0, 0, 0, 0, 4, 0}},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			g := progressive.NewGate(many)
			c.refuse(t, g)
			time.Sleep(c.pause)
			var got seconds
			for _, w := range permitsOf(t, g, c.chat, len(c.want)) {
				got = append(got, int(w.Round(100*time.Millisecond)/time.Second))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("permits of %s took %v seconds, want %v", c.chat, got, c.want)
			}
		}))
	}
}

// A window that counts twice does so no longer than it is known that it should.
func TestSlownessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"chat": {N: 1, Per: 50 * time.Second}}))
		enter(t, g, progressive.PriorityFinal, nil, "chat")
		enter(t, g, progressive.PriorityFinal, refused(4*time.Second), "chat")
		if w := enter(t, g, progressive.PriorityFinal, nil, "chat"); w != 64*time.Second {
			t.Errorf("waited %v", w)
		}
	})
}

// says has the platform answer each of the chats once, one after the other, with a wait. The refused request follows another.
func says(wait time.Duration, chats ...progressive.Scope) func(*testing.T, progressive.Gate) {
	return func(t *testing.T, g progressive.Gate) {
		for i, chat := range chats {
			if i > 0 {
				time.Sleep(5 * time.Second)
			}
			enter(t, g, progressive.PriorityFirst, nil, chat, "bot")
			enter(t, g, progressive.PriorityFinal, refused(wait), chat, "bot")
		}
	}
}

// ST-25: after five minutes the gate tries for more. One refused chat then delays no other: three teach their kind, as before.
func TestGateProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(many)
		says(time.Second, "private/a", "private/b", "private/c")(t, g)
		begun := time.Now()
		for time.Since(begun) < 6*time.Minute {
			if w := permitsOf(t, g, "private/d", 2); w[1] == 0 {
				break
			}
			time.Sleep(10 * time.Second)
		}
		if d := time.Since(begun); d < 290*time.Second || d > 320*time.Second {
			t.Fatalf("more was tried after %v", d)
		}
		for i, chat := range []progressive.Scope{"private/d", "private/f", "private/g"} {
			if w := permitsOf(t, g, progressive.Scope(fmt.Sprint("private/other", i)), 3); w[2] != 0 {
				t.Errorf("after %d refused chats the permits of others took %v", i, w)
			}
			says(time.Second, chat)(t, g)
		}
		if w := permitsOf(t, g, "private/e", 3); w[1] < time.Second || w[2] < time.Second {
			t.Errorf("then permits took %v", w)
		}
	})
}

// ST-25: a refusal that several chats see at the same moment, and that their own requests don't explain, is the bot's: it learns to make as
// many requests as it just made.
func TestRefusalsTeachTheBot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(many)
		for i := range 20 {
			enter(t, g, progressive.PriorityFirst, nil, progressive.Scope(fmt.Sprint("private/", i)), "bot")
		}
		enter(t, g, progressive.PriorityFirst, refused(time.Second), "private/x", "bot")
		enter(t, g, progressive.PriorityFirst, refused(time.Second), "private/y", "bot")
		begun, n := time.Now(), 0
		for ; time.Since(begun) < 10*time.Second; n++ {
			enter(t, g, progressive.PriorityFirst, nil, progressive.Scope(fmt.Sprint("private/", n)), "bot")
		}
		if n < 180 || n > 215 {
			t.Errorf("%d requests in ten seconds; want at least 180 and at most 215", n)
		}
		if w := permitsOf(t, g, "private/y", 2); w[1] > time.Second {
			t.Errorf("a chat took %v", w)
		}
		rate := func() (n int) {
			time.Sleep(time.Second)
			for begun := time.Now(); time.Since(begun) < 10*time.Second; n++ {
				enter(t, g, progressive.PriorityFirst, nil, progressive.Scope(fmt.Sprint("private/", n)), "bot")
			}
			return n
		}
		teach := func() {
			enter(t, g, progressive.PriorityFirst, refused(time.Second), "private/x", "bot")
			enter(t, g, progressive.PriorityFirst, refused(time.Second), "private/z", "bot")
		}
		teach() // another refusal of a busy bot
		if n := rate(); n < 120 || n > 165 {
			t.Errorf("after another refusal %d requests in ten seconds; want at least 120 and at most 165", n)
		}
		time.Sleep(time.Minute)
		teach() // it was idle
		if n := rate(); n < 120 || n > 165 {
			t.Errorf("after a refusal of an idle bot %d requests in ten seconds; want at least 120 and at most 165", n)
		}
		for range 20 {
			teach()
			rate()
		}
		if n := rate(); n < 50 { // it learns no rate from a bot that uses less than a quarter of its budget
			t.Errorf("after many refusals %d requests in ten seconds; want at least 50", n)
		}
	})
}

// A refusal at the same moment as another's is the chat's own if it has just made a request.
func TestRefusalsAtTheSameMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(many)
		chats := []progressive.Scope{"private/a", "private/b", "private/c"}
		for _, chat := range chats {
			enter(t, g, progressive.PriorityFirst, nil, chat, "bot")
		}
		for _, chat := range chats {
			enter(t, g, progressive.PriorityFinal, refused(time.Second), chat, "bot")
		}
		if w := enter(t, g, progressive.PriorityFinal, nil, "private/new", "bot"); w != 0 {
			t.Errorf("the bot is held for %v; want none", w)
		}
		if w := enter(t, g, progressive.PriorityFinal, nil, "private/new", "bot"); w != time.Second {
			t.Errorf("the next took %v; want %v", w, time.Second)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a long wait, until the same moment: the bot's
		g := progressive.NewGate(many)
		enter(t, g, progressive.PriorityFinal, refused(33*time.Second), "private/a", "bot")
		time.Sleep(5 * time.Second)
		enter(t, g, progressive.PriorityFinal, refused(33*time.Second), "private/b", "bot")
		if w := enter(t, g, progressive.PriorityFinal, nil, "private/c", "bot"); w != 0 {
			t.Errorf("another chat waited %v; want none", w)
		}
		time.Sleep(3 * time.Second)
		enter(t, g, progressive.PriorityFirst, nil, "private/d", "bot")
		enter(t, g, progressive.PriorityFinal, refused(30*time.Second), "private/d", "bot")
		if w := enter(t, g, progressive.PriorityFinal, nil, "private/e", "bot"); w != 30*time.Second {
			t.Errorf("the bot was held for %v", w)
		}
	})
}

// ST-28: the next process knows what this one has learned.
func TestLessonsOutliveTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &windows{}
		gate := func() *progressive.MemoryGate {
			o := require.Value(progressive.WithWindows(t.Context(), w, false, slog.New(slog.DiscardHandler)))(t)
			return progressive.NewGate(many, o)
		}
		g := gate()
		says(time.Second, "private/a", "private/b", "private/c")(t, g)
		require.NoError(t, g.Close())
		time.Sleep(time.Minute)
		g = gate()
		for _, chat := range []progressive.Scope{"private/a", "private/new"} {
			if w := permitsOf(t, g, chat, 2); w[1] != time.Second {
				t.Errorf("%s: permits took %v", chat, w)
			}
		}
		if err := g.Close(); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}

// ST-24: the edits of many chats that begin together are spread over the bot's time. Other requests go between them, and a permit that was not
// used delays no other.
func TestEditsOfManyChatsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{"bot": {N: 30, Per: time.Second, Pace: 50 * time.Millisecond}}))
		begun, took := time.Now(), make(chan time.Duration, 20)
		for i := range 20 {
			go func() {
				enter(t, g, progressive.PriorityStream, nil, progressive.Scope(fmt.Sprint("private/", i)), "bot")
				took <- time.Since(begun)
			}()
		}
		synctest.Wait()
		if w := enter(t, g, progressive.PriorityFinal, nil, "private/last", "bot"); w != 0 {
			t.Errorf("a last word waited %v; want none", w)
		}
		for i := range 20 {
			if d := <-took; d != time.Duration(i)*50*time.Millisecond {
				t.Errorf("edit %d came after %v", i, d)
			}
		}
		time.Sleep(time.Second)
		enter(t, g, progressive.PriorityStream, progressive.ErrUnused, "private/1", "bot")
		if w := enter(t, g, progressive.PriorityStream, nil, "private/2", "bot"); w != 0 {
			t.Errorf("after a permit that was not used an edit waited %v", w)
		}
	})
}
