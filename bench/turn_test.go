//go:build unix

package bench

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"parley/backends/sqlite"
	"parley/connectors/web"
	"parley/core"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/generate"
	"parley/core/llm"
	"parley/internal/require"
	"parley/plugins/essentials"
)

// BenchmarkTurn is a turn without the time of a model: a question is stored, its prompt is made of what is stored and of
// what the usual providers tell, a model answers at once, and the answer is stored.
func BenchmarkTurn(b *testing.B) {
	for _, mode := range []generate.Mode{generate.Native, generate.XML} {
		for _, stored := range []struct {
			name          string
			conversations map[string]int
		}{
			{"rows=10", map[string]int{"c": 10}},
			{"rows=1000/where=elsewhere", map[string]int{"c": 10, "other": 1000}},
			{"rows=1000/where=here", map[string]int{"c": 1000}},
			{"rows=100000/where=elsewhere", map[string]int{"c": 10, "other": 100_000}},
			{"rows=100000/where=here", map[string]int{"c": 100_000}},
		} {
			b.Run(fmt.Sprintf("mode=%s/%s", cmp.Or(mode, "native"), stored.name), func(b *testing.B) {
				t := newTalk(b, filled(b, stored.conversations), mode)
				for range 32 { // then a prompt holds all that it may, wherever it began
					t.ask(b)
				}
				b.ReportAllocs()
				began := cpuTime(b)
				for b.Loop() {
					t.ask(b)
				}
				b.ReportMetric(float64(cpuTime(b)-began)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// talk sends messages to an agent one after the other, and waits for the end of each turn.
type talk struct {
	*core.Runtime
	asked int
	ended chan answer.Status
}

// newTalk runs an agent over the database at path.
func newTalk(b *testing.B, path string, mode generate.Mode) *talk {
	store, err := sqlite.Open(b.Context(), path, sqlite.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { _ = store.Close() })
	t := &talk{ended: make(chan answer.Status, 1)}
	t.Runtime = agent(b, store, func(c *core.Config) {
		c.Models.Large = glib{text: map[generate.Mode]string{
			generate.Native: "Yes.", generate.XML: "<response><actions>REPLY</actions><text>Yes.</text></response>",
		}[mode]}
		c.Plugins = []action.Plugin{essentials.New(essentials.Deps{Store: store})}
		c.Observers = []event.Observer{t}
		c.Generation.Mode = mode
	})
	return t
}

// Observe implements [event.Observer].
func (t *talk) Observe(e event.Event) {
	if e, ok := e.(event.RunEnded); ok {
		t.ended <- e.Status
	}
}

// ask asks, and waits until the answer is stored.
func (t *talk) ask(b *testing.B) {
	t.asked++
	room := roomOf("c")
	_, err := t.ProcessMessage(b.Context(), chat.Message{
		Memory: chat.Memory{
			ID: chat.MemoryID(fmt.Sprintf("%s/asked-%d", room, t.asked)), Room: room, Author: chat.EntityID(room), Text: "Is it?", At: time.Now(),
		},
		Place: chat.Room{ID: room, Kind: chat.API, Connector: web.Name}, Address: chat.Address{Connector: web.Name, Room: room},
	})
	require.NoError(b, err)
	if s := <-t.ended; s != answer.Completed {
		b.Fatalf("the run is %s; want %s", s, answer.Completed)
	}
}

// glib answers at once, always the same.
type glib struct{ text string }

// Generate implements [llm.Model].
func (g glib) Generate(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		_ = yield(llm.Chunk{Text: g.text}, nil) && yield(llm.Chunk{Finish: llm.FinishStop}, nil)
	}
}
