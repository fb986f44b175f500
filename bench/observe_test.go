package bench

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/backends/inmem"
	"parley/backends/sqlite"
	"parley/connectors/web"
	"parley/core"
	"parley/core/access"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/core/storage"
	"parley/internal/require"
)

// scribe writes text, and then asks for a file to be written with as much in its parameters.
type scribe struct{ deltas int }

func (s scribe) Generate(_ context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if req.Messages[len(req.Messages)-1].Role == llm.RoleTool {
			yield(llm.Chunk{Text: "Done."}, nil)
			return
		}
		for i := range s.deltas / 2 {
			yield(llm.Chunk{Text: delta(i).Text}, nil)
		}
		yield(llm.Chunk{Call: &llm.CallDelta{ID: "c", Name: "WRITE_FILE", Parameters: `{"path":"a.txt","content":"`}}, nil)
		for i := range s.deltas / 2 {
			quoted, _ := json.Marshal(delta(i).Text)
			yield(llm.Chunk{Call: &llm.CallDelta{Parameters: string(quoted[1 : len(quoted)-1])}}, nil)
		}
		yield(llm.Chunk{Call: &llm.CallDelta{Parameters: `"}`}}, nil)
	}
}

// shelf is WRITE_FILE.
type shelf struct{}

func (shelf) Spec() action.Spec {
	return action.Spec{Name: "WRITE_FILE", Effect: action.Reads}
}

func (shelf) Act(context.Context, *action.Call) (action.Result, error) {
	return action.Result{Text: "ok"}, nil
}

// listener counts what it is told of an answer.
type listener struct {
	chunks, parameters, bytes int
	ended                     chan struct{}
}

func (*listener) Observe(event.Event) {}

func (l *listener) ObserveAnswer(e event.AnswerEvent) {
	switch e := e.(type) {
	case event.ContentUpdated:
		l.chunks++
		l.bytes += len(e.Chunk)
	case event.ToolUpdated:
		l.parameters++
		l.bytes += len(e.ParametersChunk)
	case event.MessagesChanged:
		if e.View.Outcome.Done() {
			close(l.ended)
		}
	}
}

// ST-22: what observers hear, and what is read of parameters while they come, costs the same for each delta however long
// an answer is.
func TestObserversCostLinearly(t *testing.T) {
	const short, long = 5_000, 50_000
	a, b := observed(t, short), observed(t, long)
	grows(t, "allocations", short, long, float64(a.allocs), float64(b.allocs))
	grows(t, "allocated bytes", short, long, float64(a.memory), float64(b.memory))
}

// observed measures an answer of the given number of deltas whose only reader is an observer.
func observed(t *testing.T, deltas int) (c cost) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "observed.db"), sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	l := &listener{ended: make(chan struct{})}
	rt := agent(t, store, func(c *core.Config) {
		c.Models.Large = scribe{deltas}
		c.Plugins = []action.Plugin{{Name: "bench", Actions: []action.Action{shelf{}}}}
		c.Observers = []event.Observer{l}
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = rt.ProcessMessage(t.Context(), chat.Message{
		Memory: chat.Memory{ID: "m", Room: "r", Author: "a", Text: "Write", At: time.Now()},
		Place:  chat.Room{ID: "r", Kind: chat.API, Connector: web.Name}, Address: chat.Address{Connector: web.Name, Room: "r"},
	})
	require.NoError(t, err)
	<-l.ended
	runtime.ReadMemStats(&after)
	if least := len(strings.Repeat(delta(0).Text, deltas)) / 2; l.bytes < least {
		t.Fatalf("it heard %d bytes of at least %d", l.bytes, least)
	}
	t.Logf("%d deltas: %d events with text, %d with parameters, %d allocations, %d bytes", deltas, l.chunks, l.parameters,
		after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc)
	return cost{allocs: after.Mallocs - before.Mallocs, memory: after.TotalAlloc - before.TotalAlloc}
}

// agent runs an agent over store until the test ends. Its answers are not posted.
func agent(tb testing.TB, store storage.Store, set func(*core.Config)) *core.Runtime {
	tb.Helper()
	cfg := core.Config{
		Agent: chat.Agent{ID: "agent", Name: "Agent"}, Owner: "bench", Store: store, Tracker: inmem.NewTracker(),
		Open:   func(context.Context, chat.Run) (core.Surface, error) { return nil, nil },
		Turns:  schedule.TurnPolicy{Limit: time.Hour, First: time.Hour, Idle: time.Hour},
		Access: access.Policy{Open: map[string]bool{web.Name: true}}, Log: slog.New(slog.DiscardHandler),
	}
	set(&cfg)
	rt, err := core.New(cfg)
	require.NoError(tb, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- rt.Run(ctx) }()
	tb.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	return rt
}
