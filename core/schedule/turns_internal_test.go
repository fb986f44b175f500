package schedule

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

func TestDue(t *testing.T) {
	now := time.Now()
	ready, soon := now, now.Add(3*time.Second)
	waiting := func(at time.Time) chat.Run { return chat.Run{Ready: at} }
	started := chat.Run{Epoch: 2, Ready: soon}
	for name, c := range map[string]struct {
		open   []chat.Run
		policy Policy
		want   time.Duration
	}{
		"ready":                                {[]chat.Run{waiting(ready)}, Supersede, 0},
		"ready long ago":                       {[]chat.Run{waiting(now.Add(-time.Hour))}, Queue, 0},
		"not ready":                            {[]chat.Run{waiting(soon)}, Supersede, 3 * time.Second},
		"started is not waited for":            {[]chat.Run{started}, Queue, 0},
		"a later turn has the room":            {[]chat.Run{waiting(soon), waiting(soon)}, Supersede, 0},
		"a later turn waits":                   {[]chat.Run{waiting(soon), waiting(ready)}, Queue, 3 * time.Second},
		"a later turn waits, and is collected": {[]chat.Run{waiting(soon), waiting(ready)}, Collect, 3 * time.Second},
	} {
		for i := range c.open {
			c.open[i].Response = chat.ResponseID(i + 1)
		}
		next, wait, _ := TurnPolicy{Direct: c.policy, Group: c.policy}.Due(c.open, now)
		if next.Response != 1 || wait != c.want {
			t.Errorf("%s: turn %d in %v; want the first in %v", name, next.Response, wait, c.want)
		}
	}
}

// A run that was parked, and was woken while a later one was in progress, waits for that one, also if it was interrupted.
func TestDueInterruptedFirst(t *testing.T) {
	now := time.Now()
	woken := chat.Run{Response: 1, Epoch: 2, Parked: true, Lasting: true, Ready: now}
	later := chat.Run{Response: 3, Ready: now}
	for _, policy := range []Policy{Supersede, Queue, Collect, Steer} {
		turns := TurnPolicy{Direct: policy, Group: policy}
		for _, c := range []struct {
			open []chat.Run
			want chat.ResponseID
		}{
			{[]chat.Run{woken, {Response: 2, Epoch: 1, Ready: now}, later}, 2},
			{[]chat.Run{woken, later}, 1},
		} {
			if next, wait, ok := turns.Due(c.open, now); next.Response != c.want || wait != 0 || !ok {
				t.Errorf("%s: turn %d in %v, %v; want %d", policy, next.Response, wait, ok, c.want)
			}
		}
	}
}

func TestTurnsPolicy(t *testing.T) {
	turns := TurnPolicy{Direct: Supersede, Group: Collect}
	for _, k := range []chat.RoomKind{chat.Direct, chat.Group, chat.VoiceGroup, chat.Feed, chat.Thread, chat.Forum, chat.API} {
		want := Collect
		if k == chat.Direct || k == chat.API {
			want = Supersede
		}
		if got := turns.PolicyFor(k); got != want {
			t.Errorf("%s: %s; want %s", k, got, want)
		}
	}
}

// unwritable is a store that wakes no run.
type unwritable struct{ ParkedRunStore }

func (unwritable) Wake(context.Context, chat.RunID, answer.Status) error { return errUnwritable }

var errUnwritable = errors.New("unwritable")

// A parked run whose room is taken starts only once its end is stored.
func TestTakenRunIsNotStartedUnstored(t *testing.T) {
	s := &Scheduler{Parked: &ParkedRuns{Store: unwritable{}}}
	open := []chat.Run{{ID: "room#1", Response: 1, Epoch: 1, Parked: true}, {ID: "room#2", Response: 2}}
	if next, _, err := s.startable(t.Context(), TurnPolicy{Direct: Supersede, Group: Supersede}, open); !errors.Is(err, errUnwritable) {
		t.Errorf("the run %s starts, %v; want the error of the store", next.ID, err)
	}
}
