package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/storage"
	"parley/internal/require"
	"parley/internal/subtest"
)

// Store tests the contract of [storage.Store], except durability: see [StoreSuite].
func Store(t *testing.T, open func(t *testing.T) storage.Store) {
	StoreSuite{Open: open}.Run(t)
}

// StoreSuite tests an implementation of [storage.Store]. Each test runs in a testing/synctest bubble, which opens stores
// and closes them in a cleanup of its t.
type StoreSuite struct {
	// Open returns an empty store.
	Open func(t *testing.T) storage.Store
	// Reopen closes s and returns a store with the same data. It can be nil if the store is not durable.
	Reopen func(t *testing.T, s storage.Store) storage.Store
}

type storeCheck struct {
	name string
	run  func(t *testing.T, s store)
}

// Run runs all tests.
func (x StoreSuite) Run(t *testing.T) {
	for _, c := range slices.Concat(acceptChecks(), joinChecks(), runChecks(), startChecks(), deathChecks(), parkingChecks(), replicaChecks(), memoryChecks(), forgetChecks(), noteChecks(), wordChecks(), vectorChecks(), pieceChecks(), reopenedChecks(), fileChecks(), markChecks(), upkeepChecks(), questionChecks(), approvalChecks(), directoryChecks(), peopleChecks(), reminderChecks(), uploadChecks(), ledgerChecks(), overviewChecks()) {
		t.Run(c.name, subtest.Of(synctest.Test, func(t *testing.T) { c.run(t, store{x.Open(t), t}) }))
	}
	t.Run("agrees with a simple model", subtest.Of(synctest.Test, func(t *testing.T) { storeModelCheck(t, x.Open(t)) }))
	t.Run("agrees with a simple model on members", subtest.Of(synctest.Test, func(t *testing.T) { directoryModelCheck(t, x.Open(t)) }))
	if x.Reopen == nil {
		return
	}
	for _, c := range reopenChecks(x.Reopen) {
		t.Run(c.name, subtest.Of(synctest.Test, func(t *testing.T) { c.run(t, store{x.Open(t), t}) }))
	}
}

// store is a store under test, with steps that must succeed.
type store struct {
	storage.Store
	t *testing.T
}

// The rule of most checks: every message opens a run, ready at once.
var alone = chat.JoinRule{}

// message is written in room. Its id and its text are made of the room and n.
func message(room chat.RoomID, n int) chat.Message {
	id := chat.MemoryID(fmt.Sprintf("%s/%d", room, n))
	return chat.Message{
		Memory:  chat.Memory{ID: id, Room: room, Author: "ada", Name: "Ada", Text: fmt.Sprintf("message %d", n), At: time.Now()},
		Place:   chat.Room{ID: room, Kind: chat.Group, Connector: "fake", Name: "the " + string(room)},
		Address: chat.Address{Connector: "fake", Room: room, ReplyTo: id, ConnectorData: []byte{0, 1, 0xff}},
	}
}

// answerOf is what a run says. Its id is made of the run's.
func answerOf(r chat.Run, text string) chat.Memory {
	return chat.Memory{ID: chat.MemoryID("answer/" + r.ID), Room: r.Room, Author: "agent", Name: "Agent", Text: text, At: time.Now()}
}

var done = answer.Outcome{Status: answer.Completed}

func (s store) accept(in chat.Message, j chat.JoinRule) chat.Accepted {
	s.t.Helper()
	acc := require.Value(s.Accept(s.t.Context(), in, j))(s.t)
	return acc
}

// opened accepts a message that opens a run, and returns the run.
func (s store) opened(room chat.RoomID, n int) chat.Run {
	s.t.Helper()
	return s.runOf(s.accept(message(room, n), alone))
}

func (s store) runOf(acc chat.Accepted) chat.Run {
	s.t.Helper()
	r := require.Value(s.Run(s.t.Context(), acc.Run))(s.t)
	return r
}

func (s store) start(id chat.RunID, owner string) chat.Run {
	s.t.Helper()
	r := require.Value(s.Start(s.t.Context(), id, owner))(s.t)
	return r
}

func (s store) note(r chat.Run, n chat.Note) {
	s.t.Helper()
	s.must(s.Note(s.t.Context(), r.ID, r.Epoch, n))
}

func (s store) attempt(r chat.Run) {
	s.t.Helper()
	require.Value(s.Attempt(s.t.Context(), r.ID, r.Epoch, ""))(s.t)
}

func (s store) finish(r chat.Run, out chat.Memory) {
	s.t.Helper()
	s.must(s.Finish(s.t.Context(), r.ID, r.Epoch, done, out))
}

// beat says that owner is alive for some time.
func (s store) beat(owner string, d time.Duration) {
	s.t.Helper()
	s.must(s.RenewLease(s.t.Context(), owner, time.Now().Add(d)))
}

func (s store) openRuns(room chat.RoomID) []chat.Run {
	s.t.Helper()
	open := require.Value(s.OpenRuns(s.t.Context(), room))(s.t)
	return open
}

// texts are those of Recent.
func (s store) texts(room chat.RoomID, upTo chat.ResponseID, limit int) []string {
	s.t.Helper()
	all := require.Value(s.Recent(s.t.Context(), room, chat.Said, upTo, limit))(s.t)
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
