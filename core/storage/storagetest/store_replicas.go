package storagetest

import (
	"fmt"
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

func replicaChecks() []storeCheck {
	return []storeCheck{{"processes are listed with their runs, and runs that wait are counted", replicasListed}}
}

func replicasListed(t *testing.T, s store) {
	s.same("an empty store", s.fleet(), chat.Fleet{})
	begun := time.Now()
	s.beat("first", time.Minute)
	s.beat("second", 2*time.Minute)
	held := s.start(s.opened("room", 1).ID, "first")
	time.Sleep(time.Second)
	s.opened("room", 2)
	s.opened("another", 1)
	s.must(s.Leave(t.Context(), "second"))
	first := chat.Replica{Owner: "first", AliveUntil: begun.Add(time.Minute).UTC(), Runs: 1}
	second := chat.Replica{Owner: "second", AliveUntil: begun.Add(2 * time.Minute).UTC(), Leaving: true}
	waits := begun.Add(time.Second).UTC()
	s.same("both live", s.fleet(), chat.Fleet{Replicas: []chat.Replica{first, second}, Waiting: 2, Oldest: waits})
	time.Sleep(time.Minute)
	s.same("the first is dead, and its run waits", s.fleet(), chat.Fleet{Replicas: []chat.Replica{first, second}, Waiting: 3, Oldest: begun.UTC()})
	held = s.start(held.ID, "second")
	second.Runs = 1
	s.same("the second has its run", s.fleet(), chat.Fleet{Replicas: []chat.Replica{second}, Waiting: 2, Oldest: waits})
	s.finish(held, answerOf(held, "done"))
	second.Runs = 0
	s.same("it has ended", s.fleet(), chat.Fleet{Replicas: []chat.Replica{second}, Waiting: 2, Oldest: waits})
	s.start(s.openRuns("another")[0].ID, "without heartbeat")
	s.same("a run of a process that never beat waits", s.fleet().Waiting, 2)
	for i, a := range []chat.Approval{{Decision: chat.Pending}, {Decision: chat.Pending}, {Decision: chat.Approved}} {
		a.ID, a.Room, a.Run, a.At, a.Expires = fmt.Sprint("approval", i), "room", held.ID, time.Now(), time.Now().Add(time.Duration(1-i)*time.Hour)
		require.Value(s.RequestApproval(s.t.Context(), a))(s.t)
	}
	s.same("an approval is open, another one has expired", s.fleet().Approvals, 1)
}

// fleet is what Replicas returns, with times in UTC.
func (s store) fleet() chat.Fleet {
	s.t.Helper()
	f := require.Value(s.Replicas(s.t.Context()))(s.t)
	for i := range f.Replicas {
		f.Replicas[i].AliveUntil = f.Replicas[i].AliveUntil.UTC()
	}
	f.Oldest = f.Oldest.UTC()
	return f
}
