package schedule

import (
	"context"
	"sync"
	"time"

	"parley/core/chat"
)

const (
	backgroundSlots = 2           // jobs that run at a time, in addition to the answers
	backgroundQueue = 4           // waiting jobs in a room
	backgroundRooms = 32          // rooms with jobs
	backgroundLimit = time.Minute // the time limit of each
	refusalsApart   = time.Minute // refusals with a longer distance are not of one burst
)

// Background does work that no turn waits for, such as evaluators and summaries: the work of one room in order, a few
// jobs at a time. If there is too much, it refuses work instead of queuing it without a bound: the next turn includes
// it. The zero value is ready. Safe for concurrent use.
type Background struct {
	mu     sync.Mutex
	queues map[chat.RoomID][]backgroundJob // rooms with waiting or running jobs
	slots  chan struct{}

	refused time.Time // the last refusal
}

// backgroundJob is the work after one turn.
type backgroundJob struct {
	life context.Context //nolint:containedctx // ends when the process does
	do   func(ctx context.Context)
}

// Start queues do behind the jobs of the room, with a context that ends with life or after a minute. ok is false if too
// many jobs wait; first is true for the first such refusal of a burst, which should be logged. run starts a goroutine,
// and the caller waits for its end.
func (b *Background) Start(life context.Context, room chat.RoomID, do func(ctx context.Context), run func(func())) (ok, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting, busy := b.queues[room]
	if len(waiting) >= backgroundQueue || !busy && len(b.queues) >= backgroundRooms {
		now := time.Now()
		first = now.Sub(b.refused) > refusalsApart
		b.refused = now
		return false, first
	}
	if b.queues == nil {
		b.queues, b.slots = map[chat.RoomID][]backgroundJob{}, make(chan struct{}, backgroundSlots)
	}
	b.queues[room] = append(waiting, backgroundJob{life, do})
	if !busy {
		run(func() { b.work(room, b.slots) })
	}
	return true, false
}

// work does the jobs of a room.
func (b *Background) work(room chat.RoomID, slots chan struct{}) {
	for {
		// This wait is bounded, because every job ends after backgroundLimit.
		slots <- struct{}{}
		job, ok := b.next(room)
		if ok {
			ctx, cancel := context.WithTimeoutCause(job.life, backgroundLimit, chat.ErrTimeout)
			job.do(ctx)
			cancel()
		}
		<-slots
		if !ok {
			return
		}
	}
}

// next takes the first job of a room. Without one, the room is removed in the same critical section, so that Start
// begins another goroutine for a later job.
func (b *Background) next(room chat.RoomID) (job backgroundJob, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.queues[room]
	if len(waiting) == 0 {
		delete(b.queues, room)
		return backgroundJob{}, false
	}
	b.queues[room] = waiting[1:]
	return waiting[0], true
}
