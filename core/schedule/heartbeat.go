package schedule

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"parley/core/chat"
	"parley/core/storage"
)

const (
	// HeartbeatEvery is the interval of renewing the lease, and of the search for rooms that no process serves.
	HeartbeatEvery = 5 * time.Second
	// LeaseTTL is the time until a lease expires after its last heartbeat. Three heartbeats fit into it, so that one
	// slow write of a healthy process does not make others adopt its runs.
	LeaseTTL = 15 * time.Second
	// leavingTimeout is the time limit of the writes at the end of a process.
	leavingTimeout = time.Second
)

// HeartbeatStore contains the store methods of a [Heartbeat].
type HeartbeatStore interface {
	storage.Leases
	OpenRooms(ctx context.Context) ([]chat.RoomID, error)
}

// Heartbeat renews the process lease in the store, and ends it. Its exported fields are set before use. It is used by
// one goroutine.
type Heartbeat struct {
	Store HeartbeatStore
	Owner string // names this process, see [storage.Leases]
	Lease *Lease
	Lanes *Lanes
	Log   *slog.Logger

	outage Outage
}

// beat renews the lease of this process and wakes all rooms that have open runs: those that another process left, those
// whose wake-up was lost, and those that were waiting for a time. While the store is down it does neither, and the next
// beat tries again. Its own time limit keeps a store that hangs from delaying new messages and the shutdown.
func (h *Heartbeat) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, HeartbeatEvery/2)
	defer cancel()
	until := time.Now().Add(LeaseTTL) // measured before the write: it must not last longer here than in the store
	if err := h.Store.RenewLease(ctx, h.Owner, until); err != nil {
		if h.outage.Failed() {
			h.Log.Error("can't renew the process lease in the store; trying again", "err", err)
		}
		return
	}
	h.Lease.Renewed(until)
	if lasted, ended := h.outage.Ended(); ended {
		h.Log.Info("the store answers again", "after", lasted.Round(time.Second))
	}
	rooms, err := h.Store.OpenRooms(ctx)
	if err != nil {
		h.Log.Error("can't list open runs", "err", err)
		return
	}
	for _, room := range rooms {
		h.Lanes.WakeRoom(room)
		h.Lanes.Wake(Lane{Room: room, Control: true})
	}
}

// leaving records in the store that this process ends as planned. Without that record the process that adopts a run
// counts a crash, and gives up on it after a few of these. If the write fails, the interrupted runs count one crash too
// many.
func (h *Heartbeat) leaving(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leavingTimeout)
	defer cancel()
	if err := h.Store.Leave(ctx, h.Owner); err != nil {
		h.Log.Warn("can't record the planned shutdown in the store", "err", err)
	}
}

// left ends the lease as soon as this process holds no run, so that another one adopts the interrupted runs at once. If
// the write fails, they are free when the lease expires.
func (h *Heartbeat) left(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leavingTimeout)
	defer cancel()
	if err := h.Store.RenewLease(ctx, h.Owner, time.Now()); err != nil {
		h.Log.Warn("can't end the process lease in the store", "err", err)
	}
}

// Outage distinguishes the first failure in a row from those that follow, so that the log has one line for its begin
// and one for its end. The zero Outage has not begun. It is safe for concurrent use.
type Outage struct {
	mu    sync.Mutex
	since time.Time
}

// Failed reports whether a failure is the first in a row.
func (o *Outage) Failed() (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first = o.since.IsZero()
	if first {
		o.since = time.Now()
	}
	return first
}

// Ended reports whether a success is the first after a failure, and the time since the first failure.
func (o *Outage) Ended() (lasted time.Duration, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return 0, false
	}
	lasted = time.Since(o.since)
	o.since = time.Time{}
	return lasted, true
}
