package inmem

import (
	"context"
	"sync"

	"parley/core/chat"
	"parley/core/relay"
)

// backlog is the number of frames that wait for a slow reader.
const backlog = 64

// Bus is a [relay.Bus] for one process. A slow reader misses the oldest frames, so that the newest one shows the gap.
// Readers share frames and must not modify them. A Bus is safe for concurrent use.
type Bus struct {
	mu      sync.Mutex
	readers map[chat.RoomID]map[chan relay.Frame]struct{}
}

var _ relay.Bus = (*Bus)(nil)

// NewBus returns a bus without readers.
func NewBus() *Bus { return &Bus{readers: map[chat.RoomID]map[chan relay.Frame]struct{}{}} }

// Publish implements [relay.Bus]. It never fails.
func (b *Bus) Publish(_ context.Context, room chat.RoomID, f relay.Frame) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.readers[room] {
		if len(ch) == cap(ch) {
			select {
			case <-ch:
			default: // the reader was faster
			}
		}
		ch <- f // there is space: only Publish fills it, one call at a time
	}
	return nil
}

// Subscribe implements [relay.Bus]. It never fails, and the channel is not closed early.
func (b *Bus) Subscribe(ctx context.Context, room chat.RoomID) (<-chan relay.Frame, error) {
	ch := make(chan relay.Frame, backlog)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.readers[room] == nil {
		b.readers[room] = map[chan relay.Frame]struct{}{}
	}
	b.readers[room][ch] = struct{}{}
	context.AfterFunc(ctx, func() { b.leave(room, ch) })
	return ch, nil
}

func (b *Bus) leave(room chat.RoomID, ch chan relay.Frame) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.readers[room], ch)
	if len(b.readers[room]) == 0 {
		delete(b.readers, room)
	}
	close(ch)
}
