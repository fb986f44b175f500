package core_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
)

// worker is a plugin that notes the beginning and the end of its work, and the events that it observes.
type worker struct {
	mu     sync.Mutex
	notes  []string
	events int
}

func (w *worker) note(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, text)
}

// Observe implements event.Observer.
func (w *worker) Observe(e event.Event) {
	if _, ok := e.(event.RunStarted); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events++
	}
}

// taken returns the notes so far, and forgets them.
func (w *worker) taken() string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.notes = nil }()
	return strings.Join(w.notes, " ")
}

// plugin returns a plugin of a name. Its work serves live actions, or not.
func (w *worker) plugin(name string, live bool) action.Plugin {
	p := action.Plugin{Name: name, Work: func(ctx context.Context) {
		w.note("+" + name)
		<-ctx.Done()
		w.note("-" + name)
	}}
	if live {
		p.Live = func() []action.Action { return nil }
	}
	return p
}

// A run keeps the configuration that it began with, and with it the work that serves its live actions: that ends after the last run
// that can use it, also over several reloads. Other work of a removed plugin ends at once, and unchanged work continues.
func TestReload(t *testing.T) {
	withHarness(t, func(w *harness) {
		work := &worker{}
		observed := action.Plugin{Name: "observer", Observers: []event.Observer{work}}
		w.cfg.Plugins = []action.Plugin{work.plugin("same", false), work.plugin("timer", false), work.plugin("server", true), observed}
		for _, said := range []string{"One", "Two", "Three"} {
			w.model.queue([]step{pause(10 * time.Second), write("You said: " + said)})
		}
		w.model.where = func(req llm.Request) chat.RoomID {
			if req.Messages[len(req.Messages)-1].Text == "Two" {
				return "fake/other"
			}
			return room
		}
		n := w.start()
		if got := work.taken(); len(strings.Fields(got)) != 3 {
			t.Fatalf("the work is %q", got)
		}
		retired := 0
		reload := func(system string, same []string, plugins ...action.Plugin) {
			w.Helper()
			cfg := w.cfg
			cfg.Owner, cfg.Agent.System, cfg.Plugins = "node 1", system, plugins
			w.Must(n.Reload(cfg, func(name string) bool { return slices.Contains(same, name) }, func() { retired++ }))
		}
		first := n.sendText("One")
		time.Sleep(time.Second)
		reload("Second.", []string{"same"}, w.cfg.Plugins[0], work.plugin("server", true))
		if got := work.taken(); !slices.Equal(sorted(got), []string{"+server", "-timer"}) || retired != 0 {
			t.Errorf("after the first reload: %q, %d retired", got, retired)
		}
		second := n.send(w.message("fake/other", "ada", "Two"))
		time.Sleep(time.Second)
		reload("Third.", []string{"same"}, w.cfg.Plugins[0])
		if got := work.taken(); got != "" || retired != 0 {
			t.Errorf("after the second: %q, %d retired", got, retired)
		}
		w.wantAnswer(first, answer.Completed, "You said: One")
		if got := work.taken(); got != "-server" || retired != 1 {
			t.Errorf("after the first answer: %q, %d retired", got, retired)
		}
		w.wantAnswer(second, answer.Completed, "You said: Two")
		if got := work.taken(); got != "-server" || retired != 2 {
			t.Errorf("after the second answer: %q, %d retired", got, retired)
		}
		w.wantAnswer(n.sendText("Three"), answer.Completed, "You said: Three")
		for i, want := range []string{"Be brief.", "Second.", "Third."} {
			if got := w.model.requests()[i].System; !strings.HasPrefix(got, want) {
				t.Errorf("request %d has %q; want %q", i, got, want)
			}
		}
		if work.events != 1 {
			t.Errorf("a removed observer saw %d runs", work.events)
		}
		n.shutdown()
		if got := work.taken(); got != "-same" {
			t.Errorf("at the end: %q", got)
		}
	})
}

func sorted(text string) []string { return slices.Sorted(slices.Values(strings.Fields(text))) }

// A reload with an error changes nothing.
func TestReloadFails(t *testing.T) {
	withHarness(t, func(w *harness) {
		work := &worker{}
		w.cfg.Plugins = []action.Plugin{work.plugin("timer", false)}
		n := w.start()
		work.taken()
		cfg := w.cfg
		cfg.Agent.System, cfg.Plugins = "Other.", []action.Plugin{{Name: "wrong", Templates: map[string]string{"messageHandler": "{{unknown}}"}}}
		if err := n.Reload(cfg, func(string) bool { return false }, func() { t.Error("retired") }); err == nil {
			t.Error("it is accepted")
		}
		w.wantAnswer(n.sendText("One"), answer.Completed, "You said: One")
		if got := w.model.requests()[0].System; !strings.HasPrefix(got, "Be brief.") || work.taken() != "" {
			t.Errorf("the system prompt is %q, the work %q", got, work.taken())
		}
	})
}
