package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/internal/subtest"
)

// IN-07: thirty messages while a run is busy. Ten are answered in their order, one notice says that there was more, and
// every one stands in the next prompt.
func TestTooManyWait(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.model.queue([]step{pause(time.Minute), write("The first answer.")})
		busy := n.sendMention("Message 0")
		time.Sleep(time.Second)
		var waiting []chat.Accepted
		for i := range 30 {
			waiting = append(waiting, n.sendMention(fmt.Sprintf("Message %d", i+1)))
		}
		w.wantAnswer(busy, answer.Completed, "The first answer.")
		for i, acc := range waiting {
			switch {
			case i < 10:
				w.wantAnswer(acc, answer.Completed, fmt.Sprintf("You said: ada: Message %d", i+1))
			case i == 10:
				if o, said := w.waitAnswer(acc); o.Status != answer.Completed || !strings.HasPrefix(said, "I can't answer each message separately") {
					w.Errorf("the notice is %+v, %q", o, said)
				}
			case acc.Run != "":
				w.Errorf("message %d has a run", i+1)
			}
		}
		w.wantModelCalls(11)
		last := n.sendMention("And the rest?")
		w.waitAnswer(last)
		calls := w.model.requests()
		texts := calls[len(calls)-1].texts()
		if i := slices.Index(texts, "ada: Message 30"); i < 0 || !slices.Contains(texts, "ada: Message 12") {
			w.Errorf("the next prompt lacks what was not answered: %q", texts)
		}
	})
}

// Each burst has its notice, and where later turns win nothing is refused.
func TestTooManyWaitAgain(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		for range 2 {
			w.model.queue([]step{pause(time.Minute), write("Done.")})
			n.sendMention("Begin")
			time.Sleep(time.Second)
			var last chat.Accepted
			for range 15 {
				if acc := n.sendMention("More"); acc.Run != "" {
					last = acc
				}
			}
			w.waitAnswer(last)
		}
		notices := 0
		for _, text := range w.chat.visible() {
			if strings.HasPrefix(text, "I can't answer each message separately") {
				notices++
			}
		}
		if notices != 2 {
			w.Errorf("%d notices; want 2", notices)
		}
		w.model.queue([]step{pause(time.Minute)})
		n.sendText("Begin")
		var last chat.Accepted
		for i := range 20 {
			last = n.sendText(fmt.Sprint(i))
		}
		w.wantAnswer(last, answer.Completed, "You said: 19")
	})
}

// IN-13: what comes within the window is one run, in order, on every policy; who goes on writing is answered too.
func TestWindow(t *testing.T) {
	for _, policy := range []schedule.Policy{schedule.Supersede, schedule.Queue, schedule.Collect} {
		t.Run(string(policy), subtest.Of(withHarness, func(w *harness) {
			w.cfg.Turns.Direct, w.cfg.Turns.Window = policy, 2*time.Second
			n := w.start()
			begun := time.Now()
			first := n.sendText("A long text,")
			time.Sleep(1900 * time.Millisecond)
			second := n.sendText("in two parts.")
			if second.Run != first.Run {
				w.Errorf("runs %s and %s", first.Run, second.Run)
			}
			w.wantAnswer(first, answer.Completed, "You said: in two parts.")
			calls := w.model.requests()
			if len(calls) != 1 || !slices.Equal(calls[0].texts(), []string{"A long text,", "in two parts."}) {
				w.Fatalf("the model was asked %d times", len(calls))
			}
			if d := calls[0].From.Sub(begun); d != 3900*time.Millisecond {
				w.Errorf("the model was asked after %v", d)
			}
			begun = time.Now()
			for range 15 {
				n.sendText("and more")
				time.Sleep(900 * time.Millisecond) // never in the instant in which the window ends
			}
			if d := w.model.requests()[1].From.Sub(begun); d != 10*time.Second {
				w.Errorf("who goes on writing is answered after %v", d)
			}
			w.waitAnswer(n.sendText("The end."))
		}))
	}
}

// The window is for private rooms alone.
func TestNoWindowInGroups(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Turns.Window = time.Minute
		n := w.start()
		begun := time.Now()
		w.waitAnswer(n.sendMention("Hello"))
		if d := w.model.requests()[0].From.Sub(begun); d != 0 {
			w.Errorf("a group waits %v; want none", d)
		}
	})
}
