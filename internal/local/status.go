package local

import (
	"context"
	"strconv"
	"strings"
	"time"

	"parley/config"
	"parley/core/chat"
	"parley/core/schedule"
)

// Status describes the gateways that share a store.
type Status struct {
	Replicas []Replica
	Waiting  int           // open runs that no process has started
	Lag      time.Duration // since the oldest of those was opened
	Overdue  int           // of them, those that the running gateway reports to wait longer than a turn can take
}

// Replica is one gateway process. Times are relative, because the asking program can have another clock.
type Replica struct {
	Name           string        // host/pid
	State          string        // running, leaving, dead, or unknown: it holds a lease and never sent a heartbeat
	SinceHeartbeat time.Duration // since its last heartbeat
	Runs           int
	Holds          []Held
}

// Held is a lease that a process holds. Of a connector that is divided into shards, that of shard 0 has the connector's
// name, and that of shard 3 is NAME/3.
type Held struct {
	Name string
	Ends time.Duration // from now, unless it is extended
}

var status = command[struct{}, Status]{name: "status", do: statusAt}

// statusAt reads the status from store.
func statusAt(ctx context.Context, store Store, rt Runtime, _ struct{}) (Status, error) {
	fleet, err := store.Replicas(ctx)
	if err != nil {
		return Status{}, err
	}
	s := statusOf(fleet, time.Now())
	s.Overdue = rt.Overdue()
	return s, nil
}

// statusOf converts the state in the store. A lease can be held by a process that has sent no heartbeat.
func statusOf(fleet chat.Fleet, now time.Time) (s Status) {
	s.Waiting = fleet.Waiting
	if !fleet.Oldest.IsZero() {
		s.Lag = max(0, now.Sub(fleet.Oldest))
	}
	place := map[string]int{}
	for _, r := range fleet.Replicas {
		place[r.Owner] = len(s.Replicas)
		beat := max(0, now.Sub(r.AliveUntil.Add(-schedule.LeaseTTL)))
		s.Replicas = append(s.Replicas, Replica{Name: nameOf(r.Owner), State: stateOf(r, now), SinceHeartbeat: beat, Runs: r.Runs})
	}
	for _, l := range fleet.Leases {
		if !lasting(l.Name) {
			continue
		}
		i, ok := place[l.Owner]
		if !ok {
			i = len(s.Replicas)
			place[l.Owner] = i
			s.Replicas = append(s.Replicas, Replica{Name: nameOf(l.Owner), State: "unknown"})
		}
		s.Replicas[i].Holds = append(s.Replicas[i].Holds, Held{l.Name, l.Ends.Sub(now)})
	}
	return s
}

// lasting reports whether a lease is of a platform or of a shard. Others, such as discord/login/0, are held for seconds,
// while a process logs in or waits for a shard.
func lasting(lease string) bool {
	_, shard, divided := strings.Cut(lease, "/")
	_, err := strconv.Atoi(shard)
	return !divided || err == nil
}

// nameOf returns host/pid of an owner, which ends with a random part.
func nameOf(owner string) string {
	if i := strings.LastIndexByte(owner, '/'); i > 0 {
		return owner[:i]
	}
	return owner
}

func stateOf(r chat.Replica, now time.Time) string {
	switch {
	case !r.AliveUntil.After(now):
		return "dead"
	case r.Leaving:
		return "leaving"
	}
	return "running"
}

// ReadStatus returns the status of the gateways with the store of cfg: from a running gateway on this machine, or else from the store.
// It fails if neither can be reached.
func ReadStatus(ctx context.Context, cfg config.Config) (Status, error) {
	return status.run(ctx, cfg, struct{}{})
}

var reload = command[struct{}, []string]{name: "reload", do: func(ctx context.Context, _ Store, rt Runtime, _ struct{}) ([]string, error) {
	return rt.Reload(ctx)
}}

// Reload makes the running gateway of cfg read its configuration again, and returns the changed keys that need a
// restart. It fails if none runs, or if the configuration is invalid.
func Reload(ctx context.Context, cfg config.Config) ([]string, error) {
	return reload.run(ctx, cfg, struct{}{})
}
