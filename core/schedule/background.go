package schedule

import (
	"context"
	"sync"
	"time"

	"parley/core/chat"
)

const (
	backgroundSlots = 2           // jobs that run at a time, in addition to the answers
	backgroundQueue = 4           // how much can wait in a room
	backgroundRooms = 32          // in how many rooms something can wait
	backgroundLimit = time.Minute // how long each may take
	refusalsApart   = time.Minute // refusals further apart than this are not of one burst
)

// Background does work that no turn waits for, such as evaluators and summaries: what belongs to one room in order, few
// at a time. Too much of it is refused instead of queued without a bound: it is done for the next turn instead. The
// zero value is ready. Safe for concurrent use.
type Background struct {
	mu     sync.Mutex
	queues map[chat.RoomID][]backgroundJob // rooms in which something waits or is done
	slots  chan struct{}

	refused time.Time // the last refusal
}

// backgroundJob is what is done after one turn.
type backgroundJob struct {
	life context.Context //nolint:containedctx // ends when the process does
	do   func(ctx context.Context)
}

// Start has do called after what waits in the room already, with a context that ends with life or after a minute. ok is false if too
// much waits; first is true for the first such refusal of a burst, which is to be logged. run starts a goroutine, whose end the caller
// waits for.
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

// work does what waits in a room.
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
// begins another goroutine for a job that comes now.
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
