package core_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/backends/inmem"
	"parley/backends/sqlite"
	"parley/backends/sqlite/sqlitetest"
	"parley/core"
	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
	"parley/core/quota"
	"parley/core/relay"
	"parley/core/schedule"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/internal/schema"
	"parley/sim"
)

const (
	room  chat.RoomID   = "fake/ada"
	group chat.RoomID   = "fake/group"
	agent chat.EntityID = "agent"
)

// fox is long enough to stay in sight when it is interrupted.
const fox = "The quick brown fox jumps over the lazy dog."

var done = answer.Outcome{Status: answer.Completed}

// plain returns an outcome without the work that it took, which can differ from run to run.
func plain(o answer.Outcome) answer.Outcome {
	o.Effort = answer.Effort{}
	return o
}

// harness is what outlives a process, and what processes are made of.
type harness struct {
	*gatewaytest.Harness
	tracker core.Tracker
	bus     relay.Bus
	model   *model
	chat    *fakeChat
	cfg     core.Config // what the next process gets

	nodes    []*process
	messages int
	accepted []chat.MemoryID
	written  map[chat.RoomID]bool // where messages were
}

// withHarness runs a test in a bubble of its own clock, ends all processes and checks the invariants.
func withHarness(t *testing.T, play func(w *harness)) {
	t.Helper()
	gatewaytest.Run(t, func(h *gatewaytest.Harness) {
		s := require.Value(sqlite.Open(h.Context(), sqlitetest.Path(h.T), sqlitetest.Audited(h.T)))(h)
		defer s.Close()
		h.Store = s
		w := &harness{Harness: h, tracker: inmem.NewTracker(), bus: inmem.NewBus(), model: &model{}, chat: &fakeChat{}, written: map[chat.RoomID]bool{}}
		w.cfg = core.Config{
			Agent: chat.Agent{ID: chat.AgentID(agent), Name: "Agent", System: "Be brief."},
			Store: s, Tracker: w.tracker, Bus: w.bus, Models: llm.Models{Large: w.model},
			Open: func(_ context.Context, r chat.Run) (core.Surface, error) { return &poster{chat: w.chat, run: r}, nil },
			Turns: schedule.TurnPolicy{
				Direct: schedule.Supersede, Group: schedule.Queue, Limit: 15 * time.Minute, First: 90 * time.Second, Idle: 75 * time.Second,
			},
			Access: access.Policy{Allowed: access.Members{Accounts: map[chat.EntityID]bool{"ada": true}}},
			Schema: schema.Compile,
			Log:    h.Logger(slog.LevelInfo),
		}
		play(w)
		w.stopAndCheck()
	})
}

// watchOnly makes the answers of the next processes ones that no user posts.
func (w *harness) watchOnly() {
	w.cfg.Open = func(context.Context, chat.Run) (core.Surface, error) { return nil, nil }
}

// process is one process.
type process struct {
	*core.Runtime
	*gatewaytest.Process
	h *harness
}

func (w *harness) start() *process {
	w.Helper()
	cfg := w.cfg
	cfg.Owner = fmt.Sprintf("node %d", len(w.nodes)+1)
	var rt *core.Runtime
	cfg.Models = event.Models(cfg.Models, quota.Tariffs{}, func(e event.Event) { rt.Emit(e) })
	rt = require.Value(core.New(cfg))(w)
	n := &process{Runtime: rt, h: w, Process: gatewaytest.Start(w.Context(), rt.Run)}
	w.nodes = append(w.nodes, n)
	synctest.Wait()
	return n
}

// startFaulty starts a process with faults, which later processes don't have.
func (w *harness) startFaulty(f *gatewaytest.Faults) *process {
	w.Helper()
	sound := w.cfg
	defer func() { w.cfg = sound }()
	w.wrap(f)
	return w.start()
}

// wrap puts f around the store, the tracker and the chat of the next processes.
func (w *harness) wrap(f *gatewaytest.Faults) {
	w.cfg.Store, w.cfg.Tracker = f.Store(w.cfg.Store), f.Tracker(w.cfg.Tracker)
	open := w.cfg.Open
	w.cfg.Open = func(ctx context.Context, r chat.Run) (core.Surface, error) {
		s, err := open(ctx, r)
		if p, ok := s.(*poster); ok {
			p.faults = f
		}
		return s, err
	}
}

// shutdown ends a process in order.
func (n *process) shutdown() {
	n.h.Helper()
	n.h.Must(n.Stop())
}

// message is the next one of a person.
func (w *harness) message(in chat.RoomID, author chat.EntityID, text string) chat.Message {
	w.messages++
	w.written[in] = true
	id := chat.MemoryID(fmt.Sprintf("%s/%d", in, w.messages))
	kind := chat.Direct
	if in == group {
		kind = chat.Group
	}
	return chat.Message{
		Memory:  chat.Memory{ID: id, Room: in, Author: author, Name: string(author), Text: text, At: time.Now()},
		Place:   chat.Room{ID: in, Kind: kind, Connector: "fake"},
		Address: chat.Address{Connector: "fake", Room: in, ReplyTo: id},
	}
}

// send gives a message to a process, which must take it.
func (n *process) send(m chat.Message) chat.Accepted {
	n.h.Helper()
	acc := require.Value(n.ProcessMessage(n.h.Context(), m))(n.h)
	if acc.Run != "" && !slices.Contains(n.h.accepted, m.ID) {
		n.h.accepted = append(n.h.accepted, m.ID)
	}
	return acc
}

// sendText is what Ada says in her room.
func (n *process) sendText(text string) chat.Accepted {
	n.h.Helper()
	return n.send(n.h.message(room, "ada", text))
}

func (n *process) stopAnswer(in chat.RoomID) {
	n.h.Helper()
	require.Value(n.ProcessMessage(n.h.Context(), chat.Command{Room: in, Author: "ada", Name: chat.Stop}))(n.h)
}

// run is what the journal knows.
func (w *harness) run(acc chat.Accepted) chat.Run {
	w.Helper()
	r := require.Value(w.Store.Run(w.Context(), acc.Run))(w)
	return r
}

// waitAnswer waits until a run has ended, and says how and with what text.
func (w *harness) waitAnswer(acc chat.Accepted) (answer.Outcome, string) {
	w.Helper()
	r := w.WaitRun(acc.Run)
	return r.Outcome, w.storedText(r.Said())
}

// storedText is the text of a memory, or "" if there is none.
func (w *harness) storedText(id chat.MemoryID) string {
	w.Helper()
	m, err := w.Store.Memory(w.Context(), id)
	if !errors.Is(err, chat.ErrNotFound) {
		w.Must(err)
	}
	return m.Text
}

// wantAnswer fails unless a run ended as told.
func (w *harness) wantAnswer(acc chat.Accepted, want answer.Status, text string) {
	w.Helper()
	if o, said := w.waitAnswer(acc); o.Status != want || said != text {
		w.Errorf("run %s is %+v and said %q; want %s, %q", acc.Run, o, said, want, text)
	}
}

// stopAndCheck stops the processes and holds what they left behind against the invariants.
func (w *harness) stopAndCheck() {
	w.Helper()
	synctest.Wait() // for what was done in the background
	for _, n := range w.nodes {
		_ = n.Stop()
	}
	e := sim.Evidence{Accepted: w.accepted, Work: w.model.modelCalls(), Requests: w.chat.requests, Seen: w.chat.seen}
	w.AddRuns(&e, w.messages+10, slices.Collect(maps.Keys(w.written))...)
	for _, wrong := range e.Check() {
		w.Error(wrong)
	}
}

// readAnswer reads an answer to its end as a live stream does, and returns the changes.
func (n *process) readAnswer(id chat.RunID) ([]answer.Change, answer.View, error) {
	return gatewaytest.ReadAnswer(n.h.Context(), n, id)
}
