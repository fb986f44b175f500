package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/internal/cron"
	"parley/internal/require"
	"parley/sim"
)

// fakeGateway takes tasks and keeps state, like the gateway of several replicas.
type fakeGateway struct {
	mu    sync.Mutex
	state map[string]string
	done  []chat.Task
	at    []time.Time
	down  bool // nothing can be stored
	log   sim.Log
}

func (w *fakeGateway) Keep(_ context.Context, name, value string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state[name] = value
	return nil
}

func (w *fakeGateway) Swap(_ context.Context, name, old, value string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	swaps := w.state[name] == old
	if swaps {
		w.state[name] = value
	}
	return swaps, nil
}

func (w *fakeGateway) Kept(_ context.Context, name string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state[name], nil
}

func (w *fakeGateway) ChatRoom(_ context.Context, connector, id string) (chat.Room, error) {
	if id == "unknown" {
		return chat.Room{}, chat.ErrNotFound
	}
	return chat.Room{ID: chat.RoomID(connector + "/" + id)}, nil
}

func (w *fakeGateway) NotesAbout(_ context.Context, about chat.EntityID, kind chat.NoteKind, _ bool, _ int) ([]chat.RoomNote, error) {
	if about != chat.ThreadOf("known") || kind != chat.AgentNote {
		return nil, nil
	}
	return []chat.RoomNote{{Room: "fake:1", Key: chat.ThreadKey + "mine"}}, nil
}

func (w *fakeGateway) DirectRoom(context.Context, chat.EntityID) (chat.Room, error) {
	return chat.Room{}, chat.ErrNotFound
}

func (w *fakeGateway) task(_ context.Context, t chat.Task) (chat.Accepted, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return chat.Accepted{}, errors.New("the disk is full")
	}
	id := t.Message()
	if slices.ContainsFunc(w.done, func(o chat.Task) bool { return o.Message() == id }) {
		return chat.Accepted{Memory: id, Run: "run", Duplicate: true}, nil
	}
	w.done, w.at = append(w.done, t), append(w.at, time.Now())
	return chat.Accepted{Memory: id, Run: "run"}, nil
}

// startReplicas runs replicas of a schedule until stop is called.
func (w *fakeGateway) startReplicas(t *testing.T, replicas int, s Schedule) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range replicas {
		p := New(Options{Store: w, Schedules: []Schedule{s}, Log: slog.New(slog.NewTextHandler(&w.log, nil))}).Plugin()
		require.NoError(t, p.Init(ctx, action.Services{State: w, Task: w.task}))
		all.Go(func() { p.Work(ctx) })
		time.Sleep(time.Second)
	}
	return func() { cancel(); all.Wait() }
}

func schedule(t *testing.T, expression, zone string) Schedule {
	t.Helper()
	z := require.Value(time.LoadLocation(zone))(t)
	times := require.Value(cron.Parse(expression, z))(t)
	return Schedule{Name: "test", Times: times, Spec: expression, What: What{Room: "fake:1", Text: "Hello"}}
}

// A time of day comes once each day, for all replicas together, also where the clock is moved.
func TestDaysWithAnotherClock(t *testing.T) {
	for _, around := range []struct{ day, want string }{
		{"2000-03-25", "[Mar 25 02:30 CET Mar 26 03:30 CEST Mar 27 02:30 CEST]"},
		{"2000-10-28", "[Oct 28 02:30 CEST Oct 29 02:30 CEST Oct 30 02:30 CET]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := schedule(t, "30 2 * * *", "Europe/Berlin")
			zone := require.Value(time.LoadLocation("Europe/Berlin"))(t)
			begin := require.Value(time.ParseInLocation(time.DateOnly, around.day, zone))(t)
			time.Sleep(time.Until(begin))
			w := &fakeGateway{state: map[string]string{}}
			stop := w.startReplicas(t, 3, s)
			time.Sleep(72 * time.Hour)
			stop()
			var got []string
			for _, at := range w.at {
				got = append(got, at.In(zone).Format("Jan 2 15:04 MST"))
			}
			if fmt.Sprint(got) != around.want {
				t.Errorf("it is done at %v; want %v", got, around.want)
			}
		})
	}
}

// The delay of a time is the same on all replicas, differs between times, and ends before the jitter.
func TestJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedule(t, "0 * * * *", "UTC")
		s.Jitter = 30 * time.Minute
		w := &fakeGateway{state: map[string]string{}}
		stop := w.startReplicas(t, 3, s)
		time.Sleep(12*time.Hour - time.Minute)
		stop()
		delays := map[time.Duration]bool{}
		for _, at := range w.at {
			delay := at.Sub(at.Truncate(time.Hour))
			if delay > s.Jitter+lookEvery {
				t.Errorf("a delay of %v", delay)
			}
			delays[delay.Round(10*time.Second)] = true
		}
		if len(w.at) != 11 || len(delays) < 5 {
			t.Errorf("it was done %d times, with the delays %v; want 11 and at least 5", len(w.at), delays)
		}
	})
}

// What fails is tried again while it is not missed, and an expression that is changed makes nothing missed.
func TestRetriesAndChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeGateway{state: map[string]string{}, down: true}
		s := schedule(t, "0 * * * *", "UTC")
		s.Once = true
		stop := w.startReplicas(t, 1, s)
		time.Sleep(time.Hour + time.Minute)
		if len(w.done) != 0 || !strings.Contains(w.log.String(), "it will be retried") {
			t.Errorf("while nothing can be stored: %v", w.done)
		}
		w.mu.Lock()
		w.down = false
		w.mu.Unlock()
		time.Sleep(time.Minute)
		stop()
		if len(w.done) != 1 {
			t.Fatalf("afterwards: %v; want 1", w.done)
		}
		if got := w.done[0]; got.By != "schedule/test" || got.Room != "fake/1" || got.Name != "Schedule test" || got.Text != "Hello" {
			t.Errorf("the task is %+v", got)
		}
		time.Sleep(3 * time.Hour)
		changed := schedule(t, "30 * * * *", "UTC")
		changed.Once = true
		stop = w.startReplicas(t, 1, changed)
		time.Sleep(time.Minute)
		stop()
		if len(w.done) != 1 {
			t.Errorf("after a change: %v; want 1", w.done)
		}
		time.Sleep(3 * time.Hour)
		changed.Room = "fake:unknown"
		stop = w.startReplicas(t, 1, changed)
		time.Sleep(time.Minute)
		stop()
		if len(w.done) != 1 || strings.Count(w.log.String(), "is not known") != 1 {
			t.Errorf("in an unknown room: %v\n%s", w.done, w.log.String())
		}
	})
}
