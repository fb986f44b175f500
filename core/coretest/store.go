package coretest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/core"
	"parley/core/answer"
)

// Store checks everything that [core.Store] promises, except that it outlives its process: see [StoreSuite].
func Store(t *testing.T, open func(t *testing.T) core.Store) {
	StoreSuite{Open: open}.Run(t)
}

// StoreSuite checks an implementation of [core.Store]. Each check runs in a bubble of testing/synctest, where stores
// are opened and, by a cleanup of the t given, closed.
type StoreSuite struct {
	// Open returns a store in which nothing is stored.
	Open func(t *testing.T) core.Store
	// Reopen closes s and returns a store of what it has stored. May be nil if nothing is to outlive a store.
	Reopen func(t *testing.T, s core.Store) core.Store
}

type storeCheck struct {
	name string
	run  func(t *testing.T, s store)
}

// Run runs all checks.
func (x StoreSuite) Run(t *testing.T) {
	for _, c := range slices.Concat(acceptChecks(), joinChecks(), runChecks(), startChecks(), deathChecks(), memoryChecks(), forgetChecks(), noteChecks(), reopenedChecks(), fileChecks(), markChecks(), upkeepChecks(), questionChecks(), directoryChecks(), peopleChecks(), ledgerChecks()) {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(t, store{x.Open(t), t}) })
		})
	}
	t.Run("does the same as a simple model", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { storeModelCheck(t, x.Open(t)) })
	})
	t.Run("knows the same people as a simple model", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { directoryModelCheck(t, x.Open(t)) })
	})
	if x.Reopen == nil {
		return
	}
	for _, c := range reopenChecks(x.Reopen) {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(t, store{x.Open(t), t}) })
		})
	}
}

// store is a store under test, with steps that must succeed.
type store struct {
	core.Store
	t *testing.T
}

// The rule of most checks: every message opens a run, ready at once.
var alone = core.JoinRule{}

// message is written in room. Its id and its text are made of the room and n.
func message(room core.RoomID, n int) core.Message {
	id := core.MemoryID(fmt.Sprintf("%s/%d", room, n))
	return core.Message{
		Memory:  core.Memory{ID: id, Room: room, Author: "ada", Name: "Ada", Text: fmt.Sprintf("message %d", n), At: time.Now()},
		Place:   core.Room{ID: room, Kind: core.Group, Connector: "fake", Name: "the " + string(room)},
		Address: core.Address{Connector: "fake", Room: room, ReplyTo: id, ConnectorData: []byte{0, 1, 0xff}},
	}
}

// answerOf is what a run says. Its id is made of the run's.
func answerOf(r core.Run, text string) core.Memory {
	return core.Memory{ID: core.MemoryID("answer/" + r.ID), Room: r.Room, Author: "agent", Name: "Agent", Text: text, At: time.Now()}
}

var done = answer.Outcome{Status: answer.Completed}

func (s store) accept(in core.Message, j core.JoinRule) core.Accepted {
	s.t.Helper()
	acc, err := s.Accept(s.t.Context(), in, j)
	s.must(err)
	return acc
}

// opened accepts a message that opens a run, and returns the run.
func (s store) opened(room core.RoomID, n int) core.Run {
	s.t.Helper()
	return s.runOf(s.accept(message(room, n), alone))
}

func (s store) runOf(acc core.Accepted) core.Run {
	s.t.Helper()
	r, err := s.Run(s.t.Context(), acc.Run)
	s.must(err)
	return r
}

func (s store) start(id core.RunID, owner string) core.Run {
	s.t.Helper()
	r, err := s.Start(s.t.Context(), id, owner)
	s.must(err)
	return r
}

func (s store) note(r core.Run, n core.Note) {
	s.t.Helper()
	s.must(s.Note(s.t.Context(), r.ID, r.Epoch, n))
}

func (s store) finish(r core.Run, out core.Memory) {
	s.t.Helper()
	s.must(s.Finish(s.t.Context(), r.ID, r.Epoch, done, out))
}

// beat says that owner is alive for some time.
func (s store) beat(owner string, d time.Duration) {
	s.t.Helper()
	s.must(s.Beat(s.t.Context(), owner, time.Now().Add(d)))
}

func (s store) openRuns(room core.RoomID) []core.Run {
	s.t.Helper()
	open, err := s.OpenRuns(s.t.Context(), room)
	s.must(err)
	return open
}

// texts are those of Recent.
func (s store) texts(room core.RoomID, upTo core.ResponseID, limit int) []string {
	s.t.Helper()
	all, err := s.Recent(s.t.Context(), room, core.Said, upTo, limit)
	s.must(err)
	var texts []string
	for _, m := range all {
		texts = append(texts, m.Text)
	}
	return texts
}

func (s store) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s store) fails(err, want error) {
	s.t.Helper()
	if !errors.Is(err, want) {
		s.t.Errorf("the error is %v; want: %v", err, want)
	}
}

func (s store) same(what string, got, want any) {
	s.t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
