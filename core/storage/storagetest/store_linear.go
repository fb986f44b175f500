package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/storage"
	"parley/internal/require"
)

const (
	linearRooms    = 3
	linearWorkers  = 8
	linearCalls    = 30 // of each worker
	linearMessages = 12 // that can arrive in a room, most of them more than once
)

// Linearizable tests the turns of rooms: messages that arrive at once through several stores of the same data, and processes that start and
// finish the runs, have the results of some order in which they came one after the other. seed chooses the calls.
func Linearizable(t *testing.T, seed uint64, stores ...storage.Store) {
	t.Helper()
	h := &history{began: time.Now(), stores: stores}
	for i := range stores {
		require.NoError(t, stores[i].RenewLease(t.Context(), ownerOf(i), time.Now().Add(time.Hour)))
	}
	var workers sync.WaitGroup
	for w := range linearWorkers {
		workers.Go(func() { h.work(t, w, rand.New(rand.NewPCG(seed, uint64(w)))) })
	}
	workers.Wait()
	if result, _ := porcupine.CheckOperationsVerbose(turnsModel(), h.all, time.Minute); result != porcupine.Ok {
		t.Errorf("the history of seed %d is %s; want it linearizable:", seed, result)
		for _, op := range h.all {
			t.Log(op.ClientId, time.Duration(op.Call), time.Duration(op.Return), op.Input, op.Output)
		}
	}
}

func ownerOf(store int) string { return fmt.Sprint("owner", store) }

// history is what was called, and what came back.
type history struct {
	began  time.Time
	stores []storage.Store

	mu   sync.Mutex
	all  []porcupine.Operation
	open [linearRooms][]linearCall                   // starts that succeeded, to be finished
	runs [linearRooms][linearMessages + 1]chat.RunID // by turn
	most [linearRooms]int                            // the latest turn that a caller knows
}

// linearCall is one call: "accept" a message, "start" or "finish" a run, or "list" the open runs.
type linearCall struct {
	what  string
	room  int
	n     int // the message, or the turn
	owner int
	epoch chat.Epoch
	run   chat.RunID
}

// linearResult is what a call returns.
type linearResult struct {
	turn      int
	duplicate bool
	epoch     chat.Epoch
	run       chat.RunID
	open      uint64 // a bit for each turn
	err       error
}

func (h *history) work(t *testing.T, worker int, luck *rand.Rand) {
	for range linearCalls {
		c := h.next(worker, luck)
		called := time.Since(h.began)
		r := h.call(t, c)
		h.learn(porcupine.Operation{ClientId: worker, Input: c, Call: int64(called), Output: r, Return: int64(time.Since(h.began))}, c, r)
	}
}

func (h *history) next(worker int, luck *rand.Rand) linearCall {
	c := linearCall{room: luck.IntN(linearRooms), owner: worker % len(h.stores)}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch k := luck.IntN(10); {
	case k < 4 || h.most[c.room] == 0:
		c.what, c.n = "accept", luck.IntN(linearMessages)
	case k < 7:
		c.what, c.n = "start", 1+luck.IntN(h.most[c.room])
		if c.run = h.runs[c.room][c.n]; c.run == "" { // an earlier turn whose caller has no answer yet
			c.what = "list"
		}
	case k < 9 && len(h.open[c.room]) > 0:
		started := h.open[c.room][luck.IntN(len(h.open[c.room]))] // also one that was finished, or lost
		c.what, c.n, c.run, c.epoch = "finish", started.n, started.run, started.epoch
	default:
		c.what = "list"
	}
	return c
}

func (h *history) call(t *testing.T, c linearCall) (r linearResult) {
	ctx := context.Background()
	s, room := h.stores[c.owner], chat.RoomID(fmt.Sprint("room", c.room))
	switch c.what {
	case "accept":
		var acc chat.Accepted
		in := message(room, c.n)
		in.Author = chat.EntityID(fmt.Sprint("author", c.n)) // those of one author can join a run that has just been opened
		acc, r.err = s.Accept(ctx, in, chat.JoinRule{})
		r.turn, r.run, r.duplicate = int(acc.Response), acc.Run, acc.Duplicate
	case "start":
		var run chat.Run
		run, r.err = s.Start(ctx, c.run, ownerOf(c.owner))
		r.epoch = run.Epoch
	case "finish":
		r.err = s.Finish(ctx, c.run, c.epoch, done, chat.Memory{})
	case "list":
		var runs []chat.Run
		runs, r.err = s.OpenRuns(ctx, room)
		for _, run := range runs {
			r.open |= 1 << run.Response
		}
	}
	switch {
	case r.err == nil:
	case errors.Is(r.err, chat.ErrBusy):
		r = linearResult{err: chat.ErrBusy}
	case errors.Is(r.err, answer.ErrLost):
		r = linearResult{err: answer.ErrLost}
	default:
		t.Errorf("%+v failed: %v", c, r.err)
	}
	return r
}

func (h *history) learn(op porcupine.Operation, c linearCall, r linearResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, op)
	if r.turn > 0 {
		h.runs[c.room][r.turn] = r.run
		h.most[c.room] = max(h.most[c.room], r.turn)
	}
	if c.what == "start" && r.err == nil {
		c.epoch = r.epoch
		h.open[c.room] = append(h.open[c.room], c)
	}
}

// turnsState is a room, where nothing happens at the same time.
type turnsState struct {
	turns    int
	arrived  [linearMessages]int            // the turn of each message
	epochs   [linearMessages + 1]chat.Epoch // of each turn
	finished [linearMessages + 1]bool       // of each turn
	running  int                            // the turn that is under way; 0 is none
	owner    int                            // of that
}

func turnsModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
			rooms := make([][]porcupine.Operation, linearRooms)
			for _, op := range all {
				at := op.Input.(linearCall).room
				rooms[at] = append(rooms[at], op)
			}
			return rooms
		},
		Init: func() any { return turnsState{} },
		Step: func(state, input, output any) (bool, any) {
			s := state.(turnsState)
			got := output.(linearResult)
			got.run = "" // the name of a turn
			return s.apply(input.(linearCall)) == got, s
		},
	}
}

// apply does what a call does, and returns its result.
func (s *turnsState) apply(c linearCall) (r linearResult) {
	switch c.what {
	case "accept":
		r.duplicate = s.arrived[c.n] != 0
		if !r.duplicate {
			s.turns++
			s.arrived[c.n] = s.turns
		}
		r.turn = s.arrived[c.n]
	case "start":
		switch {
		case s.finished[c.n]:
			r.err = answer.ErrLost
		case s.running != 0 && s.running != c.n, s.running == c.n && s.owner != c.owner:
			r.err = chat.ErrBusy
		default:
			s.running, s.owner = c.n, c.owner
			s.epochs[c.n]++
			r.epoch = s.epochs[c.n]
		}
	case "finish":
		if s.running != c.n || s.epochs[c.n] != c.epoch {
			r.err = answer.ErrLost
			break
		}
		s.finished[c.n], s.running = true, 0
	case "list":
		for turn := 1; turn <= s.turns; turn++ {
			if !s.finished[turn] {
				r.open |= 1 << turn
			}
		}
	}
	return r
}
