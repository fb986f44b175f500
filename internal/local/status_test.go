package local

import (
	"reflect"
	"testing"
	"time"

	"parley/core/chat"
)

// Leases stand with their holders, also with one that never sent a heartbeat.
func TestStatus(t *testing.T) {
	now := time.Now()
	got := statusOf(chat.Fleet{
		Replicas: []chat.Replica{
			{Owner: "a/1/ff", AliveUntil: now.Add(12 * time.Second), Runs: 2},
			{Owner: "b/2/ff", AliveUntil: now.Add(20 * time.Second), Leaving: true},
			{Owner: "c/3/ff", AliveUntil: now, Runs: 1},
		},
		Leases: []chat.Lease{
			{Name: "discord", Owner: "a/1/ff", Ends: now.Add(time.Second)}, {Name: "discord/12", Owner: "b/2/ff", Ends: now.Add(time.Second)},
			{Name: "discord/login/0", Owner: "a/1/ff", Ends: now.Add(time.Second)}, {Name: "discord/waits", Owner: "c/3/ff", Ends: now.Add(time.Second)}, {Name: "telegram", Owner: "d/4/ff", Ends: now.Add(2 * time.Second)},
		},
		Waiting: 1, Oldest: now.Add(-time.Minute),
	}, now)
	want := Status{
		Replicas: []Replica{
			{Name: "a/1", State: "running", SinceHeartbeat: 3 * time.Second, Runs: 2, Holds: []Held{{"discord", time.Second}}},
			{Name: "b/2", State: "leaving", Holds: []Held{{"discord/12", time.Second}}},
			{Name: "c/3", State: "dead", SinceHeartbeat: 15 * time.Second, Runs: 1},
			{Name: "d/4", State: "unknown", Holds: []Held{{"telegram", 2 * time.Second}}},
		},
		Waiting: 1, Lag: time.Minute,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
