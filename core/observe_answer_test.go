package core_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
)

// reader hears how answers grow, in words, at its own pace.
type reader struct {
	pause  time.Duration
	breaks bool

	mu    sync.Mutex
	heard []string
	text  map[int]string // by step, out of the chunks
}

func (r *reader) Observe(event.Event) {}

func (r *reader) ObserveAnswer(e event.AnswerEvent) {
	time.Sleep(r.pause)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.text == nil {
		r.text = map[int]string{}
	}
	switch e := e.(type) {
	case event.MessageAdded:
		r.heard = append(r.heard, fmt.Sprint("added ", e.Step))
	case event.ContentUpdated:
		if r.text[e.Step] += e.Chunk; r.text[e.Step] != e.Accumulated {
			r.heard = append(r.heard, fmt.Sprintf("WRONG %q is not %q", e.Accumulated, r.text[e.Step]))
		}
		r.heard = append(r.heard, "text "+e.Chunk)
	case event.ToolUpdated:
		r.heard = append(r.heard, strings.TrimSpace(fmt.Sprintf("%s %s %s %s+%s %s", e.ID, e.Name, e.Stage, e.Parameters, e.ParametersChunk, strings.Join(e.Images, " "))))
	case event.MessagesChanged:
		r.heard = append(r.heard, "changed "+e.View.Text()+" "+string(e.View.Outcome.Status))
	}
	if r.breaks {
		panic("it breaks")
	}
}

func (r *reader) all() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heard
}

func (w *harness) answerWithObservers(os ...event.Observer) chat.Accepted {
	w.watchOnly()
	w.cfg.Observers = append(w.cfg.Observers, os...)
	w.addActions(&fakeAction{name: "PLAY", do: func(_ context.Context, c *action.Call) (action.Result, error) {
		time.Sleep(time.Second) // what comes at one moment may be told at once
		c.Update("loading", llm.File{Data: []byte("GIF89a")}, llm.File{Data: []byte("no picture")})
		time.Sleep(time.Second)
		return action.Result{Text: "it plays", Files: []llm.File{{Data: []byte("GIF87a")}}}, nil
	}})
	w.model.queue([]step{write("I "), pause(time.Second), write("play."), call(0, "c", "PLAY", `{"a":`), pause(time.Second), call(0, "", "", `1}`), pause(time.Second)},
		[]step{pause(time.Second), write("Enjoy.")})
	n := w.start()
	acc := n.sendText("play")
	w.wantAnswer(acc, answer.Completed, "I play.\n\nloading\n\nEnjoy.")
	return acc
}

func TestAnswerIsObserved(t *testing.T) {
	withHarness(t, func(w *harness) {
		quick := &reader{}
		w.answerWithObservers(quick)
		want := []string{
			"added 0", "text I ", "text play.", "c PLAY start +", `c PLAY streaming {"a":+{"a":`, `c PLAY streaming {"a":1}+1}`,
			`c PLAY running {"a":1}+`, `c PLAY running {"a":1}+ data:image/gif;base64,R0lGODlh`,
			`c PLAY end {"a":1}+ data:image/gif;base64,R0lGODlh data:image/gif;base64,R0lGODdh`, "added 1", "text Enjoy.",
		}
		var parts, changes []string
		for _, h := range quick.all() {
			if whole, ok := strings.CutPrefix(h, "changed "); ok {
				changes = append(changes, whole)
			} else {
				parts = append(parts, h)
			}
		}
		if diff := cmp.Diff(want, parts); diff != "" {
			w.Error(diff)
		}
		for _, whole := range []string{"I  ", "I play. ", "I play.\n\nloading "} { // several changes at one moment may be told at once
			if !slices.Contains(changes, whole) {
				w.Errorf("%q is not among %q", whole, changes)
			}
		}
		if last := changes[len(changes)-1]; last != "I play.\n\nloading\n\nEnjoy. completed" {
			w.Errorf(`at last it heard %q; want "I play.\n\nloading\n\nEnjoy. completed"`, last)
		}
	})
}

// A process that stops waits for observers that hang, and not for others.
func TestStopDoesNotWaitForQuickObservers(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Observers = append(w.cfg.Observers, &reader{})
		n := w.start()
		n.sendText("A")
		time.Sleep(time.Minute)
		begun := time.Now()
		n.shutdown()
		if took := time.Since(begun); took > 0 || strings.Contains(w.Logged.String(), "does not return") {
			w.Errorf("it took %v:\n%s", took, w.Logged)
		}
	})
}

// vandal changes all that it is told.
type vandal struct{}

func (vandal) Observe(event.Event) {}

func (vandal) ObserveAnswer(e event.AnswerEvent) {
	c, ok := e.(event.MessagesChanged)
	if !ok {
		return
	}
	for _, list := range [][]string{c.View.History, c.View.Important} {
		for i := range list {
			list[i] = "broken"
		}
	}
	for _, s := range c.View.Segments {
		for i := range s.Files {
			s.Files[i] = llm.File{}
		}
	}
	if c.View.Choices != nil {
		c.View.Choices.Options[0] = "broken"
	}
	if o := c.View.Outcome.Offer; o != nil {
		o.Options[0] = "broken"
	}
}

// What an observer does with what it is told changes nothing about the answer.
func TestObserversChangeNothing(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		w.cfg.Observers = append(w.cfg.Observers, vandal{})
		w.addActions(&fakeAction{name: "DO", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
			action.NewProgress(c).Important("mind")
			c.Update("here", llm.File{Type: "text/plain", Name: "a.txt", Data: []byte("a")})
			if err := c.Ask(ctx, chat.Question{Options: []string{"Yes", "No"}, Handler: action.AsMessage}); err != nil {
				return action.Result{}, err
			}
			time.Sleep(time.Second)
			return action.Result{Text: "ok"}, nil
		}})
		w.model.queue([]step{call(0, "a", "DO", "{}")}, []step{pause(time.Second), write("Well?")})
		n := w.start()
		_, v, err := n.readAnswer(n.sendText("do it").Run)
		w.Must(err)
		offer := v.Outcome.Offer
		if !slices.Equal(v.History, []string{"mind", "here"}) || !slices.Equal(v.Important, []string{"mind"}) || len(v.Files()) != 1 || v.Files()[0].Name != "a.txt" || offer == nil || offer.Options[0] != "Yes" {
			w.Errorf("after that the answer is %+v, with %v", v, offer)
		}
	})
}

// A slow observer and one that breaks hold up nothing, and miss no text.
func TestSlowAndBrokenObservers(t *testing.T) {
	withHarness(t, func(w *harness) {
		slow, broken := &reader{pause: time.Minute}, &reader{breaks: true}
		begun := time.Now()
		w.answerWithObservers(slow, broken)
		if took := time.Since(begun); took > 10*time.Second {
			w.Errorf("the answer took %v", took)
		}
		time.Sleep(time.Hour)
		for _, r := range []*reader{slow, broken} {
			heard := strings.Join(r.all(), "\n")
			if r.text[0] != "I play." || r.text[1] != "Enjoy." || strings.Contains(heard, "WRONG") || !strings.Contains(heard, "c PLAY end") {
				w.Errorf("it heard\n%s", heard)
			}
		}
		if n := strings.Count(w.Logged.String(), "an observer panicked"); n < 8 {
			w.Errorf("%d panics are logged; want at least 8", n)
		}
	})
}

// What a call adds to what it says is told at once: no user hears of it as text of a round.
func TestAddedToACallIsObserved(t *testing.T) {
	withHarness(t, func(w *harness) {
		r := &reader{}
		w.watchOnly()
		w.cfg.Observers = append(w.cfg.Observers, r)
		w.addActions(&fakeAction{name: "DO", do: func(_ context.Context, c *action.Call) (action.Result, error) {
			c.Update("loading")
			time.Sleep(time.Second)
			c.Append(" more")
			time.Sleep(time.Second)
			return action.Result{Text: "ok"}, nil
		}})
		w.model.queue([]step{call(0, "a", "DO", "{}")}, []step{pause(time.Second), write("Well.")})
		n := w.start()
		w.wantAnswer(n.sendText("do it"), answer.Completed, "loading more\n\nWell.")
		whole := 0
		for _, h := range r.all() {
			if h == "changed loading more " {
				whole++
			}
		}
		if whole < 2 { // when it was added, and when the call ended
			w.Errorf("it heard %q", r.all())
		}
	})
}

// hanging takes an hour for each event.
type hanging struct {
	mu    sync.Mutex
	begun int // answers
}

func (h *hanging) Observe(event.Event) {}

func (h *hanging) ObserveAnswer(e event.AnswerEvent) {
	if _, ok := e.(event.MessageAdded); ok {
		h.mu.Lock()
		h.begun++
		h.mu.Unlock()
	}
	time.Sleep(time.Hour)
}

// An observer that hangs is behind with so many answers and no more: the others it misses, and that is counted.
func TestObserverHangs(t *testing.T) {
	withHarness(t, func(w *harness) {
		h := &hanging{}
		w.cfg.Observers = append(w.cfg.Observers, h)
		n := w.start()
		for range 70 {
			w.wantAnswer(n.sendText("hello"), answer.Completed, "You said: hello")
		}
		if missed := n.MissedEvents(); missed != 6 {
			w.Errorf("it misses %d answers; want 6", missed)
		}
		time.Sleep(24 * time.Hour)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.begun != 64 {
			w.Errorf("it heard of %d answers; want 64", h.begun)
		}
	})
}
