package discord_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/progressive"
)

// asksOther posts a question with an answer in the user's own words, and returns its message.
func (w *botHarness) asksOther() string {
	w.Helper()
	s := w.askedSink()
	o := &answer.Choices{ID: offer.ID, Options: []string{"Tea", "Milk"}, Other: "Something else…"}
	id, err := s.Post(w.Context(), progressive.Part{Text: "A long answer.\n\nWhich " + strings.Repeat("of these many ", 20) + "drinks?", Offer: o}, "run/0")
	require.NoError(w, err)
	return id
}

// The modal for an answer in own words opens at once, also while the store stands still. Its id is all that its words need.
func TestModalOpens(t *testing.T) {
	withBot(t, func(w *botHarness) {
		message := w.asksOther()
		w.Choose = func(context.Context, chat.Choice) (chat.Accepted, error) {
			time.Sleep(5 * time.Second)
			return chat.Accepted{}, nil
		}
		w.fake.Press(message, w.ann, offer.ID+":other")
		w.settle()
		m := w.fake.Opened()
		if m.ID != offer.ID+":other" || m.Title != "Your answer" || !strings.HasPrefix(m.Labels[0].Description, "Which of these") || len([]rune(m.Labels[0].Description)) > 100 {
			t.Errorf("a modal %+v", m)
		}
	})
}

// DR-22: the words of a modal are the user's choice. A store that stands still gets them later; what is wrong with them is said in
// private, without a change of the message that asked.
func TestModalIsSubmitted(t *testing.T) {
	words := strings.Repeat("é", 4000)
	for name, c := range map[string]struct {
		id, words string
		takes     time.Duration
		refused   string
		kind      int    // of the first response
		told      string // in it
		later     string // after it
	}{
		"taken":         {offer.ID + ":other", words, 0, "", 6, "", ""},
		"slowly":        {offer.ID + ":other", words, 5 * time.Second, "", 6, "", ""},
		"refused":       {offer.ID + ":other", words, 0, "Not yours.", 4, "Not yours.", ""},
		"refused later": {offer.ID + ":other", words, 5 * time.Second, "Not yours.", 6, "", "Not yours."},
		"empty":         {offer.ID + ":other", "  ", 0, "", 4, "That didn't work. Please try again.", ""},
		"not ours":      {"something:else", words, 0, "", 4, "That didn't work. Please try again.", ""},
		"no message":    {"about:x", words, 0, "", 4, "I can't read this message here.", ""},
	} {
		t.Run(name, subtest.Plain(withBot, func(w *botHarness) {
			message := w.asksOther()
			w.Choose = func(_ context.Context, in chat.Choice) (chat.Accepted, error) {
				if in.Words != c.words || in.Question != offer.ID || in.Author != w.newest().Author || in.Name != "ann" {
					w.Errorf("handed over %+v", in)
				}
				time.Sleep(c.takes)
				return chat.Accepted{Refused: c.refused, Chosen: c.refused == ""}, nil
			}
			w.fake.SubmitModal(w.channel, message, w.ann, c.id, "text", c.words)
			time.Sleep(10 * time.Second)
			answers := w.fake.PressAnswers()
			if len(answers) != 1 || answers[0].Type != c.kind || answers[0].Content != c.told || answers[0].After > 3*time.Second {
				w.Errorf("answered %+v", answers)
			}
			private := w.fake.Private(w.channel)
			if c.later == "" && len(private) > 0 || c.later != "" && (len(private) != 1 || private[0].Content != c.later) {
				w.Errorf("ann alone reads %+v; want %q", private, c.later)
			}
			if got := w.contents(); len(got) != 2 || !strings.HasPrefix(got[1], "A long answer.") {
				w.Errorf("all read %q", got)
			}
		}))
	}
}

// DR-21: a modal that is submitted while the process dies comes again, and counts once: its author is answered by one of them.
func TestModalAfterAKill(t *testing.T) {
	withBot(t, func(w *botHarness) {
		message := w.asksOther()
		w.Choose = func(context.Context, chat.Choice) (chat.Accepted, error) { return chat.Accepted{}, errStore }
		w.fake.SubmitModal(w.channel, message, w.ann, offer.ID+":other", "text", "Rooibos")
		time.Sleep(2 * time.Second)
		w.kill()
		var got []string
		w.Choose = func(_ context.Context, in chat.Choice) (chat.Accepted, error) {
			got = append(got, in.Words)
			return chat.Accepted{Chosen: true}, nil
		}
		w.start()
		time.Sleep(time.Minute)
		if len(got) != 1 || got[0] != "Rooibos" || len(w.fake.PressAnswers()) != 1 {
			t.Errorf("taken %q, answered %+v", got, w.fake.PressAnswers())
		}
	})
}

// A question about a message quotes it, also if the bot has not heard it, and after a restart.
func TestAskAbout(t *testing.T) {
	withBot(t, func(w *botHarness) {
		id := w.say("The kettle boils at noon.")
		w.start()
		w.fake.Menu(id, w.ann, "Ask about this")
		w.settle()
		for _, again := range []func(){func() {}, func() { w.kill(); w.restartAndWait() }} {
			again()
			w.fake.SubmitModal(w.channel, "", w.ann, w.fake.Opened().ID, "text", "When?")
			w.settle()
			if m := w.newest(); m.Text != "When?" || m.Quoted.Text != "The kettle boils at noon." {
				t.Errorf("it hears %+v; want the question with the quotation", m)
			}
		}
	})
}

// What Discord invents later is answered with a sentence, or not at all, and nothing else is lost by it.
func TestUnknownInteractions(t *testing.T) {
	withBot(t, func(w *botHarness) {
		message := w.asksOther()
		w.fake.Interact(99, w.channel, w.ann, map[string]any{"type": "?"})
		w.fake.Component(message, w.ann, map[string]any{"custom_id": offer.ID, "component_type": 88, "values": []any{1, "x"}})
		w.fake.Component(message, w.ann, map[string]any{"custom_id": 7, "component_type": "?"})
		w.settle()
		for _, a := range w.fake.PressAnswers() {
			if a.Type != 4 || !a.Ephemeral || a.Content != "That didn't work. Please try again." {
				t.Errorf("answered %+v", a)
			}
		}
		if n := len(w.fake.PressAnswers()); n != 2 {
			t.Errorf("%d are answered; want 2", n)
		}
		w.say("and on it goes")
		w.settle()
		if texts := w.texts(); texts[len(texts)-1] != "and on it goes" {
			t.Errorf("heard %q", texts)
		}
	})
}
