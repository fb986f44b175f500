package replicas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/backends/sqlite"
	"parley/backends/sqlite/sqlitetest"
	"parley/connectors/connectortest"
	"parley/core"
	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/core/storage"
	"parley/core/storage/storagetest"
	"parley/internal/require"
	"parley/internal/schema"
	"parley/progressive"
	"parley/sim"
)

const (
	processes = 3                // at the same time
	length    = 2 * time.Minute  // of the faults
	settling  = 15 * time.Minute // in which all must have ended afterwards
	agent     = "agent"
	asker     = "ada"
	waits     = 2 * time.Minute // for an approval
)

// simulation is one seed.
type simulation struct {
	*testing.T
	seed     uint64
	missing  string // a guard that the store does without
	began    time.Time
	store    storage.Store
	shared   *shared
	platform *platform
	log      *history
	ledger   *ledger
	logged   *sim.Log // of the processes
	policy   schedule.Policy
	approves bool // some calls need the approval of others
	talks    bool // a visitor asks for a person
	memo     *connectortest.Memory
	rooms    []*room

	mu      sync.Mutex
	calls   map[string]int // of models, by question
	slots   [processes]*process
	lives   int
	notes   []string // of the story
	presses []press
	backed  time.Time // when someone began to hand the conversation back

	reviving sync.Mutex
}

// play plays a seed, and returns what is wrong, with the story. missing names a guard that the store does without; empty for none.
func play(t *testing.T, seed uint64, missing string) (wrong, story []string) {
	synctest.Test(t, func(t *testing.T) {
		luck := rand.New(rand.NewPCG(seed, 0))
		w := &simulation{T: t, seed: seed, approves: seed%3 == 0, talks: seed%3 == 1, memo: &connectortest.Memory{}, missing: missing, began: time.Now(), shared: newShared(), log: newHistory(), ledger: &ledger{times: map[string]int{}}, calls: map[string]int{}, logged: &sim.Log{}}
		w.platform = &platform{requests: map[chat.RoomID]int{}}
		w.policy = []schedule.Policy{schedule.Supersede, schedule.Steer, schedule.Queue, schedule.Collect}[luck.IntN(4)]
		w.store = w.open(luck.IntN(8) == 0)
		for i := range w.slots {
			time.Sleep(time.Duration(luck.Int64N(int64(time.Second)))) // so that they look at different times
			w.start(i)
		}
		ctx, end := context.WithCancel(t.Context())
		var people sync.WaitGroup
		w.rooms = newRooms(w, luck)
		for _, r := range w.rooms {
			people.Go(func() { r.talk(ctx) })
		}
		w.disturb(luck)
		w.heal()
		people.Wait()
		for _, r := range w.rooms {
			r.again.Wait()
		}
		w.settle()
		time.Sleep(10 * time.Second) // readers look every two seconds
		end()
		for i := range w.slots {
			w.slots[i].kill()
			<-w.slots[i].ended
		}
		for _, r := range w.rooms {
			r.readers.Wait()
		}
		wrong, story = w.check(), w.notes
		if len(wrong) > 0 && testing.Verbose() {
			for _, e := range w.log.all {
				story = append(story, fmt.Sprintf("%8.3f to %8.3f %v", e.from.Sub(w.began).Seconds(), e.to.Sub(w.began).Seconds(), e))
			}
			story = append(story, w.logged.String())
		}
	})
	return wrong, story
}

// open returns an empty store: the model of one, which is fast, or SQLite.
func (w *simulation) open(real bool) storage.Store {
	if !real {
		return storagetest.NewStoreModel()
	}
	s := require.Value(sqlite.Open(w.Context(), sqlitetest.Path(w.T), sqlitetest.Audited(w.T)))(w)
	w.Cleanup(func() { _ = s.Close() })
	return s
}

// note adds a line to the story.
func (w *simulation) note(p *process, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	who := "all"
	if p != nil {
		who = p.name
	}
	w.notes = append(w.notes, fmt.Sprintf("%8.3f %s %s", time.Since(w.began).Seconds(), who, fmt.Sprintf(format, args...)))
}

// called counts the calls of models about a question.
func (w *simulation) called(id string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[id]++
	return w.calls[id]
}

// start begins a life in a slot.
func (w *simulation) start(slot int) {
	w.mu.Lock()
	w.lives++
	p := &process{w: w, name: fmt.Sprintf("node%d.%d", slot, w.lives), ended: make(chan struct{}), cut: map[port]bool{}}
	w.mu.Unlock()
	gate := progressive.NewSharedGate(remoteBudget{w.shared, p}, budget)
	var memo access.Memo
	if w.talks {
		memo = remoteMemo{w.memo, p}
	}
	rt, err := core.New(core.Config{
		Agent: chat.Agent{ID: agent, Name: "Agent", System: "Be brief."}, Owner: p.name,
		Store: remoteStore(w.store, p), Tracker: remoteTracker{w.shared, p}, Bus: remoteBus{w.shared.bus, p}, Models: llm.Models{Large: model{p}},
		Open: func(_ context.Context, r chat.Run) (core.Surface, error) {
			if r.Address.Connector == web {
				return nil, nil
			}
			return progressive.New(newSink(p, r, r.Address.Connector == withNonces), gate, r, w.logger(p)), nil
		},
		Plugins: []action.Plugin{{Name: "test", Actions: []action.Action{writes{p, "WRITE"}, writes{p, buys}}}},
		Turns:   schedule.TurnPolicy{Direct: w.policy, Group: schedule.Queue, Limit: 15 * time.Minute, First: 90 * time.Second, Idle: 75 * time.Second},
		Access: access.Policy{
			Allowed: access.Members{Accounts: map[chat.EntityID]bool{asker: true, visitor: true, "olga": true, "sam": true}},
			Owners:  map[chat.EntityID]bool{"olga": true}, Staff: access.Members{Accounts: map[chat.EntityID]bool{"sam": true}},
		},
		Approval: waits, Memo: memo,
		Schema: schema.Compile, Grace: 3 * time.Second, Log: w.logger(p), Jitter: p.jitter,
	})
	require.NoError(w, err)
	ctx, kill := context.WithCancel(w.Context())
	p.Runtime, p.life, p.kill = rt, ctx, kill
	w.mu.Lock()
	w.slots[slot] = p
	w.mu.Unlock()
	go func() {
		defer close(p.ended)
		_ = rt.Run(ctx)
	}()
}

func (w *simulation) logger(p *process) *slog.Logger {
	return slog.New(slog.NewTextHandler(w.logged, nil)).With("process", p.name)
}

// at returns the process in a slot now.
func (w *simulation) at(slot int) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slots[slot]
}

// settle waits until every run has ended.
func (w *simulation) settle() {
	for begun := time.Now(); time.Since(begun) < settling; time.Sleep(time.Second) {
		open := false // also if it waits for a person
		for _, r := range w.rooms {
			runs, err := w.store.OpenRuns(context.Background(), r.id)
			open = open || err != nil || len(runs) > 0
		}
		if !open {
			return
		}
	}
}

// follow reads an answer to its end, as a live stream does, from any process, and returns what the reader saw last.
func (w *simulation) follow(ctx context.Context, luck *rand.Rand, id chat.RunID) (answer.View, error) {
	for {
		v, err := readAnswer(ctx, w.at(luck.IntN(processes)), id)
		if err == nil || ctx.Err() != nil {
			return v, err
		}
		if !pause(ctx, time.Second) {
			return v, ctx.Err()
		}
	}
}

func readAnswer(ctx context.Context, p *process, id chat.RunID) (answer.View, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)() // the connection goes with the process
	a, err := p.Watch(ctx, id)
	if err != nil {
		return answer.View{}, err
	}
	var at answer.Cursor
	for {
		switch err := a.Wait(ctx, at); {
		case errors.Is(err, io.EOF):
			return a.View(), nil
		case err != nil:
			return answer.View{}, err
		}
		_, at = a.Since(at)
	}
}
