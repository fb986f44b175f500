package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"parley/core/chat"
)

// watchEvery is the interval between two checks of the open runs.
const watchEvery = 12 * HeartbeatEvery

// WatchStore contains the store methods of a [Watchdog].
type WatchStore interface {
	OpenRooms(ctx context.Context) ([]chat.RoomID, error)
	OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
}

// A Watchdog finds open runs that wait longer than a turn can take. That should never happen: a place that was not
// returned, or a room that is never free, would leave a user without answers, and nothing else would show it. Its
// exported fields are set before Run, which is called once. Overdue is safe for concurrent use.
type Watchdog struct {
	Store    WatchStore
	Executor Executor
	Parallel *Parallel
	Log      *slog.Logger
	Found    *atomic.Uint64 // counts the logged runs

	since   map[chat.RunID]time.Time // when each waiting run was first seen; logged runs have the zero time
	overdue atomic.Int64             // the number of overdue runs now
}

// Run checks periodically until ctx is done.
func (w *Watchdog) Run(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := w.look(ctx, time.Now()); err != nil && ctx.Err() == nil {
				w.Log.Warn("can't check whether answers wait too long", "err", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// look logs and counts each run that has become overdue, once. A run that waits for a person, a time or more messages
// is not overdue. It fails with the error of the store.
func (w *Watchdog) look(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, watchEvery/2)
	defer cancel()
	rooms, err := w.Store.OpenRooms(ctx)
	if err != nil {
		return err
	}
	before, late, limit := w.since, int64(0), w.Executor.Policy().Limit
	w.since = make(map[chat.RunID]time.Time, len(before))
	for _, room := range rooms {
		open, err := w.Store.OpenRuns(ctx, room)
		if err != nil {
			w.since = before
			return err
		}
		for i, r := range open {
			if r.Held || r.Parked || r.Ready.After(now) {
				continue
			}
			since, known := before[r.ID]
			if !known {
				since = now
			}
			if !since.IsZero() && now.Sub(since) > limit {
				w.report(open[:i], r, now.Sub(since))
				since = time.Time{}
			}
			if w.since[r.ID] = since; since.IsZero() {
				late++
			}
		}
	}
	w.overdue.Store(late)
	return nil
}

// report logs the reason why r waits, with the runs of its room before it.
func (w *Watchdog) report(before []chat.Run, r chat.Run, waited time.Duration) {
	w.Found.Add(1)
	l := Lane{Room: r.Room, Control: r.Kind.OutOfBand()}
	why, queued := w.Parallel.Blocking(l, time.Now())
	for _, earlier := range l.Of(before) {
		if !queued && earlier.Held {
			why = "an earlier answer in its room is in progress"
		}
	}
	if why == "" && IsSuspect(&r) {
		why = fmt.Sprintf("processes crashed while running it (%d), and one such run is retried at a time", r.Deaths)
	}
	if why == "" {
		why = "no process starts it"
	}
	w.Log.Warn("an answer waits longer than a turn can take", "run", r.ID, "waited", waited.Round(time.Second), "reason", why)
}

// Overdue returns how many open runs wait longer than a turn can take.
func (w *Watchdog) Overdue() int { return int(w.overdue.Load()) }
