package essentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/backends/inmem"
	"parley/backends/sqlite"
	"parley/backends/sqlite/sqlitetest"
	"parley/core"
	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/internal/require"
	"parley/internal/schema"
)

// harness is a runtime with this plugin, a group, a direct chat with Ada, who is the owner, and one with Bob, who is
// approved.
type harness struct {
	*testing.T
	store *sqlite.Store
	model *model
	paint *illustrator
	rt    *core.Runtime
	said  int
}

var (
	tea    = chat.Room{ID: "fake/tea", Kind: chat.Group, Connector: "fake", Name: "tea", World: "fake/house"}
	garden = chat.Room{ID: "fake/garden", Kind: chat.Group, Connector: "fake", Name: "garden", World: "fake/house"}
	ada    = chat.Room{ID: "fake/ada", Kind: chat.Direct, Connector: "fake"}
	bob    = chat.Room{ID: "fake/bob", Kind: chat.Direct, Connector: "fake"}
)

func withHarness(t *testing.T, play func(w *harness)) {
	t.Helper()
	withHarnessAnd(t, Deps{}, play)
}

// withHarnessAnd is inWorld with a plugin that d sets up.
func withHarnessAnd(t *testing.T, d Deps, play func(w *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store, err := sqlite.Open(t.Context(), sqlitetest.Path(t), sqlitetest.Audited(t))
		require.NoError(t, err)
		defer store.Close()
		d.Store = store
		w := &harness{T: t, store: store, model: &model{}, paint: &illustrator{}}
		w.rt, err = core.New(core.Config{
			Agent: chat.Agent{ID: "agent", Name: "Agent"}, Owner: "test", Store: store, Tracker: inmem.NewTracker(), Bus: inmem.NewBus(),
			Models: llm.Models{Large: w.model, ImageGenerator: w.paint}, Plugins: []action.Plugin{New(d)}, Schema: schema.Compile,
			Open:   func(context.Context, chat.Run) (core.Surface, error) { return nil, nil },
			Turns:  schedule.TurnPolicy{Direct: schedule.Queue, Group: schedule.Queue, Limit: time.Hour, First: time.Minute, Idle: time.Minute},
			Access: access.Policy{Owners: map[chat.EntityID]bool{"ada": true}, Allowed: access.Members{Accounts: map[chat.EntityID]bool{"bob": true}}, Guests: access.RoomSet{Worlds: map[chat.WorldID]bool{"fake/house": true}}},
			Log:    slog.New(slog.DiscardHandler),
		})
		w.must(err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.rt.Run(ctx) }()
		play(w)
		stop()
		w.must(<-ended)
	})
}

func (w *harness) must(err error) {
	w.Helper()
	require.NoError(w, err)
}

// send delivers a message with text, addressed to the agent.
func (w *harness) send(in chat.Room, author chat.EntityID, text string) chat.Accepted {
	w.Helper()
	w.said++
	id := chat.MemoryID(fmt.Sprintf("%s/%d", in.ID, w.said))
	acc, err := w.rt.ProcessMessage(w.Context(), chat.Message{
		Memory: chat.Memory{ID: id, Room: in.ID, Author: author, Name: string(author), Text: text, At: time.Now()},
		Place:  in, Address: chat.Address{Connector: "fake", Room: in.ID, ReplyTo: id}, Addressed: true,
	})
	w.must(err)
	time.Sleep(time.Minute)
	synctest.Wait() // for the race detector: what the model noted was noted before
	return acc
}

// runAction has the model call an action in reply to a message, and returns the run's status, the call's result for the
// model and the final text. The model then says "Done."
func (w *harness) runAction(in chat.Room, author chat.EntityID, action, params string) (status answer.Status, told, said string) {
	w.Helper()
	w.model.calls = []llm.CallDelta{{ID: "c", Name: action, Parameters: params}}
	w.model.told = ""
	acc := w.send(in, author, "please "+action)
	run, err := w.rt.Watch(w.Context(), acc.Run)
	if errors.Is(err, chat.ErrNotFound) || acc.Run == "" {
		return "", "", ""
	}
	w.must(err)
	for err == nil {
		err = run.Wait(w.Context(), run.View().At)
	}
	return run.View().Outcome.Status, w.model.told, run.View().Text()
}

// wantResult fails unless a call goes so: with a part of what the model is told.
func (w *harness) wantResult(in chat.Room, author chat.EntityID, action, params, told string) {
	w.Helper()
	if _, got, _ := w.runAction(in, author, action, params); !strings.Contains(got, told) {
		w.Errorf("%s %s by %s in %s: the model was told %q, want %q", action, params, author, in.ID, got, told)
	}
}

// texts are what was said in a room.
func (w *harness) texts(in chat.Room) (all []string) {
	w.Helper()
	ms := require.Value(w.store.Recent(w.Context(), in.ID, chat.Said, 0, 100))(w)
	for _, m := range ms {
		all = append(all, string(m.Author)+": "+m.Text)
	}
	return all
}

// tools returns the names of the tools that the model is offered in reply to a message.
func (w *harness) tools(in chat.Room, author chat.EntityID) (names []string) {
	w.Helper()
	w.send(in, author, "hello")
	for _, s := range w.model.last.Tools {
		names = append(names, s.Name)
	}
	return names
}

// model makes its calls, once, and says "Done." after that.
type model struct {
	calls []llm.CallDelta
	asked int
	last  llm.Request
	told  string

	answers []string // to short questions, which come without a conversation and without tools
	short   string   // the last of them
}

// illustrator is an image model that notes what it is asked for.
type illustrator struct {
	llm.ImageGenerator
	asked []string
	err   error
}

func (p *illustrator) GenerateImage(_ context.Context, prompt string) (llm.File, error) {
	p.asked = append(p.asked, prompt)
	return llm.File{Name: "a.png", Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}, p.err
}

// Generate implements [llm.Model].
func (m *model) Generate(_ context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if len(req.Tools) == 0 && len(req.Messages) == 1 && len(m.answers) > 0 {
			m.short = req.Messages[0].Text
			text := m.answers[0]
			m.answers = m.answers[1:]
			yield(llm.Chunk{Text: text}, nil)
			return
		}
		m.asked++
		m.last = req
		if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleTool {
			m.told = last.Text
		}
		if len(m.calls) > 0 {
			c := m.calls[0]
			m.calls = m.calls[1:]
			yield(llm.Chunk{Call: &c}, nil)
			return
		}
		yield(llm.Chunk{Text: "Done."}, nil)
	}
}

// TestSpecs holds all actions against what models and people need of them.
func TestSpecs(t *testing.T) {
	for _, a := range New(Deps{}).Actions {
		s := a.Spec()
		if strings.ToUpper(s.Name) != s.Name || s.Description == "" || !strings.HasSuffix(s.Description, ".") {
			t.Errorf("%s: %q", s.Name, s.Description)
		}
		var p struct {
			Properties map[string]struct{ Type, Description string }
		}
		if s.Parameters == nil {
			continue
		}
		if _, err := schema.Compile(s.Parameters); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if err := json.Unmarshal(s.Parameters, &p); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		for name, property := range p.Properties {
			if property.Description == "" {
				t.Errorf("%s.%s is not described", s.Name, name)
			}
		}
	}
}
