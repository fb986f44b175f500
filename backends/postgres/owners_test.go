package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
	"parley/core/storage"
	"parley/core/storage/storagetest"
	"parley/internal/require"
)

// replicas are several stores on one database that take turns, port by port; those of runs call by call.
type replicas struct {
	storage.Memories
	storage.Rooms
	storage.RoomFinder
	storage.RoomAttentions
	storage.Directory
	storage.RoomNotes
	storage.WordIndex
	storage.VectorIndex
	storage.VectorBackfill
	pieces
	storage.Inbox
	storage.Runs
	storage.Journal
	storage.Retries
	storage.Parking
	storage.Leases
	storage.Fleet
	storage.Files
	storage.Uploads
	storage.Questions
	storage.Approvals
	crowd
	reminding
	quota.UsageStore
	storage.Upkeep
	storage.PersonalData
	storage.Transcripts
	storage.Overview

	all  []*Store
	next atomic.Int64
}

// crowd is a name for the port People, which has a method of that name.
type crowd interface{ storage.People }

// pieces is a name for the port PieceVectors, likewise.
type pieces interface{ storage.PieceVectors }

// reminding is a name for the port Reminders, likewise.
type reminding interface{ storage.Reminders }

func newReplicas(t *testing.T, url string, o Options, n int) *replicas {
	r := &replicas{}
	o.Several, o.Connections = true, 4
	for range n {
		r.all = append(r.all, open(t, url, o))
	}
	r.Memories, r.Rooms, r.RoomFinder, r.RoomAttentions, r.Directory = r.one(), r.one(), r.one(), r.one(), r.one()
	r.WordIndex, r.VectorIndex, r.VectorBackfill, r.pieces = r.one(), r.one(), r.one(), r.one()
	r.RoomNotes, r.Inbox, r.Runs, r.Journal, r.Retries, r.Leases = r.one(), r.one(), r.one(), r.one(), r.one(), r.one()
	r.Files, r.Questions, r.crowd, r.UsageStore, r.Upkeep, r.Fleet, r.Approvals = r.one(), r.one(), r.one(), r.one(), r.one(), r.one(), r.one()
	r.reminding, r.Uploads, r.Parking, r.PersonalData, r.Transcripts, r.Overview = r.one(), r.one(), r.one(), r.one(), r.one(), r.one()
	return r
}

func (r *replicas) one() *Store { return r.all[int(r.next.Add(1))%len(r.all)] }

func (r *replicas) Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error) {
	return r.one().Accept(ctx, in, j)
}

func (r *replicas) Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error) {
	return r.one().Start(ctx, id, owner)
}

func (r *replicas) Note(ctx context.Context, id chat.RunID, epoch chat.Epoch, n chat.Note) error {
	return r.one().Note(ctx, id, epoch, n)
}

func (r *replicas) Attempt(ctx context.Context, id chat.RunID, epoch chat.Epoch, day string, message ...quota.Charge) (string, error) {
	return r.one().Attempt(ctx, id, epoch, day, message...)
}

func (r *replicas) Finish(ctx context.Context, id chat.RunID, epoch chat.Epoch, o answer.Outcome, out chat.Memory) error {
	return r.one().Finish(ctx, id, epoch, o, out)
}

func (r *replicas) SaveEntity(ctx context.Context, e chat.Entity) (chat.News, error) {
	return r.one().SaveEntity(ctx, e)
}

func (r *replicas) Spend(ctx context.Context, day string, charges ...quota.Charge) (string, error) {
	return r.one().Spend(ctx, day, charges...)
}

// DI-02: several stores on one database keep the contract of one.
func TestStoreOfReplicas(t *testing.T) {
	t.Parallel()
	template(t) // outside of the bubbles
	storagetest.Store(t, func(t *testing.T) storage.Store { return newReplicas(t, fresh(t), Options{Guest: true, own: true}, 2) })
}

func message(room chat.RoomID, id chat.MemoryID) chat.Message {
	return chat.Message{
		Memory: chat.Memory{ID: id, Room: room, Author: "ada", Text: "hello " + string(id), At: time.Now()},
		Place:  chat.Room{ID: room, Kind: chat.Group, Connector: "fake"}, Address: chat.Address{Connector: "fake", Room: room},
	}
}

// IN-03: of one message that reaches several replicas in different rooms at once, one is accepted, and the others attach to it.
func TestSameIDInManyRooms(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, fresh(t), Options{}, 3)
	all := make([]chat.Accepted, 12)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			var err error
			if all[i], err = r.Accept(t.Context(), message(chat.RoomID(fmt.Sprint("room ", i)), "same"), chat.JoinRule{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	first := slices.IndexFunc(all, func(a chat.Accepted) bool { return !a.Duplicate })
	if first < 0 {
		t.Fatal("every accept was a duplicate; want exactly one that is the first")
	}
	for i, acc := range all {
		if i != first && (!acc.Duplicate || acc.Run != all[first].Run) {
			t.Errorf("accepted as %+v and as %+v", all[first], acc)
		}
	}
}

// Two replicas that meet one person at once both add what they know.
func TestMeetAtOnce(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, fresh(t), Options{}, 2)
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			if _, err := r.SaveEntity(t.Context(), chat.Entity{ID: "ada", Details: map[string]string{fmt.Sprint(i): "known"}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if e, err := r.Entity(t.Context(), "ada"); err != nil || len(e.Details) != 10 {
		t.Errorf("of ten details there are %v, %v; want 10", e.Details, err)
	}
}

// DI-01: clocks that are ten minutes apart end no lease early and hold no answer back.
func TestClocksApart(t *testing.T) {
	t.Parallel()
	url := fresh(t)
	at := func(ahead time.Duration) *Store {
		return open(t, url, Options{Several: true, now: func() time.Time { return time.Now().Add(ahead) }})
	}
	slow, fast := at(-10*time.Minute), at(10*time.Minute)
	for n, pair := range [][2]*Store{{slow, fast}, {fast, slow}} {
		a, b := pair[0], pair[1]
		acc, err := a.Accept(t.Context(), message(chat.RoomID(fmt.Sprint("room ", n)), chat.MemoryID(fmt.Sprint("m", n))), chat.JoinRule{Window: time.Hour})
		require.NoError(t, err)
		run, err := b.Run(t.Context(), acc.Run)
		if wait := run.Ready.Sub(b.clock.now()); err != nil || (wait-time.Hour).Abs() > time.Minute {
			t.Errorf("the other waits for %v, %v; want about an hour", wait, err)
		}
		require.NoError(t, a.RenewLease(t.Context(), "owner of a", a.clock.now().Add(time.Minute)))
		require.Value(a.Start(t.Context(), acc.Run, "owner of a"))(t)
		if _, err := b.Start(t.Context(), acc.Run, "owner of b"); !errors.Is(err, chat.ErrBusy) {
			t.Errorf("a lease of a minute has ended for the other: %v", err)
		}
		require.NoError(t, a.RenewLease(t.Context(), "owner of a", a.clock.now().Add(-time.Second)))
		if run, err := b.Start(t.Context(), acc.Run, "owner of b"); err != nil || run.Deaths != 1 {
			t.Errorf("a lease that has ended holds for the other: %+v, %v", run, err)
		}
		if err := b.Finish(t.Context(), acc.Run, 2, answer.Outcome{Status: answer.Completed}, chat.Memory{}); err != nil {
			t.Error(err)
		}
	}
}
